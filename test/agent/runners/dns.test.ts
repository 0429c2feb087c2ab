import assert from 'node:assert/strict';
import dns from 'node:dns';
import { test } from 'node:test';
import type { Clock } from '@monitor/shared/clock.ts';
import type { DnsRequest } from '@monitor/shared/contract/checks/dns.ts';
import type { Observation } from '../../../agent/runners/runner.ts';
import { runDns } from '../../../agent/runners/dns.ts';
import { answerTo, malicious, rawRecord, startDnsServer } from '../../support/dns-server.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { scaledClock } from '../../support/scaled-clock.ts';

interface Surroundings {
  clock?: Clock;
  timeoutMs?: number;
  signal?: AbortSignal;
  log?: (message: string) => void;
}

function run(request: Partial<DnsRequest>, surroundings: Surroundings = {}): Promise<Observation> {
  const { timeoutMs = 30_000, ...rest } = surroundings;
  return runDns(definitionOf('DNS', { query: 'a.test', recordType: 'A', ...request }), {
    ...runnerContext(timeoutMs),
    ...rest,
  });
}

const aRecord = { name: 'a.test', type: 'A', ttl: 60, data: '192.0.2.1' } as const;

/** The parts of a result that a second run would give again. */
function lasting({ request, response, failure, responseTime }: Observation): unknown {
  const { answer, timings, timingPhases, ...rest } = response ?? {};
  const { sent, answered } = timings as { sent: number; answered: number };
  assert.ok(sent >= 0 && answered > sent);
  assert.deepEqual(timingPhases, { total: responseTime });
  const text = String(answer)
    .replace(/id: \d+/, 'id: N')
    .replace(/time: \d+/, 'time: N');
  return { request, failure, response: { ...rest, answer: text } };
}

test('the whole result of an answer', async () => {
  await using server = await startDnsServer((query) =>
    answerTo(query, {
      answers: [
        aRecord,
        rawRecord('a.test', 65, Buffer.from('000100000100030268320003000220fb', 'hex')),
      ],
      authorities: [{ name: 'test', type: 'NS', ttl: 5, data: 'ns.test' }],
      additionals: [{ name: 'ns.test', type: 'A', ttl: 5, data: '192.0.2.53' }],
    }),
  );
  const observation = await run({ nameServer: server.address });
  assert.deepEqual(lasting(observation), {
    request: { query: 'a.test', recordType: 'A', protocol: 'UDP', nameServer: server.address },
    failure: null,
    response: {
      returnCode: 'NOERROR',
      answer: `;; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: N
;; flags: qr rd ra; QUERY: 1, ANSWER: 2, AUTHORITY: 1, ADDITIONAL: 1

;; QUESTION SECTION:
;a.test.\t\tIN\tA

;; ANSWER SECTION:
a.test.\t60\tIN\tA\t192.0.2.1
a.test.\t300\tIN\tHTTPS\t1 . alpn="h2" port=8443

;; AUTHORITY SECTION:
test.\t5\tIN\tNS\tns.test.

;; Query time: N msec
;; SERVER: ${server.address}`,
      jsonAnswer: {
        ...{ Status: 'NOERROR', TC: false, RD: true, RA: true, AD: false, CD: false },
        Question: [{ name: 'a.test.', type: 'A' }],
        Answer: [
          { name: 'a.test.', type: 'A', TTL: 60, data: '192.0.2.1' },
          { name: 'a.test.', type: 'HTTPS', TTL: 300, data: '1 . alpn="h2" port=8443' },
        ],
      },
      nameServerInfo: { host: '127.0.0.1', port: server.port },
      protocol: 'UDP',
    },
  });
  const { startedAt, stoppedAt, responseTime } = observation;
  assert.ok(stoppedAt >= startedAt && responseTime !== null && responseTime > 0);
});

test('an error code is a response, for others to judge', async () => {
  await using server = await startDnsServer((query) => answerTo(query, { rcode: 3 }));
  const { failure, response } = await run({ nameServer: server.address });
  assert.equal(failure, null);
  assert.equal(response?.['returnCode'], 'NXDOMAIN');
});

test('TCP is used when the monitor says so', async () => {
  await using server = await startDnsServer((query) => answerTo(query, { answers: [aRecord] }));
  const { response } = await run({ nameServer: server.address, protocol: 'TCP' });
  assert.equal(response?.['protocol'], 'TCP');
  assert.deepEqual(
    server.queries.map(({ protocol }) => protocol),
    ['TCP'],
  );
});

