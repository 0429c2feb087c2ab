import assert from 'node:assert/strict';
import test from 'node:test';
import { CookieJar } from '../../../../agent/net/http/cookie-jar.ts';

const plain = new URL('http://a.example/');
const secure = new URL('https://a.example/');

const rows: [what: string, set: [URL, string][], sent: string | undefined][] = [
  ['a cookie of TLS is sent', [[secure, 'sid=1; Secure']], 'sid=1'],
  [
    'an answer without TLS removes no cookie of TLS',
    [
      [secure, 'sid=1; Secure'],
      [plain, 'sid=2; Secure'],
      [plain, 'sid=3'],
      [plain, 'sid=4; Max-Age=0'],
    ],
    'sid=1',
  ],
  [
    'an answer over TLS replaces and removes it',
    [
      [secure, 'sid=1; Secure'],
      [secure, 'sid=2'],
    ],
    'sid=2',
  ],
  [
    'Max-Age=0 removes',
    [
      [plain, 'sid=1'],
      [plain, 'sid=; Max-Age=0'],
    ],
    undefined,
  ],
  ['a control byte makes it none', [[plain, 'sid=\x01abc']], undefined],
  ['bytes beyond ASCII stay', [[plain, 'sid=Z\xc3\xbc']], 'sid=Z\xc3\xbc'],
  ['the past removes', [[plain, 'sid=1; Expires=Tue, 01 Jan 2029 00:00:00 GMT']], undefined],
  ['the future keeps', [[plain, 'sid=1; Expires=Wed, 01 Jan 2031 00:00:00 GMT']], 'sid=1'],
  [
    'two digits of a year below 70 are of this century',
    [[plain, 'a=1; expires=Wed, 01-Jan-68 00:00:00 GMT']],
    'a=1',
  ],
  [
    'two digits of a year from 70 on are of the last one',
    [[plain, 'a=1; expires=Thu, 01-Jan-70 00:00:00 GMT']],
    undefined,
  ],
  [
    'a domain that is the host, or above it, is taken',
    [
      [plain, 'a=1; Domain=.a.example'],
      [plain, 'b=2; Domain=example'],
    ],
    'a=1; b=2',
  ],
  [
    'another domain makes it none',
    [
      [plain, 'a=1; Domain=b.example'],
      [plain, 'b=2; Domain=x.a.example'],
    ],
    undefined,
  ],
  [
    'an address has no domain above it',
    [[new URL('http://127.0.0.1/'), 'a=1; Domain=0.0.1']],
    undefined,
  ],
  [
    'one without a name is a value',
    [
      [plain, 'abc'],
      [plain, '='],
      [plain, ''],
    ],
    'abc',
  ],
  ['one that is too long is none', [[plain, `a=${'x'.repeat(4_096)}`]], undefined],
  [
    'one that is as long as may be is taken',
    [[plain, `a=${'x'.repeat(4_095)}`]],
    `a=${'x'.repeat(4_095)}`,
  ],
  [
    'a tab in a value makes it none, and one behind it does not',
    [
      [plain, 'a=1\t2'],
      [plain, 'b=2\t; Path=/'],
    ],
    'b=2',
  ],
  [
    'prefixes want what they say',
    [
      [secure, '__Secure-a=1'],
      [secure, '__Host-b=2; Secure; Path=/x'],
      [secure, '__Host-c=3; Secure; Domain=a.example; Path=/'],
    ],
    undefined,
  ],
  [
    'prefixes that have it are taken',
    [
      [secure, '__Secure-a=1; Secure'],
      [secure, '__Host-b=2; Secure; Path=/'],
    ],
    '__Secure-a=1; __Host-b=2',
  ],
  [
    'one for other sites wants TLS',
    [
      [plain, 'a=1; SameSite=None'],
      [secure, 'b=2; SameSite=None; Secure'],
    ],
    'b=2',
  ],
  ['an empty Max-Age is none', [[plain, 'sid=1; Max-Age=']], 'sid=1'],
  [
    'a Max-Age that is no number does not hide Expires',
    [[plain, 'sid=1; Max-Age=abc; Expires=Thu, 01 Jan 1970 00:00:00 GMT']],
    undefined,
  ],
];

for (const [what, set, sent] of rows) {
  test(`cookies of a run: ${what}`, () => {
    const jar = new CookieJar();
    for (const [url, line] of set) jar.take(url, [line], Date.parse('2030-01-01'));
    assert.equal(jar.headerFor(secure, undefined), sent);
  });
}
