/** Queries and chart data for the page of a check. */
import { span } from './format.ts';
import type { QuickRange } from '@monitor/shared/contract/analytics.ts';
import type { Analytics, CheckOverview, NumberFacts } from './contract.ts';
type Point = Analytics['series'][number]['data'][number];
/** Instants (seconds, ascending), then the values of each line at them. */
export type Lines = [number[], ...(number | null | undefined)[][]];
export type Range = keyof typeof ranges;

const hour = 60;
const dayMs = 86_400_000;
export const weekMs = 7 * dayMs;

/** Bucket widths are chosen so that an answer fits into one page. */
export const ranges = {
  last24Hours: { word: '24 hours', interval: hour / 4, ms: dayMs },
  last7Days: { word: '7 days', interval: 2 * hour, ms: 7 * dayMs },
  last30Days: { word: '30 days', interval: 8 * hour, ms: 30 * dayMs },
} satisfies Partial<Record<QuickRange, { word: string; interval: number; ms: number }>>;

/**
 * How long a check can have been watched within a range, in milliseconds: nothing is known of the rest.
 */
export function watchedMs({ createdAt, importedFrom, recentRuns }: CheckOverview, range: Range) {
  const all = [createdAt, importedFrom ?? createdAt, recentRuns.oldestAt ?? createdAt];
  return Math.min(ranges[range].ms, Math.max(1, Date.now() - Math.min(...all.map(Date.parse))));
}

/** That time in words, where it is only a part of the range; empty for less than a minute of it. */
export const partIn = (watched: number, range: Range) =>
  watched < ranges[range].ms && watched >= 60_000 ? `of ${span(watched)}` : '';

/**
 * What availability says of the whole range, of which only a part was watched: what is not known is not
 * down, and not up either.
 * `availability` is in percent of what was watched, `share` is what was watched, in (0, 1].
 */
export function toneOf(availability: number | null | undefined, share: number) {
  if (availability == null) return '';
  const down = (100 - availability) * share;
  if (down <= 0.1) return '';
  return down > 1 ? 'bad' : 'warn';
}

/**
 * The axis of the charts of a check: as long as it was watched, with buckets of so many minutes. `spacing` is
 * the normal distance of two runs of a line.
 */
export interface Axis {
  sinceMs: number;
  interval: number;
  spacing: number;
}
export function axisOf(check: CheckOverview, range: Range): Axis {
  const watched = watchedMs(check, range);
  const interval = Math.ceil((ranges[range].interval * watched) / ranges[range].ms);
  return { sinceMs: Date.now() - watched, interval, spacing: runsEveryMs(check) };
}

/** The queries of the page of a check, by purpose. */
export function queriesOf(facts: NumberFacts, range: Range, interval: number, statistic: string) {
  const times = ['p50', 'p95', 'p99'].map((one) => `${facts.time}_${one}`);
  const window = { quickRange: range, limit: 100 };
  const end = Math.ceil(Date.now() / (interval * 60_000)) * interval * 60_000;
  return {
    summary: {
      ...window,
      metrics: ['availability', 'retries', ...(facts.time === null ? [] : times)].join(','),
    },
    byLocation: {
      ...window,
      metrics: `${facts.time}_${statistic},availability`,
      aggregationInterval: interval,
      groupBy: 'runLocation',
    },
    weekBefore: {
      from: (end - ranges[range].ms - weekMs) / 1000,
      to: (end - weekMs) / 1000,
      limit: 100,
      metrics: `${facts.time}_${statistic}`,
      aggregationInterval: interval,
    },
    events: { from: (end - ranges[range].ms) / 1000, to: end / 1000 },
    parts: {
      ...window,
      metrics: ['availability', ...facts.parts.map(({ name }) => `${name}_avg`)].join(','),
      // Heartbeats have no runs to put into buckets.
      ...(facts.time === null ? {} : { aggregationInterval: interval }),
    },
  };
}

/** The value of a metric; null when nothing was measured. */
export function numberIn(point: Point | undefined, metric: string) {
  const value = point?.[metric];
  return typeof value === 'number' ? value : null;
}

/**
 * Marks missing values: null draws a gap when runs were due, undefined is drawn through when the
 * neighbouring values are as close as runs are.
 */
function withHoles(instants: number[], values: Map<number, number | null>, axis: Axis) {
  const known = instants.filter((at) => values.get(at) != null);
  // Locations that run in parallel have runs more often than those that take turns.
  const gaps = known.slice(1).map((at, index) => at - (known[index] ?? at));
  const usual = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length * 0.75)] ?? 0;
  const holeMs = 1.5 * Math.max(axis.interval * 60_000, Math.min(usual, axis.spacing));
  let next = 0;
  return instants.map((at) => {
    while ((known[next] ?? Infinity) < at) next += 1;
    const value = values.get(at);
    if (value != null) return value;
    const [before, after] = [known[next - 1], known[next]];
    return before === undefined || (after ?? at) - before > holeMs ? null : undefined;
  });
}

/** Lines over common instants (seconds, ascending), one point per bucket. */
export function toLines(
  answer: Analytics,
  axis: Axis,
  lines: { points: Point[]; metric: string }[],
): Lines {
  const stepMs = axis.interval * 60_000;
  const valuesOf = lines.map(
    ({ points, metric }) =>
      new Map(
        points.map((point) => [Date.parse(String(point['startedAt'])), numberIn(point, metric)]),
      ),
  );
  const from = Math.max(Date.parse(answer.from), axis.sinceMs - stepMs);
  const [anchor = from] = valuesOf.flatMap((values) => [...values.keys()].slice(0, 1));
  const first = anchor - Math.floor((anchor - from) / stepMs) * stepMs;
  const instants: number[] = [];
  for (let at = first; at < Date.parse(answer.to); at += stepMs) instants.push(at);
  return [
    instants.map((at) => at / 1000),
    ...valuesOf.map((values) => withHoles(instants, values, axis)),
  ];
}

/** Time between two runs of a check in one location when locations take turns. */
function runsEveryMs({ frequency, frequencyOffset, locations }: CheckOverview) {
  const everyMs = frequency === 0 ? frequencyOffset * 1000 : frequency * 60_000;
  return everyMs * Math.max(1, locations.length);
}
