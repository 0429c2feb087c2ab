import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { frequencies } from '@monitor/shared/contract/check.ts';
import {
  chooseFrequencyOffset,
  frequencyOffsetProblem,
  locationsOfSlot,
  maxFrequencyOffset,
  scheduleOf,
  slotAtOrAfter,
} from '@monitor/shared/domain/frequency.ts';

test('the offset rules are those of the specification', () => {
  const rows: [number, number | undefined, boolean][] = [
    [0, 10, true],
    [0, 20, true],
    [0, 30, true],
    [0, 15, false],
    [0, undefined, false],
    [1, 1, true],
    [1, 10, true],
    [1, 11, false],
    [10, 100, true],
    [10, 101, false],
    [60, 600, true],
    [60, 601, false],
    [120, 2, true],
    [120, 3, false],
    [1440, 24, true],
    [1440, 25, false],
    [10, 0, false],
    [10, undefined, true],
  ];
  for (const [frequency, offset, isAllowed] of rows) {
    assert.equal(
      frequencyOffsetProblem(frequency, offset) === null,
      isAllowed,
      `frequency ${frequency}, offset ${String(offset)}`,
    );
  }
});

test('a chosen offset is always an allowed one', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...frequencies),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (frequency, random) =>
        frequencyOffsetProblem(frequency, chooseFrequencyOffset(frequency, random)) === null,
    ),
  );
});

const timing = fc.record({
  checkId: fc.uuid(),
  frequency: fc.constantFrom(...frequencies),
  share: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

test('slots are one interval apart, and the next one is never before its moment', () => {
  fc.assert(
    fc.property(timing, fc.integer({ min: 0, max: 4e12 }), ({ checkId, frequency, share }, now) => {
      const frequencyOffset = chooseFrequencyOffset(frequency, share);
      const schedule = scheduleOf({ checkId, frequency, frequencyOffset });
      const slot = slotAtOrAfter(schedule, now);
      assert.ok(slot >= now && slot < now + schedule.intervalMs);
      assert.equal(slotAtOrAfter(schedule, slot), slot);
      assert.equal(slotAtOrAfter(schedule, slot + 1), slot + schedule.intervalMs);
      assert.ok(schedule.phaseMs >= 0 && schedule.phaseMs < schedule.intervalMs);
    }),
  );
});

test('round robin gives each location every nth slot; parallel gives every slot to all', () => {
  const schedule = scheduleOf({ checkId: 'a', frequency: 1, frequencyOffset: 3 });
  const locations = ['x', 'y', 'z'];
  let slot = slotAtOrAfter(schedule, 1_700_000_000_000);
  const turns: string[] = [];
  for (let count = 0; count < 9; count += 1) {
    const where = locationsOfSlot(schedule, slot, locations, false);
    assert.equal(where.length, 1);
    turns.push(where[0] ?? '');
    assert.deepEqual(locationsOfSlot(schedule, slot, locations, true), locations);
    slot += schedule.intervalMs;
  }
  assert.deepEqual(turns.slice(0, 3), turns.slice(3, 6));
  assert.equal(new Set(turns.slice(0, 3)).size, 3);
});

test('the largest offset is ten a minute up to an hour and one an hour above it', () => {
  assert.equal(maxFrequencyOffset(5), 50);
  assert.equal(maxFrequencyOffset(60), 600);
  assert.equal(maxFrequencyOffset(180), 3);
});
