import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import type { Answer, DecodedPacket } from 'dns-packet';
import { runDns } from '../../../agent/runners/dns.ts';
import { answerTo, dnsServer } from '../../support/dns-server.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';

function ask(port: number, request: Record<string, unknown> = {}, timeoutMs = 3_000) {
  const definition = definitionOf('DNS', {
    query: 'shop.example',
    recordType: 'A',
    nameServer: '127.0.0.1',
    port,
    ...request,
  });
  return runDns(definition, runnerContext(timeoutMs));
}

const address: Answer = { type: 'A', name: 'shop.example', ttl: 60, data: '192.0.2.10' };

const golden: [string, Answer, string][] = [
  ['A', address, '192.0.2.10'],
  ['AAAA', { type: 'AAAA', name: 'shop.example', ttl: 60, data: '2001:db8::1' }, '2001:db8::1'],
  ['CNAME', { type: 'CNAME', name: 'shop.example', ttl: 60, data: 'www.example' }, 'www.example.'],
  ['NS', { type: 'NS', name: 'shop.example', ttl: 60, data: 'ns.example' }, 'ns.example.'],
  [
    'MX',
    {
      type: 'MX',
      name: 'shop.example',
      ttl: 60,
      data: { preference: 10, exchange: 'mail.example' },
    },
    '10 mail.example.',
  ],
  [
    'TXT',
    { type: 'TXT', name: 'shop.example', ttl: 60, data: ['v=1', 'say "hi"'] },
    '"v=1" "say \\"hi\\""',
  ],
  [
    'SOA',
    {
      type: 'SOA',
      name: 'shop.example',
      ttl: 60,
      data: {
        mname: 'ns.example',
        rname: 'admin.example',
        serial: 7,
        refresh: 3600,
        retry: 600,
        expire: 86400,
        minimum: 60,
      },
    },
    'ns.example. admin.example. 7 3600 600 86400 60',
  ],
  [
    'SRV',
    {
      type: 'SRV',
      name: 'shop.example',
      ttl: 60,
      data: { priority: 1, weight: 2, port: 443, target: 'a.example' },
    },
    '1 2 443 a.example.',
  ],
  [
    'CAA',
    {
      type: 'CAA',
      name: 'shop.example',
      ttl: 60,
      data: { flags: 0, tag: 'issue', value: 'ca.example' },
    },
    '0 issue "ca.example"',
  ],
  [
    'HTTPS',
    {
      type: 'UNKNOWN_65',
      name: 'shop.example',
      ttl: 60,
      data: Buffer.from('00010000010006026832026833000300020 1bb'.replace(/ /g, ''), 'hex'),
    } as unknown as Answer,
    '1 . alpn="h2,h3" port=443',
  ],
];

suite('the answer of a name server', () => {
  for (const [recordType, answer, data] of golden) {
    test(`is readable for ${recordType} records`, async () => {
      await using server = await dnsServer(() => ({ answers: [answer] }));
      const seen = await ask(server.port, { recordType });
      assert.equal(seen.failure, null);
      assert.deepEqual(seen.response?.['jsonAnswer'], {
        Status: 'NOERROR',
        TC: false,
        RD: true,
        RA: true,
        AD: false,
        CD: false,
        Question: [{ name: 'shop.example.', type: recordType }],
        Answer: [{ name: 'shop.example.', type: recordType, TTL: 60, data }],
      });
      const text = String(seen.response?.['answer']);
      assert.match(text, /opcode: QUERY, status: NOERROR/);
      assert.ok(text.includes(`shop.example.\t60\tIN\t${recordType}\t${data}`), text);
    });
  }
});

test('an error code is an answer, judged elsewhere', async () => {
  await using server = await dnsServer(() => ({ code: 3 }));
  const seen = await ask(server.port);
  assert.equal(seen.failure, null);
  assert.equal(seen.response?.['returnCode'], 'NXDOMAIN');
});

test('a truncated answer is asked for again over TCP', async () => {
  await using server = await dnsServer((_query, overTcp) =>
    overTcp ? { answers: [address] } : { truncated: true },
  );
  const seen = await ask(server.port);
  assert.equal(seen.response?.['protocol'], 'TCP');
  assert.equal((seen.response['jsonAnswer'] as { Answer: unknown[] }).Answer.length, 1);
});

test('TCP is used when asked for', async () => {
  await using server = await dnsServer((_query, overTcp) =>
    overTcp ? { answers: [address] } : null,
  );
  const seen = await ask(server.port, { protocol: 'TCP' });
  assert.equal(seen.failure, null);
});

function withOtherId(query: DecodedPacket): Buffer {
  const bytes = answerTo(query, { answers: [address] });
  bytes.writeUInt16BE(((query.id ?? 0) + 1) & 0xffff, 0);
  return bytes;
}

const hostile: { name: string; respond: (query: DecodedPacket) => Buffer | null; code: string }[] =
  [
    { name: 'says nothing', respond: () => null, code: 'TIMEOUT' },
    {
      name: 'answers with garbage under the right id',
      respond: (query) => {
        const bytes = Buffer.alloc(40, 0xff);
        bytes.writeUInt16BE(query.id ?? 0, 0);
        return bytes;
      },
      code: 'MALFORMED_ANSWER',
    },
    {
      name: 'points its names at themselves',
      respond: (query) => {
        const bytes = answerTo(query, { answers: [address] });
        bytes[12] = 0xc0;
        bytes[13] = 12;
        return bytes;
      },
      code: 'MALFORMED_ANSWER',
    },
    {
      name: 'claims sixty thousand records',
      respond: (query) => {
        const bytes = answerTo(query, { answers: [address] });
        bytes.writeUInt16BE(60_000, 6);
        return bytes;
      },
      code: 'MALFORMED_ANSWER',
    },
    { name: 'answers another question', respond: withOtherId, code: 'TIMEOUT' },
  ];

suite('a name server that', () => {
  for (const { name, respond, code } of hostile) {
    test(`${name} is a failure of the target: ${code}`, async () => {
      await using server = await dnsServer(respond);
      const seen = await ask(server.port, {}, 400);
      assert.equal(seen.failure?.code, code);
      assert.equal(seen.response, null);
    });
  }

  test('lies about the length over TCP is a failure, not a hang', async () => {
    await using server = await dnsServer((query, overTcp) =>
      overTcp ? answerTo(query, {}).subarray(0, 6) : null,
    );
    const seen = await ask(server.port, { protocol: 'TCP' }, 500);
    assert.equal(seen.failure?.code, 'MALFORMED_ANSWER');
  });

  test('is not there is a network error', async () => {
    const server = await dnsServer(() => null);
    await server[Symbol.asyncDispose]();
    const seen = await ask(server.port, {}, 1_000);
    assert.equal(seen.failure?.code, 'ECONNREFUSED');
    assert.equal(seen.failure.isNetworkError, true);
  });
});
