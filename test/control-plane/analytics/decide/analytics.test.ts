import { groupings } from '@monitor/shared/contract/checks/metric.ts';
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { QuickRange } from '@monitor/shared/contract/analytics.ts';
import { statistics, type Statistic } from '@monitor/shared/contract/checks/metric.ts';
import { analyticsOf, metricsOf } from '@monitor/shared/domain/metrics.ts';
import {
  aggregate,
  analyticsWindow,
  bucketStart,
  seriesOf,
} from '../../../../control-plane/analytics/decide/analytics.ts';
import {
  samplesOf,
  type StoredResult,
} from '../../../../control-plane/analytics/decide/samples.ts';
import { statisticOfSorted } from '../../../../control-plane/analytics/decide/statistics.ts';
import { Tally } from '../../../../control-plane/analytics/decide/roll-ups/tally.ts';

const dayMs = 86_400_000;
const at = (text: string): number => Date.parse(text);

const values = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), {
  minLength: 1,
  maxLength: 60,
});

const statisticOf = (given: readonly number[], statistic: Statistic): number | null =>
  statisticOfSorted(Float64Array.from(given).sort(), statistic);

/** By selection, without sorting: the smallest value that so many others do not exceed. */
function ranked(of: readonly number[], rank: number): number {
  return of.reduce((best, candidate) => {
    const notAbove = of.filter((value) => value <= candidate).length;
    return notAbove > rank && candidate < best ? candidate : best;
  }, Infinity);
}

function quantileBySelection(of: readonly number[], percent: number): number {
  const hundredths = (of.length - 1) * percent;
  const below = ranked(of, Math.floor(hundredths / 100));
  const above = ranked(of, Math.ceil(hundredths / 100));
  const part = (hundredths % 100) / 100;
  return below * (1 - part) + above * part;
}

/** Computed in another way than the code does: Welford's running moments, selection for ranks. */
const independently: Record<Statistic, (of: readonly number[]) => number> = {
  avg: (of) => moments(of).mean,
  max: (of) => Math.max(...of),
  median: (of) => quantileBySelection(of, 50),
  min: (of) => Math.min(...of),
  p50: (of) => quantileBySelection(of, 50),
  p90: (of) => quantileBySelection(of, 90),
  p95: (of) => quantileBySelection(of, 95),
  p99: (of) => quantileBySelection(of, 99),
  stddev: (of) => Math.sqrt(moments(of).squares / of.length),
  sum: (of) => moments(of).mean * of.length,
};

function moments(of: readonly number[]): { mean: number; squares: number } {
  let mean = 0;
  let squares = 0;
  for (const [index, value] of of.entries()) {
    const before = value - mean;
    mean += before / (index + 1);
    squares += before * (value - mean);
  }
  return { mean, squares };
}

test('every statistic equals an independent computation, whatever the order', () => {
  fc.assert(
    fc.property(values, fc.constantFrom(...statistics), (given, statistic) => {
      const expected = independently[statistic](given);
      const actual = statisticOf(given, statistic);
      assert.ok(actual !== null);
      // The running moments lose some digits where values are large and nearly alike.
      const tolerance = 1e-9 * (1 + Math.max(...given)) * given.length;
      assert.ok(
        Math.abs(actual - expected) <= (statistic === 'stddev' ? 1e-3 : tolerance),
        `${statistic}: ${actual}, expected ${expected}`,
      );
      assert.equal(statisticOf(given.toReversed(), statistic), actual);
    }),
  );
});

test('nothing has no statistic, not even a sum', () => {
  for (const statistic of statistics) assert.equal(statisticOf([], statistic), null);
});

