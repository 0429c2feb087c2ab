import assert from 'node:assert/strict';
import { test } from 'node:test';
import dnsPacket from 'dns-packet';
import { encodeQuery } from '../../../../agent/net/dns/query.ts';

function askedName(name: string): string | undefined {
  const query = encodeQuery(name, 'A');
  return query === null ? undefined : dnsPacket.decode(query.message).questions?.[0]?.name;
}

for (const [given, expected] of [
  ['example.com', 'example.com'],
  ['example.com.', 'example.com'],
  ['_dmarc.example.com', '_dmarc.example.com'],
  ['1/25.2.0.192.in-addr.arpa', '1/25.2.0.192.in-addr.arpa'],
  ['10', '10'],
  ['.', '.'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['_sip._tcp.BÜCHER.example', '_sip._tcp.xn--bcher-kva.example'],
  [`${'a'.repeat(63)}.test`, `${'a'.repeat(63)}.test`],
] as const) {
  test(`"${given}" is asked for as "${expected}"`, () => {
    assert.equal(askedName(given), expected);
  });
}

for (const name of [
  '',
  '..',
  'a..b',
  `${'a'.repeat(64)}.test`,
  'ab.'.repeat(85),
  'a b',
  'ü b.test',
]) {
  test(`"${name.slice(0, 70)}" cannot be asked for`, () => {
    assert.equal(encodeQuery(name, 'A'), null);
  });
}

test('a query asks for recursion, and has another id each time', () => {
  const ids = new Set<number>();
  for (let count = 0; count < 50; count += 1) {
    const query = encodeQuery('example.com', 'HTTPS');
    assert.ok(query !== null);
    const { id, flag_rd, questions, type } = dnsPacket.decode(query.message);
    assert.equal(id, query.id);
    assert.deepEqual({ type, flag_rd }, { type: 'query', flag_rd: true });
    assert.equal(questions?.[0]?.type, 'UNKNOWN_65');
    ids.add(query.id);
  }
  assert.ok(ids.size > 40);
});
