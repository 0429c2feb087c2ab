import assert from 'node:assert/strict';
import test from 'node:test';
import { daysUpTo } from '../../../../control-plane/app/commands/days-option.ts';

test('days are read with and without their unit, within a limit', () => {
  for (const [text, expected] of [
    ['30d', 30],
    ['30', 30],
    ['1', 1],
    ['750d', 750],
    ...['0', '0d', '751', '1.5', '-1', '', 'd', '30 d', '30h', '1e1'].map((bad) => [bad, null]),
  ] as const) {
    if (expected === null) assert.throws(() => daysUpTo(750)(text as string), /such as 30d/);
    else assert.equal(daysUpTo(750)(text as string), expected);
  }
});
