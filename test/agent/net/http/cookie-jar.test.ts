import assert from 'node:assert/strict';
import test from 'node:test';
import { CookieJar } from '../../../../agent/net/http/cookie-jar.ts';

const plain = new URL('http://a.example/');
const secure = new URL('https://a.example/');

const over = (line: string): [URL, string] => [secure, line];

/** Lines are of answers without TLS, unless they say so. */
const rows: [what: string, sent: string | undefined, ...set: (string | [URL, string])[]][] = [
  ['a cookie of TLS is sent', 'sid=1', over('sid=1; Secure')],
  [
    'an answer without TLS removes no cookie of TLS',
    'sid=1',
    over('sid=1; Secure'),
    'sid=2; Secure',
    'sid=3',
    'sid=4; Max-Age=0',
  ],
  ['an answer over TLS replaces and removes it', 'sid=2', over('sid=1; Secure'), over('sid=2')],
  ['Max-Age=0 removes', undefined, 'sid=1', 'sid=; Max-Age=0'],
  ['a control byte makes it none', undefined, 'sid=\x01abc'],
  ['bytes beyond ASCII stay', 'sid=Z\xc3\xbc', 'sid=Z\xc3\xbc'],
  ['the past removes', undefined, 'sid=1; Expires=Tue, 01 Jan 2029 00:00:00 GMT'],
  ['the future keeps', 'sid=1', 'sid=1; Expires=Wed, 01 Jan 2031 00:00:00 GMT'],
  [
    'two digits of a year below 70 are of this century',
    'a=1',
    'a=1; expires=Wed, 01-Jan-68 00:00:00 GMT',
  ],
  [
    'two digits of a year from 70 on are of the last one',
    undefined,
    'a=1; expires=Thu, 01-Jan-70 00:00:00 GMT',
  ],
  [
    'a domain that is the host, or above it, is taken',
    'a=1; b=2',
    'a=1; Domain=.a.example',
    'b=2; Domain=example',
  ],
  ['another domain makes it none', undefined, 'a=1; Domain=b.example', 'b=2; Domain=x.a.example'],
  [
    'an address has no domain above it',
    undefined,
    [new URL('http://127.0.0.1/'), 'a=1; Domain=0.0.1'],
  ],
  ['one without a name is a value', 'abc', 'abc', '=', ''],
  ['one that is too long is none', undefined, `a=${'x'.repeat(4_096)}`],
  ['one that is as long as may be is taken', `a=${'x'.repeat(4_095)}`, `a=${'x'.repeat(4_095)}`],
  ['a tab in a value makes it none, and one behind it does not', 'b=2', 'a=1\t2', 'b=2\t; Path=/'],
  [
    'prefixes want what they say',
    undefined,
    over('__Secure-a=1'),
    over('__Host-b=2; Secure; Path=/x'),
    over('__Host-c=3; Secure; Domain=a.example; Path=/'),
  ],
  [
    'prefixes that have it are taken',
    '__Secure-a=1; __Host-b=2',
    over('__Secure-a=1; Secure'),
    over('__Host-b=2; Secure; Path=/'),
  ],
  [
    'one for other sites wants TLS',
    'b=2',
    'a=1; SameSite=None',
    over('b=2; SameSite=None; Secure'),
  ],
  ['an empty Max-Age is none', 'sid=1', 'sid=1; Max-Age='],
  [
    'a Max-Age that is no number does not hide Expires',
    undefined,
    'sid=1; Max-Age=abc; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
  ],
];

for (const [what, sent, ...set] of rows) {
  test(`cookies of a run: ${what}`, () => {
    const jar = new CookieJar();
    for (const each of set) {
      const [url, line] = typeof each === 'string' ? [plain, each] : each;
      jar.take(url, [line], Date.parse('2030-01-01'));
    }
    assert.equal(jar.headerFor(secure, undefined), sent);
  });
}

test('a cookie of TLS is not sent without it', () => {
  const jar = new CookieJar();
  jar.take(secure, ['sid=1; Secure'], 0);
  assert.deepEqual(
    [secure, plain].map((url) => jar.headerFor(url, undefined)),
    ['sid=1', undefined],
  );
});
