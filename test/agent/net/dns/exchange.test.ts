import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentError } from '../../../../agent/errors.ts';
import { observe, textOf } from '../../../../agent/net/dns/exchange.ts';

const server = { host: '192.0.2.1', port: 53 };
const errorWith = (code: string): Error =>
  Object.assign(new Error(`failed with ${code}`), { code });

for (const code of ['EMFILE', 'ENOBUFS', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EPERM']) {
  test(`${code} is an agent error`, () => {
    const observed = observe('connect', errorWith(code), server, {});
    assert.ok(observed instanceof AgentError);
    assert.equal(observed.code, 'NETWORK_UNAVAILABLE');
    assert.match(observed.message, new RegExp(`192\\.0\\.2\\.1:53 \\(${code}\\)`));
  });
}

for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'EPIPE']) {
  test(`${code} is a failure of the name server`, () => {
    const observed = observe('connect', errorWith(code), server, {});
    assert.ok('failure' in observed);
    assert.deepEqual([observed.failure.code, observed.failure.isNetworkError], [code, true]);
  });
}

for (const [code, hasLeft, isOurs] of [
  ['EHOSTUNREACH', false, true],
  ['EHOSTUNREACH', true, false],
  ['ENETUNREACH', true, false],
  ['EACCES', true, false],
  ['EMFILE', true, true],
] as const) {
  const whose = isOurs ? 'this machine' : 'somebody on the way';
  test(`${code} ${hasLeft ? 'after' : 'before'} a query left is a word of ${whose}`, () => {
    const observed = observe('send', errorWith(code), server, { hasLeft });
    assert.equal(observed instanceof AgentError, isOurs);
  });
}

test('an IPv6 address is written in brackets', () => {
  assert.equal(textOf({ host: '2001:db8::1', port: 53 }), '[2001:db8::1]:53');
});
