import assert from 'node:assert/strict';
import { test } from 'node:test';
import dnsPacket, { type Answer } from 'dns-packet';
import fc from 'fast-check';
import { readAnswer, type Reading } from '../../../../agent/net/dns/answer.ts';
import { encodeQuery, type DnsQuery } from '../../../../agent/net/dns/query.ts';
import type { RecordType } from '../../../../agent/net/dns/registry.ts';
import { answerTo, malicious, rawRecord, type ReceivedQuery } from '../../../support/dns-server.ts';
import { workMs } from '../../../support/time-spent.ts';
import { tries } from '../../../support/random.ts';

function ask(type: RecordType = 'A', name = 'a.test'): DnsQuery & ReceivedQuery {
  const query = encodeQuery(name, type);
  assert.ok(query !== null);
  const question = dnsPacket.decode(query.message).questions?.[0];
  assert.ok(question !== undefined);
  return { ...query, name: question.name, type: question.type, protocol: 'UDP' };
}

function dataOf(reading: Reading): string[] {
  assert.ok(reading.kind === 'answer', JSON.stringify(reading));
  return reading.answer.answers.map(({ data }) => data);
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const name = 'a.test';
const ttl = 300;

/** Each type with its data, and how a zone file writes it. */
const presentations: readonly [RecordType, Answer | Buffer, string][] = [
  ['A', { name, ttl, type: 'A', data: '192.0.2.1' }, '192.0.2.1'],
  ['AAAA', { name, ttl, type: 'AAAA', data: '2001:db8::1' }, '2001:db8::1'],
  ['AAAA', hex('00000000000000000000000000000000'), '::'],
  ['AAAA', hex('20010db8000000010001000100010001'), '2001:db8:0:1:1:1:1:1'],
  ['AAAA', hex('20010000000000010000000000000001'), '2001:0:0:1::1'],
  ['CNAME', { name, ttl, type: 'CNAME', data: 'b.test' }, 'b.test.'],
  [
    'MX',
    { name, ttl, type: 'MX', data: { preference: 10, exchange: 'mail.example.com' } },
    '10 mail.example.com.',
  ],
  ['MX', hex('0000 00'), '0 .'],
  ['TXT', { name, ttl, type: 'TXT', data: ['v=spf1 -all', 'two'] }, '"v=spf1 -all" "two"'],
  ['TXT', hex('06 22 5c 0a 00 e4 7f'), '"\\"\\\\\\010\\000\\228\\127"'],
  [
    'SOA',
    {
      ...{ name, ttl, type: 'SOA' },
      data: {
        ...{ mname: 'ns.test', rname: 'first\\.last.test', serial: 2026010101 },
        ...{ refresh: 7200, retry: 900, expire: 1209600, minimum: 300 },
      },
    },
    'ns.test. first\\.last.test. 2026010101 7200 900 1209600 300',
  ],
  ['NS', { name, ttl, type: 'NS', data: 'ns.test' }, 'ns.test.'],
  [
    'HTTPS',
    // The example of RFC 9460 appendix D, with three more parameters.
    hex(
      '0001 00 0000 0004 0001 0003 0001 0009 02 6832 05 68332d3139 0002 0000 0003 0002 20fb' +
        '0004 0008 c0000201 c0000202 0005 0003 010203 0006 0010 20010db8000000000000000000000001' +
        '029b 0005 68656c6c6f',
    ),
    '1 . mandatory=alpn,port alpn="h2,h3-19" no-default-alpn port=8443 ipv4hint=192.0.2.1,192.0.2.2 ech=AQID ipv6hint=2001:db8::1 key667="hello"',
  ],
  [
    'HTTPS',
    // RFC 9460 appendix D.2: a comma and a backslash within one protocol name.
    hex('0010 03 666f6f 07 6578616d706c65 03 6f7267 00 0001 000c 08 665c6f6f2c626172 02 6832'),
    '16 foo.example.org. alpn="f\\\\\\\\oo\\\\,bar,h2"',
  ],
  ['HTTPS', hex('0000 01 62 04 74657374 00'), '0 b.test.'],
  [
    'SRV',
    { name, ttl, type: 'SRV', data: { priority: 1, weight: 2, port: 5060, target: 'sip.test' } },
    '1 2 5060 sip.test.',
  ],
  ['PTR', { name, ttl, type: 'PTR', data: 'host.test' }, 'host.test.'],
  [
    'CAA',
    { name, ttl, type: 'CAA', data: { flags: 128, tag: 'issue', value: 'ca.test; a=b' } },
    '128 issue "ca.test; a=b"',
  ],
  [
    'DS',
    {
      ...{ name, ttl, type: 'DS' },
      data: { keyTag: 20326, algorithm: 8, digestType: 2, digest: hex('e06d44b8') },
    },
    '20326 8 2 E06D44B8',
  ],
  [
    'DNSKEY',
    { name, ttl, type: 'DNSKEY', data: { flags: 257, algorithm: 13, key: hex('000102ff') } },
    '257 3 13 AAEC/w==',
  ],
  [
    'TLSA',
    {
      ...{ name, ttl, type: 'TLSA' },
      data: { usage: 3, selector: 1, matchingType: 1, certificate: hex('0a0b0c') },
    },
    '3 1 1 0A0B0C',
  ],
  [
    'NAPTR',
    {
      ...{ name, ttl, type: 'NAPTR' },
      data: {
        ...{ order: 100, preference: 10, flags: 'S', services: 'SIP+D2U' },
        ...{ regexp: '!^.*$!sip:a@b!', replacement: '_sip._udp.test' },
      },
    },
    '100 10 "S" "SIP+D2U" "!^.*$!sip:a@b!" _sip._udp.test.',
  ],
];

const numbers: Partial<Record<RecordType, number>> = { AAAA: 28, MX: 15, TXT: 16, HTTPS: 65 };

for (const [type, given, expected] of presentations) {
  test(`${type} reads as a zone file writes it: ${expected}`, () => {
    const query = ask(type);
    const record = Buffer.isBuffer(given) ? rawRecord(name, numbers[type] ?? 0, given) : given;
    const reading = readAnswer(answerTo(query, { answers: [record] }), query, 'UDP');
    assert.deepEqual(dataOf(reading), [expected]);
    assert.ok(reading.kind === 'answer');
    assert.deepEqual(reading.answer.answers[0], {
      ...{ name: 'a.test.', type, class: 'IN', ttl: 300, data: expected },
    });
  });
}

test('an unknown type is given as its bytes', () => {
  const query = ask();
  const records = [rawRecord(name, 4711, hex('0a0b')), rawRecord(name, 44, Buffer.alloc(0))];
  const reading = readAnswer(answerTo(query, { answers: records }), query, 'UDP');
  assert.deepEqual(dataOf(reading), ['\\# 2 0a0b', '\\# 0']);
  assert.ok(reading.kind === 'answer');
  assert.deepEqual(
    reading.answer.answers.map(({ type }) => type),
    ['TYPE4711', 'SSHFP'],
  );
});

test('no byte of a name can pass for something else in the text', () => {
  const query = ask('CNAME');
  const label = Buffer.from('a.b\n;; "\\ä', 'latin1');
  const data = Buffer.concat([Buffer.from([label.length]), label, Buffer.from([0])]);
  const reading = readAnswer(
    answerTo(query, { answers: [rawRecord(name, 5, data)] }),
    query,
    'UDP',
  );
  assert.deepEqual(dataOf(reading), ['a\\.b\\010\\;\\;\\032\\"\\\\\\228.']);
});

test('names are followed through pointers, and letters may come back in the other case', () => {
  const query = ask('CNAME');
  const message = answerTo({ ...query, name: 'A.TeSt' });
  const pointer = hex('c00c 0005 0001 0000003c 0004 0162 c00e');
  message.writeUInt16BE(1, 6);
  const reading = readAnswer(Buffer.concat([message, pointer]), query, 'UDP');
  assert.deepEqual(dataOf(reading), ['b.TeSt.']);
});

test('every return code is an answer, with or without the question', () => {
  for (const [rcode, expected] of [
    [0, 'NOERROR'],
    [1, 'FORMERR'],
    [2, 'SERVFAIL'],
    [3, 'NXDOMAIN'],
    [4, 'NOTIMP'],
    [5, 'REFUSED'],
    [9, 'NOTAUTH'],
    [15, 'RCODE15'],
  ] as const) {
    const query = ask();
    const reading = readAnswer(answerTo(query, { rcode }), query, 'UDP');
    assert.ok(reading.kind === 'answer');
    assert.equal(reading.answer.returnCode, expected);
  }
  const query = ask();
  const bare = Buffer.alloc(12);
  query.message.copy(bare, 0, 0, 2);
  bare.writeUInt16BE(0x8001, 2);
  assert.equal(readAnswer(bare, query, 'UDP').kind, 'answer');
  bare.writeUInt16BE(0x8000, 2);
  assert.equal(readAnswer(bare, query, 'UDP').kind, 'foreign');
});

test('over UDP a truncated answer is not read, however broken the rest of it is', () => {
  const query = ask();
  const message = answerTo(query, {
    flags: dnsPacket.TRUNCATED_RESPONSE,
    answers: [{ name, ttl, type: 'A', data: '192.0.2.1' }],
  }).subarray(0, -3);
  assert.deepEqual(readAnswer(message, query, 'UDP'), { kind: 'truncated' });
  assert.equal(readAnswer(message, query, 'TCP').kind, 'malformed');
});

for (const [what, make] of Object.entries(malicious)) {
  test(`an answer of the kind ${what} is neither accepted nor thrown, nor does it take long`, () => {
    const query = ask();
    const message = make(query);
    const kinds: string[] = [];
    const tookMs = workMs(() => kinds.push(readAnswer(message, query, 'TCP').kind));
    assert.ok(['malformed', 'foreign'].includes(kinds[0] ?? ''), kinds[0]);
    // Without limits, one chain of pointers takes a quarter of a second.
    assert.ok(tookMs < 150, `${tookMs} ms`);
  });
}

test('arbitrary bytes never throw', () => {
  const query = ask();
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), fc.boolean(), (bytes, isOurs) => {
      const message = Buffer.from(bytes);
      if (isOurs && message.length >= query.message.length) {
        query.message.copy(message);
        message.writeUInt16BE(0x8180, 2);
      }
      assert.ok(typeof readAnswer(message, query, 'TCP').kind === 'string');
    }),
    { numRuns: tries(2000) },
  );
});

