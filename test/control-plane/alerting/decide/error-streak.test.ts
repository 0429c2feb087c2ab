import assert from 'node:assert/strict';
import test from 'node:test';
import {
  addError,
  mostCommonKind,
  type ErrorStreak,
} from '../../../../control-plane/alerting/decide/error-streak.ts';

const streakOf = (...codes: string[]) =>
  codes.reduce<ErrorStreak | undefined>(
    (streak, code, index) => addError(streak, index, { code, message: `${code} ${index}` }),
    undefined,
  );

test('a streak begins with its first error and keeps the newest sentence of each code', () => {
  assert.deepEqual(streakOf('A', 'B', 'A'), {
    ...{ since: 0, runs: 3 },
    kinds: [
      { code: 'B', runs: 1, message: 'B 1' },
      { code: 'A', runs: 2, message: 'A 2' },
    ],
  });
});

test('an error without a sentence does not take away the one before', () => {
  const streak = addError(streakOf('A'), 1, { code: 'A', message: null });
  assert.equal(streak.kinds[0]?.message, 'A 0');
});

test('codes beyond the eighth are counted and not kept', () => {
  const streak = streakOf(...'ABCDEFGHIJ');
  assert.deepEqual([streak?.runs, streak?.kinds.length], [10, 8]);
  assert.equal(addError(streak, 10, { code: 'C', message: null }).kinds.at(-1)?.runs, 2);
});

test('the most common kind is that of all streaks together; of equals the later one', () => {
  const streaks = ['AAB', 'CCB', 'B'].map((codes) => streakOf(...codes) ?? { kinds: [] });
  assert.equal(mostCommonKind(streaks)?.code, 'B');
  assert.equal(mostCommonKind([{ kinds: [] }]), null);
  assert.equal(mostCommonKind([streakOf('A', 'B') ?? { kinds: [] }])?.code, 'B');
});
