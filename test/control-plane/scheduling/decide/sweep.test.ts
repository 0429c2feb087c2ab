import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  accountedUntil,
  slotsToAccountFor,
  type SchedulePeriod,
} from '../../../../control-plane/scheduling/decide/sweep.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const minute = 60_000;

const period = fc.record({
  checkId: fc.uuid(),
  timing: fc.constantFrom([0, 10], [1, 3], [5, 50], [60, 600], [720, 2]),
  runParallel: fc.boolean(),
  lengthMs: fc.option(fc.nat(300 * minute)),
});

test('however a period is swept, each of its slots is accounted for once', () => {
  fc.assert(
    fc.property(
      period,
      fc.array(fc.integer({ min: 1, max: 90 * minute }), { minLength: 1, maxLength: 12 }),
      ({ checkId, timing: [frequency = 0, frequencyOffset = 0], runParallel, lengthMs }, steps) => {
        const whole: SchedulePeriod = {
          checkId,
          frequency,
          frequencyOffset,
          runParallel,
          locations: ['a', 'b', 'c'],
          startsAt: start,
          endsAt: lengthMs === null ? null : start + lengthMs,
          sweptUntil: start,
        };
        let { sweptUntil } = whole;
        let until = start;
        const found: string[] = [];
        for (const step of steps) {
          until += step;
          if (sweptUntil >= until) continue;
          const swept = { ...whole, sweptUntil };
          const slots = slotsToAccountFor(swept, until);
          found.push(...slots.map(({ location, scheduledFor }) => `${location}@${scheduledFor}`));
          sweptUntil = accountedUntil(swept, until);
        }
        const expected = slotsToAccountFor(whole, until).map(
          ({ location, scheduledFor }) => `${location}@${scheduledFor}`,
        );
        assert.deepEqual(found, expected);
      },
    ),
  );
});

test('between two slots there is nothing to look at', () => {
  const swept = {
    checkId: '0b0cbb6e-9d6c-4a3c-8a53-1f5f64d8e7a1',
    frequency: 10,
    frequencyOffset: 1,
    runParallel: false,
    locations: ['a'],
    startsAt: start,
    endsAt: null,
    sweptUntil: start,
  };
  const until = accountedUntil(swept, start);
  assert.ok(until >= start && until < start + 10 * minute);
  assert.deepEqual(slotsToAccountFor(swept, until), []);
  const [next, ...further] = slotsToAccountFor({ ...swept, sweptUntil: until }, until + 1);
  assert.deepEqual([next?.scheduledFor, further], [until + 1, []]);
});
