/**
 * From results to numbers: the window a request covers, and what many results amount to. Instants and
 * durations in milliseconds, days and weeks in UTC, shares in percent. Spec: Analytics (endpoints);
 * Analytics response.
 */
import type { QuickRange } from '@monitor/shared/contract/analytics.ts';
import type { BaseMetric, MeasuredMetric, Metric } from '@monitor/shared/domain/metrics.ts';
import type { Window } from './results-window.ts';
import { isMeasured, type Group, type Sample } from './samples.ts';
import { statisticOf } from './statistics.ts';

const dayMs = 86_400_000;
/** The first Monday after the epoch: buckets of whole weeks begin on Mondays, of days at midnight. */
const firstMonday = 4 * dayMs;

function mondayOf(now: number): number {
  return bucketStart(now, 7 * dayMs);
}

/** The first instant of the month of `now`, or of the one so many months later. */
function monthOf(now: number, later = 0): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1);
}

const windowsOf: Record<QuickRange, (now: number) => Window> = {
  last24Hours: (now) => ({ from: now - dayMs, to: now }),
  last7Days: (now) => ({ from: now - 7 * dayMs, to: now }),
  last30Days: (now) => ({ from: now - 30 * dayMs, to: now }),
  thisWeek: (now) => ({ from: mondayOf(now), to: now }),
  thisMonth: (now) => ({ from: monthOf(now), to: now }),
  lastWeek: (now) => ({ from: mondayOf(now) - 7 * dayMs, to: mondayOf(now) }),
  lastMonth: (now) => ({ from: monthOf(now, -1), to: monthOf(now) }),
};

/**
 * Spec: Analytics, `from`, `to`, `quickRange`. Either end given overrides the range: without `to`
 * the window ends now, without `from` it is a day long. Gives the field that is wrong when the
 * window ends before it begins.
 */
export function analyticsWindow(
  given: { from?: number | undefined; to?: number | undefined; quickRange: QuickRange },
  now: number,
): Window | { field: 'from' | 'to'; problem: string } {
  if (given.from === undefined && given.to === undefined) return windowsOf[given.quickRange](now);
  const to = given.to ?? now;
  const from = given.from ?? to - dayMs;
  if (from <= to) return { from, to };
  return given.to === undefined
    ? { field: 'from', problem: 'must not be in the future' }
    : { field: 'to', problem: 'must not be before "from"' };
}

/** When the bucket of an instant begins. Buckets do not move with the window. */
export function bucketStart(at: number, intervalMs: number): number {
  return firstMonday + Math.floor((at - firstMonday) / intervalMs) * intervalMs;
}

/** To the microsecond; what a clock gives beyond that is noise. */
function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 1000) / 1000;
}

/** Metrics that count outcomes rather than values. */
const countedOf: Record<
  Exclude<BaseMetric, MeasuredMetric>,
  (samples: readonly Sample[]) => number | null
> = {
  availability: (samples) =>
    statisticOf(
      samples.filter(({ isFinal }) => isFinal).map(({ hasFailures }) => (hasFailures ? 0 : 100)),
      'avg',
    ),
  retries: (samples) => samples.filter(({ isFinal }) => !isFinal).length,
};

/** What samples amount to: a value for each metric that is an aggregate. */
export function aggregate(
  samples: readonly Sample[],
  metrics: readonly Pick<Metric, 'name' | 'base' | 'statistic'>[],
): Record<string, number | null> {
  const numbers = metrics.flatMap(({ name, base, statistic }): [string, number | null][] => {
    if (!isMeasured(base)) return [[name, rounded(countedOf[base](samples))]];
    if (statistic === null) return [];
    const values = samples.flatMap((sample) => sample.values[base] ?? []);
    return [[name, rounded(statisticOf(values, statistic))]];
  });
  return Object.fromEntries(numbers);
}

/** A raw point, a bucket, or the only aggregate of a window; the former two with `startedAt`. */
export type Point = Record<string, string | number | null>;

export interface Series {
  data: Point[];
  group: Group;
}

function aggregatedPoints(
  samples: readonly Sample[],
  metrics: readonly Metric[],
  intervalMs: number | null,
): Point[] {
  if (intervalMs === null) return [aggregate(samples, metrics)];
  const buckets = Map.groupBy(samples, ({ startedAt }) => bucketStart(startedAt, intervalMs));
  return [...buckets].map(([start, members]) => ({
    startedAt: new Date(start).toISOString(),
    ...aggregate(members, metrics),
  }));
}

function rawPoints(samples: readonly Sample[], metrics: readonly Metric[]): Point[] {
  return samples
    .filter(({ isFinal }) => isFinal)
    .map(({ startedAt, values }) => ({
      startedAt: new Date(startedAt).toISOString(),
      ...Object.fromEntries(
        metrics.map(({ name, base }) => [
          name,
          isMeasured(base) ? rounded(values[base] ?? null) : null,
        ]),
      ),
    }));
}

function byGroup([left]: [Group, unknown], [right]: [Group, unknown]): number {
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  return left < right ? -1 : 1;
}

/**
 * The series of an answer: for each group, the aggregates and then the raw points, as far as either
 * is asked for. Samples come newest first, and so do points and buckets. Without grouping there is
 * one group even when there are no samples, so that "nothing was measured" is said.
 */
export function seriesOf(
  samples: readonly Sample[],
  metrics: readonly Metric[],
  isGrouped: boolean,
  intervalMs: number | null,
): Series[] {
  const aggregated = metrics.filter(({ statistic }) => statistic !== null);
  const raw = metrics.filter(({ statistic }) => statistic === null);
  const groups: [Group, readonly Sample[]][] = isGrouped
    ? [...Map.groupBy(samples, ({ group }) => group)].sort(byGroup)
    : [[null, samples]];
  return groups.flatMap(([group, members]) => [
    ...(aggregated.length === 0
      ? []
      : [{ group, data: aggregatedPoints(members, aggregated, intervalMs) }]),
    ...(raw.length === 0 ? [] : [{ group, data: rawPoints(members, raw) }]),
  ]);
}
