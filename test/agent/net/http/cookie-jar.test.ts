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
