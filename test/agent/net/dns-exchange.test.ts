import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentError } from '../../../agent/errors.ts';
import { observe, textOf } from '../../../agent/net/dns-exchange.ts';

const server = { host: '192.0.2.1', port: 53 };
const errorWith = (code: string): Error =>
  Object.assign(new Error(`failed with ${code}`), { code });

for (const code of ['EMFILE', 'ENOBUFS', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EPERM']) {
  test(`${code} is a fault of this machine`, () => {
    const observed = observe('connect', errorWith(code), server);
    assert.ok(observed instanceof AgentError);
    assert.equal(observed.code, 'NETWORK_UNAVAILABLE');
    assert.match(observed.message, new RegExp(`192\\.0\\.2\\.1:53 \\(${code}\\)`));
  });
}

for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'EPIPE']) {
  test(`${code} is a failure of the name server`, () => {
    const observed = observe('connect', errorWith(code), server);
    assert.ok('failure' in observed);
    assert.deepEqual([observed.failure.code, observed.failure.isNetworkError], [code, true]);
  });
}

test('an IPv6 address is written in brackets', () => {
  assert.equal(textOf({ host: '2001:db8::1', port: 53 }), '[2001:db8::1]:53');
});
