/** Queries and chart data for the page of a check. */
/** @import { QuickRange } from '@monitor/shared/contract/analytics.ts' */
/** @import { Analytics, CheckOverview, NumberFacts } from './contract.ts' */
/** @typedef {Analytics['series'][number]['data'][number]} Point */
/**
 * Instants (seconds, ascending), then the values of each line at them.
 * @typedef {[number[], ...(number | null | undefined)[][]]} Lines
 */
/** @typedef {keyof typeof ranges} Range */

const hour = 60;

/**
 * Bucket widths are chosen so that an answer fits into one page.
 * @satisfies {Partial<Record<QuickRange, { word: string, interval: number }>>}
 */
export const ranges = {
  last24Hours: { word: '24 hours', interval: hour / 4 },
  last7Days: { word: '7 days', interval: 2 * hour },
  last30Days: { word: '30 days', interval: 8 * hour },
};

/**
 * The queries of the page of a check, by purpose.
 * @param {NumberFacts} facts
 * @param {Range} range
 * @param {string} statistic
 */
export function queriesOf(facts, range, statistic) {
  const { interval } = ranges[range];
  const times = ['p50', 'p95', 'p99'].map((one) => `${facts.time}_${one}`);
  const window = { quickRange: range, limit: 100 };
  return {
    summary: {
      ...window,
      metrics: ['availability', 'retries', ...(facts.time === null ? [] : times)].join(','),
    },
    byLocation: {
      ...window,
      metrics: `${facts.time}_${statistic}`,
      aggregationInterval: interval,
      groupBy: 'runLocation',
    },
    parts: {
      ...window,
      metrics: ['availability', ...facts.parts.map(({ name }) => `${name}_avg`)].join(','),
      // Heartbeats have no runs to put into buckets.
      ...(facts.time === null ? {} : { aggregationInterval: interval }),
    },
  };
}

/**
 * The value of a metric; null when nothing was measured.
 * @param {Point | undefined} point
 * @param {string} metric
 */
export function numberIn(point, metric) {
  const value = point?.[metric];
  return typeof value === 'number' ? value : null;
}

/**
 * Marks missing values: null draws a gap when runs were due, undefined is drawn through when the
 * neighbouring values are as close as runs are.
 * @param {number[]} instants
 * @param {Map<number, number | null>} values
 * @param {number} holeMs
 */
function withHoles(instants, values, holeMs) {
  const known = instants.filter((at) => values.get(at) != null);
  let next = 0;
  return instants.map((at) => {
    while ((known[next] ?? Infinity) < at) next += 1;
    const value = values.get(at);
    if (value != null) return value;
    const [before, after] = [known[next - 1], known[next]];
    return before === undefined || after === undefined || after - before > holeMs
      ? null
      : undefined;
  });
}

/**
 * Lines over common instants (seconds, ascending), one point per `intervalMinutes`. `runsEveryMs`
 * is the normal distance of two runs of a line.
 * @param {Analytics} answer
 * @param {number} intervalMinutes
 * @param {number} runsEveryMs
 * @param {{ points: Point[], metric: string }[]} lines
 * @returns {Lines}
 */
export function toLines(answer, intervalMinutes, runsEveryMs, lines) {
  const stepMs = intervalMinutes * 60_000;
  const valuesOf = lines.map(
    ({ points, metric }) =>
      new Map(
        points.map((point) => [Date.parse(String(point['startedAt'])), numberIn(point, metric)]),
      ),
  );
  const from = Date.parse(answer.from);
  const [anchor = from] = valuesOf.flatMap((values) => [...values.keys()].slice(0, 1));
  const first = anchor - Math.floor((anchor - from) / stepMs) * stepMs;
  /** @type {number[]} */
  const instants = [];
  for (let at = first; at < Date.parse(answer.to); at += stepMs) instants.push(at);
  const holeMs = 3 * Math.max(stepMs, runsEveryMs);
  return [
    instants.map((at) => at / 1000),
    ...valuesOf.map((values) => withHoles(instants, values, holeMs)),
  ];
}

/**
 * Time between two runs of a check in one location when locations take turns.
 * @param {CheckOverview} check
 */
export function runsEveryMs({ frequency, frequencyOffset, locations }) {
  const everyMs = frequency === 0 ? frequencyOffset * 1000 : frequency * 60_000;
  return everyMs * Math.max(1, locations.length);
}
