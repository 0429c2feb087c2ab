import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNameServer } from '../../../../agent/net/dns/name-server.ts';

for (const [text, beside, expected] of [
  ['192.0.2.1', undefined, { host: '192.0.2.1', port: 53 }],
  ['192.0.2.1', null, { host: '192.0.2.1', port: 53 }],
  ['192.0.2.1', 5353, { host: '192.0.2.1', port: 5353 }],
  ['192.0.2.1:54', undefined, { host: '192.0.2.1', port: 54 }],
  ['ns.example.com:54', 53, { host: 'ns.example.com', port: 54 }],
  ['ns.example.com', undefined, { host: 'ns.example.com', port: 53 }],
  ['2001:db8::1', 54, { host: '2001:db8::1', port: 54 }],
  ['[2001:db8::1]', undefined, { host: '2001:db8::1', port: 53 }],
  ['[2001:db8::1]:54', undefined, { host: '2001:db8::1', port: 54 }],
  ['fe80::1%eth0', undefined, { host: 'fe80::1%eth0', port: 53 }],
  ['', undefined, null],
  ['a b', undefined, null],
  ['https://dns.example', undefined, null],
  ['192.0.2.1:0', undefined, null],
  ['192.0.2.1:65536', undefined, null],
  ['192.0.2.1:x', undefined, null],
  ['[ns.example.com]:53', undefined, null],
  ['2001:db8::zz', undefined, null],
] as const) {
  test(`the name server "${text}" beside port ${String(beside)} is ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(parseNameServer(text, beside), expected);
  });
}
