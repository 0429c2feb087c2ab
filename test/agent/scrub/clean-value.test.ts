import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { createScrubber } from '../../../agent/scrub/create-scrubber.ts';
import { isNamedCredential } from '@monitor/shared/credentials/named-values.ts';
import { scrubValue } from '../../../agent/scrub/scrub-value.ts';

const secrets = ['correct horse battery', '8472910365', 'first,\nsecond line'];
const longValue = 'a1B2-'.repeat(60);

/** What credentials, and texts that look like them, are made of. */
const pieces = [
  ...['token', 'password', 'auth', ':', '=', ' ', '"', ',', ';', '\n', '\r\n', '@', '…', '*'],
  ...['Bearer ', 'Basic ', 'cookie: ', 'Authorization: ', 'https://', 'user:', 'pa55word@', 'a=b'],
  ...['Zm9vOmJhcg==', 'abcdef0123456789XYZ', 'AKIAABCDEFGHIJKLMNOP', 'sk-', 'x0Y1z2W3v4U5t6S7r8'],
  ...[
    '-----BEGIN PRIVATE KEY-----',
    '-----END',
    'getToken',
    longValue,
    'plain words',
    '8472910365',
  ],
  ...['correct horse', ' battery', 'correct%20horse%20battery', 'first', 'second line', '\ud800'],
];
const keys = [
  ...['name', 'key', 'value', 'headers', 'cookies', 'rawHeaders', 'set-cookie', 'cookie', 'accept'],
  ...[
    'username',
    'password',
    'token',
    'apiKey',
    'client_secret',
    'pageref',
    'url',
    'authorization',
  ],
  ...['ghp_abcdefghijklmnopqrstuvwxyz0123456789', 'correct horse battery', '__proto__', 'a: b'],
];
const text = fc.array(fc.constantFrom(...pieces), { maxLength: 5 }).map((parts) => parts.join(''));
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    text,
    fc.constantFrom(null, true, 12, 8_472_910_365, 0.042_492_999_999_922_176),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(fc.oneof(fc.constantFrom(...keys), text), tie('value')), { maxLength: 5 })
      .map((entries) => Object.fromEntries(entries) as unknown),
  ),
}));

for (const [label, declared, detect] of [
  ['declared secrets', secrets, false],
  ['detection', [], true],
  ['both', secrets, true],
  ['neither', [], false],
] as const) {
  test(`a value that looks clean as a whole is clean field by field, with ${label}`, () => {
    const scrubber = createScrubber({ secrets: declared, detect });
    const byField = <T>(whole: T): T =>
      scrubValue(whole, {
        text: (one) => scrubber.text(one),
        isCredential: (name, one) => detect && isNamedCredential(name, one),
      });
    let clean = 0;
    fc.assert(
      fc.property(value, (whole) => {
        const expected = byField(whole);
        const given = scrubber.value(whole);
        assert.equal(JSON.stringify(given), JSON.stringify(expected));
        assert.equal(given === whole, expected === whole);
        if (expected === whole) clean += 1;
      }),
      { numRuns: 3_000 },
    );
    assert.ok(clean > 300, `${clean} of them were clean`);
  });
}