test('a proper answer with bytes changed or cut off never throws', () => {
  const query = ask('HTTPS');
  const records = presentations.map(([type, given]) =>
    Buffer.isBuffer(given) ? rawRecord(name, numbers[type] ?? 0, given) : given,
  );
  const whole = answerTo(query, { answers: records });
  assert.equal(readAnswer(whole, query, 'TCP').kind, 'answer');
  const change = fc.tuple(fc.nat(whole.length - 1), fc.nat(255));
  fc.assert(
    fc.property(fc.array(change, { maxLength: 4 }), fc.nat(whole.length), (changes, cut) => {
      const message = Buffer.from(whole.subarray(0, whole.length - cut));
      for (const [at, byte] of changes) if (at < message.length) message[at] = byte;
      assert.ok(typeof readAnswer(message, query, 'TCP').kind === 'string');
    }),
    { numRuns: tries(3000) },
  );
});

test('what another implementation encodes is read back', () => {
  const label = fc.stringMatching(/^[a-z0-9_-]{1,20}$/);
  const host = fc.array(label, { minLength: 1, maxLength: 6 }).map((labels) => labels.join('.'));
  const anyRecord = fc.oneof(
    host.map((data) => [{ type: 'NS', data }, `${data}.`] as const),
    fc.ipV4().map((data) => [{ type: 'A', data }, data] as const),
    fc
      .tuple(fc.nat(65_535), host)
      .map(
        ([preference, exchange]) =>
          [{ type: 'MX', data: { preference, exchange } }, `${preference} ${exchange}.`] as const,
      ),
    fc
      .array(fc.stringMatching(/^[a-z =]{0,60}$/), { minLength: 1, maxLength: 3 })
      .map((data) => [{ type: 'TXT', data }, data.map((text) => `"${text}"`).join(' ')] as const),
  );
  fc.assert(
    fc.property(host, fc.array(anyRecord, { maxLength: 30 }), (queried, records) => {
      const query = ask('A', queried);
      const answers = records.map(([fields]) => ({ name: queried, ttl, ...fields }) as Answer);
      const reading = readAnswer(answerTo(query, { answers }), query, 'TCP');
      assert.deepEqual(
        dataOf(reading),
        records.map(([, text]) => text),
      );
    }),
    { numRuns: tries(300) },
  );
});