test('ranges know weeks that begin on Mondays, months of any length and the turn of the year', () => {
  const rows: [now: string, QuickRange, from: string, to: string][] = [
    ['2026-11-21T08:30:00Z', 'last24Hours', '2026-11-20T08:30:00Z', '2026-11-21T08:30:00Z'],
    ['2026-03-03T01:00:00Z', 'last7Days', '2026-02-24T01:00:00Z', '2026-03-03T01:00:00Z'],
    ['2027-01-10T12:00:00Z', 'last30Days', '2026-12-11T12:00:00Z', '2027-01-10T12:00:00Z'],
    ['2026-11-21T08:30:00Z', 'thisWeek', '2026-11-16T00:00:00Z', '2026-11-21T08:30:00Z'],
    ['2026-11-22T23:59:59Z', 'thisWeek', '2026-11-16T00:00:00Z', '2026-11-22T23:59:59Z'],
    ['2026-11-23T00:00:00Z', 'thisWeek', '2026-11-23T00:00:00Z', '2026-11-23T00:00:00Z'],
    ['2027-01-02T09:00:00Z', 'thisWeek', '2026-12-28T00:00:00Z', '2027-01-02T09:00:00Z'],
    ['2027-01-02T09:00:00Z', 'lastWeek', '2026-12-21T00:00:00Z', '2026-12-28T00:00:00Z'],
    ['2024-03-01T00:00:00Z', 'thisMonth', '2024-03-01T00:00:00Z', '2024-03-01T00:00:00Z'],
    ['2024-03-31T12:00:00Z', 'lastMonth', '2024-02-01T00:00:00Z', '2024-03-01T00:00:00Z'],
    ['2026-03-31T12:00:00Z', 'lastMonth', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z'],
    ['2027-01-31T23:00:00Z', 'lastMonth', '2026-12-01T00:00:00Z', '2027-01-01T00:00:00Z'],
  ];
  for (const [now, quickRange, from, to] of rows) {
    assert.deepEqual(
      analyticsWindow({ quickRange }, at(now)),
      { from: at(from), to: at(to) },
      `${quickRange} at ${now}`,
    );
  }
});

test('at any time, ranges touch: last week and this one, last month and this one', () => {
  const instants = fc.integer({ min: at('1999-01-01'), max: at('2060-01-01') });
  fc.assert(
    fc.property(instants, (now) => {
      const range = (quickRange: QuickRange) => {
        const window = analyticsWindow({ quickRange }, now);
        assert.ok('from' in window);
        return window;
      };
      const week = range('lastWeek');
      assert.equal(week.to, range('thisWeek').from);
      assert.equal(week.to - week.from, 7 * dayMs);
      assert.match(new Date(week.from).toUTCString(), /^Mon, .* 00:00:00 GMT$/);
      assert.ok(range('thisWeek').from <= now && now - range('thisWeek').from < 7 * dayMs);
      const month = range('lastMonth');
      assert.equal(month.to, range('thisMonth').from);
      assert.match(new Date(month.from).toISOString(), /-01T00:00:00\.000Z$/);
      assert.ok(month.to - month.from >= 28 * dayMs && month.to - month.from <= 31 * dayMs);
      assert.equal(range('thisMonth').from, at(new Date(now).toISOString().slice(0, 7)));
    }),
  );
});

test('ends that are given override the range, and must be in order', () => {
  const now = at('2026-11-21T08:00:00Z');
  const windowOf = (from?: number, to?: number) =>
    analyticsWindow({ from, to, quickRange: 'lastMonth' }, now);
  assert.deepEqual(windowOf(5, 9), { from: 5, to: 9 });
  assert.deepEqual(windowOf(9, 9), { from: 9, to: 9 });
  assert.deepEqual(windowOf(now - 5), { from: now - 5, to: now });
  assert.deepEqual(windowOf(undefined, 5 * dayMs), { from: 4 * dayMs, to: 5 * dayMs });
  assert.equal((windowOf(9, 5) as { field: string }).field, 'to');
  assert.equal((windowOf(now + 1) as { field: string }).field, 'from');
});

test('buckets hold their instants, do not overlap, and begin with hours, days and Mondays', () => {
  const instants = fc.integer({ min: 0, max: at('2060-01-01') });
  const minutes = fc.integer({ min: 1, max: 43_200 });
  fc.assert(
    fc.property(instants, minutes, (instant, interval) => {
      const start = bucketStart(instant, interval * 60_000);
      assert.ok(start <= instant && instant - start < interval * 60_000);
      assert.equal(bucketStart(start, interval * 60_000), start);
    }),
  );
  const now = at('2026-11-21T08:47:00Z');
  assert.equal(bucketStart(now, 3_600_000), at('2026-11-21T08:00:00Z'));
  assert.equal(bucketStart(now, dayMs), at('2026-11-21T00:00:00Z'));
  assert.equal(bucketStart(now, 7 * dayMs), at('2026-11-16T00:00:00Z'));
});

function stored(fields: Partial<StoredResult> = {}): StoredResult {
  return {
    startedAt: 0,
    isFinal: true,
    hasFailures: false,
    runLocation: 'eu-west-1',
    responseTimeMs: 100,
    payload: undefined,
    ...fields,
  };
}

test('payloads of any shape give numbers or nothing', () => {
  const bases = [
    ...new Set(
      Object.values(analyticsOf)
        .flatMap(metricsOf)
        .map(({ base }) => base),
    ),
  ];
  const payloads = fc.oneof(
    fc.jsonValue(),
    fc.record({
      response: fc.oneof(fc.jsonValue(), fc.record({ timingPhases: fc.jsonValue() })),
      pages: fc.oneof(fc.jsonValue(), fc.array(fc.record({ webVitals: fc.jsonValue() }))),
      tests: fc.oneof(fc.jsonValue(), fc.array(fc.record({ outcome: fc.jsonValue() }))),
    }),
  );
  fc.assert(
    fc.property(payloads, fc.constantFrom(undefined, ...groupings), (payload, groupBy) => {
      for (const { values } of samplesOf(stored({ payload }), bases, groupBy)) {
        for (const value of Object.values(values)) {
          assert.ok(value === null || Number.isFinite(value));
        }
      }
    }),
  );
});

test('a failure that was never timed has no response time; a fast pass has one', () => {
  const timeOf = (fields: Partial<StoredResult>) =>
    samplesOf(stored(fields), ['responseTime'], undefined)[0]?.values['responseTime'];
  assert.equal(timeOf({ hasFailures: true, responseTimeMs: 0 }), null);
  assert.equal(timeOf({ hasFailures: true, responseTimeMs: 7 }), 7);
  assert.equal(timeOf({ responseTimeMs: 0 }), 0);
  assert.equal(timeOf({ isFinal: false }), undefined);
});

test('availability lies between 0 and 100 and never rounds a failure away', () => {
  const availability = [{ name: 'a', base: 'availability', statistic: 'avg' }] as const;
  const tally = new Tally();
  for (let index = 0; index < 50_000; index += 1) {
    for (const sample of samplesOf(stored({ hasFailures: index === 7 }), [], undefined)) {
      tally.addSample(sample);
    }
  }
  assert.deepEqual(aggregate(tally, availability), { a: 99.998 });
  assert.deepEqual(aggregate(undefined, availability), { a: null });
});

test('series: without results there is one that says so, unless it would be of some group', () => {
  const metrics = metricsOf(analyticsOf.URL).filter(({ name }) =>
    ['availability', 'retries', 'responseTime', 'wait_sum'].includes(name),
  );
  const nothing = { tallies: new Map(), samples: [] };
  assert.deepEqual(seriesOf(nothing, metrics, { isGrouped: false, hasBuckets: false }), [
    { group: null, data: [{ wait_sum: null, availability: null, retries: 0 }] },
    { group: null, data: [] },
  ]);
  assert.deepEqual(seriesOf(nothing, metrics, { isGrouped: true, hasBuckets: false }), []);
  const [buckets] = seriesOf(nothing, metrics, { isGrouped: false, hasBuckets: true });
  assert.deepEqual(buckets?.data, []);
});
