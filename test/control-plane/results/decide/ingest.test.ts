import assert from 'node:assert/strict';
import test from 'node:test';
import { decideResult } from '../../../../control-plane/results/decide/ingest.ts';

const ended = { state: 'FINAL', finalAttempt: 3 } as const;
const kindOf = (resultType: 'FINAL' | 'ATTEMPT', attempt: number, run = ended) =>
  decideResult(run, undefined, { resultType, attempt }).kind;

test('an attempt from before the FINAL of its run is an attempt, whenever it arrives', () => {
  assert.equal(kindOf('ATTEMPT', 1), 'store');
  assert.equal(kindOf('ATTEMPT', 2), 'store');
});

test('what comes after the FINAL of its run and is not from before it is late', () => {
  assert.equal(kindOf('ATTEMPT', 3), 'late');
  assert.equal(kindOf('ATTEMPT', 4), 'late');
  assert.equal(kindOf('FINAL', 1), 'late');
  assert.equal(kindOf('FINAL', 4), 'late');
  const unknown = { state: 'FINAL', finalAttempt: null } as const;
  assert.equal(
    decideResult(unknown, undefined, { resultType: 'ATTEMPT', attempt: 1 }).kind,
    'late',
  );
});

test('the same result again is a duplicate, in every state of its run', () => {
  for (const resultType of ['FINAL', 'ATTEMPT', 'LATE'] as const) {
    const again = { resultType: 'ATTEMPT', attempt: 1 } as const;
    assert.equal(decideResult(ended, { resultType }, again).kind, 'duplicate');
  }
});
