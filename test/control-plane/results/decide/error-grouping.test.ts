import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  cleanErrorMessage,
  errorHash,
} from '../../../../control-plane/results/decide/error-grouping.ts';
import { sha256Hex } from '../../../../control-plane/core/keys.ts';
import { anyCharacter } from '../../../support/any-character.ts';
import { workMs } from '../../../support/time-spent.ts';
import { tries } from '../../../support/random.ts';

const cleanings: [raw: string, cleaned: string][] = [
  ['\u001b[31mError:\u001b[39m  boom\r\n\tagain ', 'Error: boom again'],
  ['\u001b]8;;https://a.example\u0007link\u001b]8;;\u0007 text', 'link text'],
  ['Timeout 30000ms exceeded.', 'Timeout <duration> exceeded.'],
  ['Call log:\n    6 × locator resolved to <h1>', 'Call log: - locator resolved to <h1>'],
  ['Call log:\n  - locator resolved to <h1>', 'Call log: - locator resolved to <h1>'],
  ['a grid of 3 × 4', 'a grid of 3 × 4'],
  ['took 1.25 s, limit 900 ms', 'took <duration>, limit <duration>'],
  ['connect ECONNREFUSED 10.0.0.7:5432', 'connect ECONNREFUSED <ip>:<port>'],
  ['connect ECONNREFUSED ::1:443', 'connect ECONNREFUSED <ip>'],
  ['connect ETIMEDOUT 2001:db8::8a2e:370:7334', 'connect ETIMEDOUT <ip>'],
  ['no answer from [2001:db8::1]:53', 'no answer from <ip>:<port>'],
  ['db.internal:5432 refused', 'db.internal:<port> refused'],
  ['order 0b0cbb6e-9d6c-4a3c-8a53-1f5f64d8e7a1 is gone', 'order <uuid> is gone'],
  ['at 2026-11-21T08:00:00.123Z', 'at <date>'],
  ['at 2026-11-21 08:00:00+01:00 it broke', 'at <date> it broke'],
  ['expired Sat, 21 Nov 2026 08:00:00 GMT', 'expired <date>'],
  ['expired Nov 21, 2026', 'expired <date>'],
  ['on 11/21/2026 at 08:00:01', 'on <date> at <time>'],
  ['commit 9fceb02d0ae598e95dc970b74767f19372d61af8', 'commit <hex>'],
  ['segfault at 0x7ffe1234', 'segfault at <hex>'],
  ['session sess_Ab39xK20qLm71 ended', 'session <id> ended'],
  ['GET https://a.example/cart?session=abc#x failed', 'GET https://a.example/cart failed'],
  ['GET https://me:pw@a.example:8443/cart', 'GET https://a.example:<port>/cart'],
  ['    at load (/app/cart.spec.ts:12:7)', 'at load (/app/cart.spec.ts:<line>)'],
  ['no such file /tmp/monitor-agent-runs/r-81aa/out.json', 'no such file <tmp>/out.json'],
  ['mail to jane.doe+1@a.example bounced', 'mail to <user>@a.example bounced'],
  ['sent 1048576 of 2 MB, 51%', 'sent <number> of <size>, <percent>'],
  [`got "${'x'.repeat(61)}"`, 'got "<text>"'],
];

test('what varies from run to run is replaced', () => {
  for (const [raw, cleaned] of cleanings) assert.equal(cleanErrorMessage(raw), cleaned, raw);
});

test('what tells errors apart stays', () => {
  const kept = [
    'HTTP 404',
    'expected STATUS_CODE EQUALS 201, found 200',
    "locator.click: Error: strict mode violation: getByRole('button') resolved to 2 elements",
    'getaddrinfo ENOTFOUND shop.example',
    'ERR_HTTP2_STREAM_ERROR',
    'expected "Welcome" to equal "Sign in"',
    'exited with code 137',
    'certificate CERT_HAS_EXPIRED',
  ];
  for (const message of kept) assert.equal(cleanErrorMessage(message), message);
  assert.equal(new Set(kept.map((message) => errorHash(message, sha256Hex))).size, kept.length);
});

const fragment = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.constantFrom(...cleanings.map(([raw]) => raw)),
  fc.constantFrom(
    '"',
    '`',
    ':',
    '::',
    '-',
    '<',
    '>',
    '/tmp/',
    '12',
    ' ms',
    '@',
    '1.2',
    '\u001b[',
    'f',
  ),
);
const message = fc.array(fragment, { maxLength: 30 }).map((parts) => parts.join(''));

test('cleaning a cleaned message changes nothing, and it is never too long or ill-formed', () => {
  fc.assert(
    fc.property(message, (raw) => {
      const cleaned = cleanErrorMessage(raw);
      assert.equal(cleanErrorMessage(cleaned), cleaned);
      assert.ok(cleaned.length <= 1_000 && cleaned.isWellFormed());
    }),
    { numRuns: tries(3_000) },
  );
});

test('messages that differ only in what varies are one group', () => {
  fc.assert(
    fc.property(
      fc.uuid(),
      fc.ipV4(),
      fc.nat(60_000),
      fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }),
      (id, ip, ms, date) => {
        const raw = `${date.toISOString()} order ${id} at ${ip}:8443 failed after ${ms} ms`;
        assert.equal(
          cleanErrorMessage(raw),
          '<date> order <uuid> at <ip>:<port> failed after <duration>',
        );
      },
    ),
  );
});

test('the longest and worst messages are cleaned in the time of short ones', () => {
  const patterns = [
    '1',
    'a1',
    '1:',
    '::',
    'f',
    '1.1.',
    '-',
    '/tmp/',
    'a@',
    '"',
    '1,1',
    '\u001b[',
    'https://',
    ' 1 ',
    '\u001b]',
    'x-',
    '0x',
    '<',
    '1-',
  ];
  for (const pattern of patterns) {
    const text = pattern.repeat(Math.ceil(16_384 / pattern.length));
    const tookMs = workMs(() => cleanErrorMessage(text));
    assert.ok(tookMs < 250, `${JSON.stringify(pattern)} took ${tookMs} ms`);
  }
});
