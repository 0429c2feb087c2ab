/** Statistics of metrics. Spec: Metric identifiers. */
import type { Statistic } from '@monitor/shared/contract/checks/metric.ts';

export function mean(values: ArrayLike<number>): number {
  return sum(values) / values.length;
}

function sum(values: ArrayLike<number>): number {
  let total = 0;
  for (let index = 0; index < values.length; index += 1) total += values[index] ?? 0;
  return total;
}

/** Of sorted values, interpolated between the two nearest ranks. */
function quantile(sorted: Float64Array, share: number): number {
  const rank = (sorted.length - 1) * share;
  const below = sorted.at(Math.floor(rank)) ?? Number.NaN;
  const above = sorted.at(Math.ceil(rank)) ?? Number.NaN;
  return below + (above - below) * (rank - Math.floor(rank));
}

const statisticsOf: Record<Statistic, (sorted: Float64Array) => number> = {
  avg: mean,
  max: (sorted) => quantile(sorted, 1),
  median: (sorted) => quantile(sorted, 0.5),
  min: (sorted) => quantile(sorted, 0),
  p50: (sorted) => quantile(sorted, 0.5),
  p90: (sorted) => quantile(sorted, 0.9),
  p95: (sorted) => quantile(sorted, 0.95),
  p99: (sorted) => quantile(sorted, 0.99),
  stddev: (sorted) => {
    const average = mean(sorted);
    return Math.sqrt(mean(sorted.map((value) => (value - average) ** 2)));
  },
  sum,
};

/** One statistic of values in ascending order; null of none. `stddev` is that of the population. */
export function statisticOfSorted(sorted: Float64Array, statistic: Statistic): number | null {
  return sorted.length === 0 ? null : statisticsOf[statistic](sorted);
}
