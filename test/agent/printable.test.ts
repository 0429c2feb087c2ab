import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printable, printableValue } from '../../agent/printable.ts';

test('a text of others writes no lines, colours or titles of its own', () => {
  assert.equal(
    printable('CN=evil\u001b[31m\u001b]0;x\u0007\rok\nfine\u009b\u202e, \u00fcber \u{1f600}'),
    'CN=evil\\u001b[31m\\u001b]0;x\\u0007\\u000dok\\u000afine\\u009b\\u202e, \u00fcber \u{1f600}',
  );
});

test('texts are found wherever they are; all else stays as it is', () => {
  const bytes = Buffer.from('\u001b');
  const value = { a: ['\u001b\n', 1, null], b: { c: 'x\u0000\ty' }, bytes };
  assert.deepEqual(printableValue(value), {
    ...{ a: ['\\u001b\\u000a', 1, null], b: { c: 'x\\u0000\\u0009y' } },
    bytes,
  });
  const kept = printableValue(value, { hasLines: true });
  assert.deepEqual([kept.a[0], kept.b.c], ['\\u001b\n', 'x\\u0000\ty']);
});