test('an answer that does not fit a datagram is fetched over TCP, and the log says so', async () => {
  const answers = Array.from({ length: 100 }, () => aRecord);
  await using server = await startDnsServer((query) =>
    query.protocol === 'UDP' ? answerTo(query, { flags: 0x200 }) : answerTo(query, { answers }),
  );
  const lines: string[] = [];
  const log = (message: string): void => void lines.push(message);
  const { response } = await run({ nameServer: server.address }, { log });
  assert.equal(response?.['protocol'], 'TCP');
  assert.deepEqual(
    server.queries.map(({ protocol }) => protocol),
    ['UDP', 'TCP'],
  );
  assert.match(lines.join(), /did not fit a datagram, asking again over TCP/);
  const { Answer } = response['jsonAnswer'] as { Answer: unknown[] };
  assert.equal(Answer.length, 100);
});

test('a name server is found by name, by IPv6 address, and by a port beside it', async () => {
  await using server = await startDnsServer((query) => answerTo(query));
  const named = await run({ nameServer: 'localhost', port: server.port });
  assert.deepEqual(named.response?.['nameServerInfo'], {
    ...{ name: 'localhost', host: '127.0.0.1', port: server.port },
  });
  assert.equal(named.request['port'], server.port);
  await using server6 = await startDnsServer((query) => answerTo(query), '::1');
  const numbered = await run({ nameServer: server6.address });
  assert.deepEqual(numbered.response?.['nameServerInfo'], { host: '::1', port: server6.port });
});

test('an international name is asked for in its ASCII form', async () => {
  await using server = await startDnsServer((query) => answerTo(query));
  await run({ nameServer: server.address, query: 'bücher.example.' });
  assert.equal(server.queries[0]?.name, 'xn--bcher-kva.example');
});

test('packets that are not the answer are ignored while waiting for it', async () => {
  await using server = await startDnsServer((query) => [
    malicious.wrongId(query),
    malicious.wrongQuestion(query),
    malicious.nothing(),
    answerTo(query, { answers: [aRecord] }),
  ]);
  const { failure, response } = await run({ nameServer: server.address });
  assert.equal(failure, null);
  assert.equal(response?.['returnCode'], 'NOERROR');
});

test('a lost query is sent again', async () => {
  let count = 0;
  await using server = await startDnsServer((query) => {
    count += 1;
    return count === 1 ? 'silence' : answerTo(query);
  });
  const { failure } = await run({ nameServer: server.address }, { clock: scaledClock(100) });
  assert.equal(failure, null);
  const ids = server.queries.map(({ id }) => id);
  assert.equal(ids.length, 2);
  assert.equal(new Set(ids).size, 1);
});

for (const protocol of ['UDP', 'TCP'] as const) {
  test(`a name server that stays silent over ${protocol} has timed out, and nobody else is asked`, async () => {
    await using server = await startDnsServer(() => 'silence');
    const { failure, responseTime } = await run(
      { nameServer: server.address, protocol },
      { clock: scaledClock(100) },
    );
    assert.deepEqual(
      [failure?.code, failure?.phase, failure?.isNetworkError, responseTime],
      ['TIMEOUT', 'answer', true, null],
    );
    assert.equal(server.queries.length, protocol === 'UDP' ? 2 : 1);
  });

  test(`a name server that nobody runs refuses over ${protocol}`, async () => {
    const { failure } = await run({ nameServer: '127.0.0.1:1', protocol });
    assert.deepEqual(failure, {
      phase: 'connect',
      code: 'ECONNREFUSED',
      message: `the name server 127.0.0.1:1 cannot be asked over ${protocol}: it does not listen (ECONNREFUSED)`,
      isNetworkError: true,
    });
  });

  for (const [what, make] of Object.entries(malicious)) {
    test(`${what} over ${protocol} is a malformed answer`, async () => {
      await using server = await startDnsServer(make);
      const { failure } = await run(
        { nameServer: server.address, protocol },
        { clock: scaledClock(100) },
      );
      assert.equal(failure?.code, 'MALFORMED_ANSWER');
      assert.equal(failure.isNetworkError, false);
    });
  }
}

test('a time limit below that of the resend is kept', async () => {
  await using server = await startDnsServer(() => 'silence');
  const { failure, startedAt, stoppedAt } = await run(
    { nameServer: server.address },
    { timeoutMs: 30 },
  );
  assert.equal(failure?.code, 'TIMEOUT');
  assert.ok(stoppedAt - startedAt < 5_000);
});

for (const [what, stream, hangsUp, expected] of [
  ['announces more than it sends and waits', [1, 244, 1, 2, 3], false, 'MALFORMED_ANSWER'],
  ['announces more than it sends and hangs up', [1, 244, 1, 2, 3], true, 'MALFORMED_ANSWER'],
  ['sends half a length', [1], true, 'MALFORMED_ANSWER'],
  ['announces an empty message', [0, 0], false, 'MALFORMED_ANSWER'],
  ['hangs up without a word', [], true, 'SOCKET_CLOSED'],
] as const) {
  test(`a name server that ${what} over TCP fails`, async () => {
    await using server = await startDnsServer(() => [
      { stream: Buffer.from(stream) },
      hangsUp ? 'hang-up' : 'silence',
    ]);
    const { failure } = await run(
      { nameServer: server.address, protocol: 'TCP' },
      { clock: scaledClock(100) },
    );
    assert.equal(failure?.code, expected);
  });
}

