import assert from 'node:assert/strict';
import test from 'node:test';
import {
  addFault,
  mostCommonKind,
  type FaultStretch,
} from '../../../../control-plane/alerting/decide/fault-stretch.ts';

const stretchOf = (...codes: string[]) =>
  codes.reduce<FaultStretch | undefined>(
    (stretch, code, index) => addFault(stretch, index, { code, message: `${code} ${index}` }),
    undefined,
  );

test('a stretch begins with its first error and keeps the newest sentence of each code', () => {
  assert.deepEqual(stretchOf('A', 'B', 'A'), {
    ...{ since: 0, runs: 3 },
    kinds: [
      { code: 'B', runs: 1, message: 'B 1' },
      { code: 'A', runs: 2, message: 'A 2' },
    ],
  });
});

test('an error without a sentence does not take away the one before', () => {
  const stretch = addFault(stretchOf('A'), 1, { code: 'A', message: null });
  assert.equal(stretch.kinds[0]?.message, 'A 0');
});

test('codes beyond the eighth are counted and not kept', () => {
  const stretch = stretchOf(...'ABCDEFGHIJ');
  assert.deepEqual([stretch?.runs, stretch?.kinds.length], [10, 8]);
  assert.equal(addFault(stretch, 10, { code: 'C', message: null }).kinds.at(-1)?.runs, 2);
});

test('the most common kind is that of all stretches together; of equals the later one', () => {
  const stretches = ['AAB', 'CCB', 'B'].map((codes) => stretchOf(...codes) ?? { kinds: [] });
  assert.equal(mostCommonKind(stretches)?.code, 'B');
  assert.equal(mostCommonKind([{ kinds: [] }]), null);
  assert.equal(mostCommonKind([stretchOf('A', 'B') ?? { kinds: [] }])?.code, 'B');
});
