/**
 * From results to numbers: the window of a request and the aggregates of its results. Instants and
 * durations in milliseconds, days and weeks in UTC unless a zone is named, shares in percent. Spec:
 * Analytics (endpoints); Analytics response.
 */
import { DateTime } from 'luxon';
import type { QuickRange } from '@monitor/shared/contract/analytics.ts';
import type { Metric } from '@monitor/shared/domain/metrics.ts';
import type { Window } from '../../core/decide/results-window.ts';
import { Tally } from './roll-ups/tally.ts';
import { isMeasured, type Group, type Sample } from './samples.ts';

const dayMs = 86_400_000;
/** The first Monday after the epoch: buckets of whole weeks begin on Mondays, of days at midnight. */
const firstMonday = 4 * dayMs;

/** The first midnight of the week or month that an instant lies in, or of the one before it. */
function startOf(unit: 'week' | 'month', now: number, zone: string, back = 0): number {
  return DateTime.fromMillis(now, { zone })
    .startOf(unit)
    .minus({ [unit]: back })
    .toMillis();
}

export const windowsOf: Record<QuickRange, (now: number, zone: string) => Window> = {
  last24Hours: (now) => ({ from: now - dayMs, to: now }),
  last7Days: (now) => ({ from: now - 7 * dayMs, to: now }),
  last30Days: (now) => ({ from: now - 30 * dayMs, to: now }),
  thisWeek: (now, zone) => ({ from: startOf('week', now, zone), to: now }),
  thisMonth: (now, zone) => ({ from: startOf('month', now, zone), to: now }),
  lastWeek: (now, zone) => ({
    from: startOf('week', now, zone, 1),
    to: startOf('week', now, zone),
  }),
  lastMonth: (now, zone) => ({
    from: startOf('month', now, zone, 1),
    to: startOf('month', now, zone),
  }),
};

/**
 * Spec: Analytics, `from`, `to`, `quickRange`. Either end given overrides the range: without `to`
 * the window ends now, without `from` it is a day long. Gives the field that is wrong when the
 * window ends before it begins.
 */
export function analyticsWindow(
  given: { from?: number | undefined; to?: number | undefined; quickRange: QuickRange },
  now: number,
  zone = 'UTC',
): Window | { field: 'from' | 'to'; problem: string } {
  if (given.from === undefined && given.to === undefined) {
    return windowsOf[given.quickRange](now, zone);
  }
  const to = given.to ?? now;
  const from = given.from ?? to - dayMs;
  if (from <= to) return { from, to };
  return given.to === undefined
    ? { field: 'from', problem: 'must not be in the future' }
    : { field: 'to', problem: 'must not be before "from"' };
}

/** Start of the bucket of an instant. It does not depend on the window. */
export function bucketStart(at: number, intervalMs: number): number {
  return firstMonday + Math.floor((at - firstMonday) / intervalMs) * intervalMs;
}

/** Rounds to the microsecond: further digits of a clock are noise. */
export function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 1000) / 1000;
}

/** The aggregates of a tally. An absent tally stands for no results. */
export function aggregate(
  tally: Tally | undefined,
  metrics: readonly Pick<Metric, 'name' | 'base' | 'statistic'>[],
): Record<string, number | null> {
  const ofResults = tally ?? new Tally();
  return Object.fromEntries(
    metrics.flatMap(({ name, base, statistic }): [string, number | null][] =>
      statistic === null ? [] : [[name, rounded(ofResults.number(base, statistic))]],
    ),
  );
}

/** A raw point, a bucket, or the aggregate of a whole window. Raw points and buckets have `startedAt`. */
export type Point = Record<string, string | number | null>;

export interface Series {
  data: Point[];
  group: Group;
}

/** By the key of their span, then by group. */
export type Tallies = ReadonlyMap<number, ReadonlyMap<Group, Tally>>;

function aggregatedPoints(
  tallies: Tallies,
  group: Group,
  metrics: readonly Metric[],
  hasBuckets: boolean,
): Point[] {
  if (!hasBuckets) return [aggregate(tallies.get(0)?.get(group), metrics)];
  return [...tallies]
    .filter(([, groups]) => groups.has(group))
    .sort(([left], [right]) => right - left)
    .map(([start, groups]) => ({
      startedAt: new Date(start).toISOString(),
      ...aggregate(groups.get(group), metrics),
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

function byGroup(left: Group, right: Group): number {
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  return left < right ? -1 : 1;
}

/**
 * The series of an answer: per group, the aggregates and the raw points that were asked for.
 * Samples, points and buckets come newest first. Without grouping there is one group even without
 * results, so that the answer shows that nothing was measured.
 */
export function seriesOf(
  { tallies, samples }: { tallies: Tallies; samples: readonly Sample[] },
  metrics: readonly Metric[],
  { isGrouped, hasBuckets }: { isGrouped: boolean; hasBuckets: boolean },
): Series[] {
  const aggregated = metrics.filter(({ statistic }) => statistic !== null);
  const raw = metrics.filter(({ statistic }) => statistic === null);
  const samplesOf = Map.groupBy(samples, ({ group }) => group);
  const groups = isGrouped
    ? [
        ...new Set([...samplesOf.keys(), ...[...tallies.values()].flatMap((of) => [...of.keys()])]),
      ].sort(byGroup)
    : [null];
  return groups.flatMap((group) => [
    ...(aggregated.length === 0
      ? []
      : [{ group, data: aggregatedPoints(tallies, group, aggregated, hasBuckets) }]),
    ...(raw.length === 0 ? [] : [{ group, data: rawPoints(samplesOf.get(group) ?? [], raw) }]),
  ]);
}