test('an answer that comes byte by byte over TCP is put together', async () => {
  await using server = await startDnsServer((query) => {
    const message = answerTo(query, { answers: [aRecord] });
    const stream = Buffer.concat([Buffer.from([0, message.length]), message]);
    return [...stream].map((byte) => ({ stream: Buffer.from([byte]) }));
  });
  const { response } = await run({ nameServer: server.address, protocol: 'TCP' });
  assert.equal(response?.['returnCode'], 'NOERROR');
});

test('what cannot be asked for is said, and nothing is sent', async () => {
  await using server = await startDnsServer((query) => answerTo(query));
  const badName = await run({ nameServer: server.address, query: 'a..b' });
  assert.equal(badName.failure?.code, 'INVALID_NAME');
  const badServer = await run({ nameServer: 'a b' });
  assert.equal(badServer.failure?.code, 'INVALID_NAME_SERVER');
  assert.equal(server.queries.length, 0);
});

test('without a name server the resolvers of this machine are asked', async (t) => {
  const machineServers = dns.getServers();
  t.after(() => {
    dns.setServers(machineServers);
  });
  await using resolver = await startDnsServer((query) => answerTo(query, { answers: [aRecord] }));
  dns.setServers([resolver.address]);
  const { request, response } = await run({ nameServer: null });
  assert.deepEqual(request, { query: 'a.test', recordType: 'A', protocol: 'UDP' });
  assert.deepEqual(response?.['nameServerInfo'], { host: '127.0.0.1', port: resolver.port });
  dns.setServers(['127.0.0.1:1']);
  await assert.rejects(run({}), { name: 'AgentError', code: 'RESOLVER_UNAVAILABLE' });
});

test('a cancelled run stops at once', async () => {
  for (const protocol of ['UDP', 'TCP'] as const) {
    await using server = await startDnsServer(() => 'silence');
    const controller = new AbortController();
    const running = run({ nameServer: server.address, protocol }, { signal: controller.signal });
    controller.abort();
    await assert.rejects(running, { message: 'the run was cancelled' });
  }
});

test('hundreds of queries at once each get their own answer', async () => {
  await using server = await startDnsServer((query) =>
    answerTo(query, { answers: [{ name: query.name, type: 'TXT', ttl: 1, data: query.name }] }),
  );
  const names = Array.from({ length: 200 }, (_name, index) => `n${index}.test`);
  const observations = await Promise.all(
    names.map((query) => run({ nameServer: server.address, query, recordType: 'TXT' })),
  );
  const texts = observations.map(({ response }) => {
    const { Answer } = response?.['jsonAnswer'] as { Answer: { data: string }[] };
    return Answer[0]?.data;
  });
  assert.deepEqual(
    texts,
    names.map((name) => `"${name}"`),
  );
});

test('the strings of a TXT record are joined beside their presentation form', async () => {
  const whole = `v=DKIM1; p=${'k'.repeat(400)}; n="ü\\`;
  const parts = [Buffer.from(whole).subarray(0, 255), Buffer.from(whole).subarray(255)];
  const name = 'a.test';
  await using server = await startDnsServer((query) =>
    answerTo(query, { answers: [{ name, type: 'TXT', ttl: 60, data: parts }] }),
  );
  const seen = await run({ recordType: 'TXT', nameServer: '127.0.0.1', port: server.port });
  const { Answer } = seen.response?.['jsonAnswer'] as { Answer: { text?: string }[] };
  assert.equal(Answer[0]?.text, whole);
});

for (const [query, expected] of [
  ['192.0.2.1', '1.2.0.192.in-addr.arpa'],
  ['2001:db8::1', `1.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa`],
  ['::1', `1.${'0.'.repeat(31)}ip6.arpa`],
  ['1.2.0.192.in-addr.arpa', '1.2.0.192.in-addr.arpa'],
] as const) {
  test(`a PTR query of ${query} asks for ${expected}`, async () => {
    await using server = await startDnsServer((asked) => answerTo(asked));
    const nameServer = '127.0.0.1';
    await run({ query, recordType: 'PTR', nameServer, port: server.port });
    assert.equal(server.queries[0]?.name, expected);
  });
}

test('no record is said where no assertion looks at the answer', async () => {
  await using server = await startDnsServer((query) => answerTo(query));
  const at = { nameServer: '127.0.0.1', port: server.port };
  const assertion = { source: 'RESPONSE_CODE', comparison: 'EQUALS', target: 'NOERROR' } as const;
  for (const assertions of [[], [{ ...assertion, property: '', regex: null }]]) {
    const logged: string[] = [];
    await run({ ...at, assertions }, { log: (message) => logged.push(message) });
    const isSaid = logged.some((line) => line.includes('no record of type A'));
    assert.equal(isSaid, assertions.length === 0);
  }
});
