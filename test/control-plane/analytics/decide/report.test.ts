import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { granularities } from '@monitor/shared/contract/reporting.ts';
import {
  coveredMs,
  reportBuckets,
  serviceLevel,
  spansWithout,
} from '../../../../control-plane/analytics/decide/report.ts';

const at = (text: string): number => Date.parse(text);
const hour = 3_600_000;
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe'];

function bucketsOf(...given: Parameters<typeof reportBuckets>) {
  const buckets = reportBuckets(...given);
  assert.ok(Array.isArray(buckets), JSON.stringify(buckets));
  return buckets;
}

test('a day in which clocks change has 23 or 25 hours', () => {
  const spring = { from: at('2026-03-27T23:00:00Z'), to: at('2026-03-30T22:00:00Z') };
  assert.deepEqual(
    bucketsOf(spring, 'day', 'Europe/Berlin').map(({ from, to }) => (to - from) / hour),
    [24, 23, 24],
  );
  const autumn = { from: at('2026-10-31T04:00:00Z'), to: at('2026-11-02T05:00:00Z') };
  assert.deepEqual(
    bucketsOf(autumn, 'day', 'America/New_York').map(({ from, to }) => (to - from) / hour),
    [24, 25],
  );
});

test('weeks begin on Mondays and months on the first, at midnight of the zone', () => {
  const window = { from: at('2026-11-10T12:00:00Z'), to: at('2026-12-05T12:00:00Z') };
  assert.deepEqual(
    bucketsOf(window, 'week', 'Asia/Kolkata').map(({ from }) => new Date(from).toISOString()),
    [
      '2026-11-10T12:00:00.000Z',
      '2026-11-15T18:30:00.000Z',
      '2026-11-22T18:30:00.000Z',
      '2026-11-29T18:30:00.000Z',
    ],
  );
  assert.deepEqual(
    bucketsOf(window, 'month', 'Asia/Kolkata').map(({ from, to }) => [from, to]),
    [
      [window.from, at('2026-11-30T18:30:00Z')],
      [at('2026-11-30T18:30:00Z'), window.to],
    ],
  );
});

test('in every zone, buckets follow each other without a gap and fill the window', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: at('2015-01-01'), max: at('2040-01-01') }),
      fc.integer({ min: 1, max: 100 * 24 * hour }),
      fc.constantFrom(...granularities),
      fc.constantFrom(...zones),
      (from, length, granularity, zone) => {
        const window = { from, to: from + length };
        const buckets = bucketsOf(window, granularity, zone);
        assert.equal(buckets[0]?.from, window.from);
        assert.equal(buckets.at(-1)?.to, window.to);
        for (const [index, bucket] of buckets.entries()) {
          assert.ok(bucket.from < bucket.to);
          if (index > 0) assert.equal(bucket.from, buckets[index - 1]?.to);
        }
      },
    ),
  );
});

test('too long a window and too many buckets are refused by the field that asks for them', () => {
  const to = at('2026-11-21T00:00:00Z');
  const fieldOf = (days: number, granularity: 'day' | 'week') => {
    const answer = reportBuckets({ from: to - days * 24 * hour, to }, granularity, 'UTC');
    return Array.isArray(answer) ? answer.length : answer.field;
  };
  assert.equal(fieldOf(120, 'day'), 120);
  assert.equal(fieldOf(121, 'day'), 'granularity');
  assert.equal(fieldOf(400, 'week'), 58);
  assert.equal(fieldOf(401, 'week'), 'from');
});

test('maintenance is cut out of buckets, however it lies', () => {
  const buckets = [
    { from: 0, to: 100 },
    { from: 100, to: 200 },
  ];
  const cut = (...holes: [number, number][]) =>
    spansWithout(
      buckets,
      holes.map(([startsAt, endsAt]) => ({ startsAt, endsAt })),
    ).map(({ from, to, key }) => [from, to, key]);
  assert.deepEqual(cut(), [
    [0, 100, 0],
    [100, 200, 1],
  ]);
  assert.deepEqual(cut([80, 120]), [
    [0, 80, 0],
    [120, 200, 1],
  ]);
  assert.deepEqual(cut([10, 20], [15, 30], [20, 25]), [
    [0, 10, 0],
    [30, 100, 0],
    [100, 200, 1],
  ]);
  assert.deepEqual(cut([-50, 300]), []);
  assert.deepEqual(cut([100, 200]), [[0, 100, 0]]);
});

test('a check is covered from when it exists until now', () => {
  const spans = [
    { from: 0, to: 100 },
    { from: 200, to: 300 },
  ];
  assert.equal(coveredMs(spans, 0, 1000), 200);
  assert.equal(coveredMs(spans, 50, 250), 100);
  assert.equal(coveredMs(spans, 500, 1000), 0);
});

test('of 30 days, 99.9 percent allow 43.2 minutes', () => {
  const month = 30 * 24 * hour;
  assert.deepEqual(serviceLevel(99.9, 99.95, month), {
    target: 99.9,
    isMet: true,
    downtimeMinutes: 21.6,
    errorBudget: {
      allowedMinutes: 43.2,
      usedMinutes: 21.6,
      remainingMinutes: 21.6,
      usedPercent: 50,
    },
  });
  const missed = serviceLevel(99.9, 99, month);
  assert.equal(missed?.isMet, false);
  assert.equal(missed.errorBudget.remainingMinutes, -388.8);
  assert.equal(serviceLevel(100, 100, month)?.errorBudget.usedPercent, null);
  assert.equal(serviceLevel(99.9, null, month), null);
});
