/** Statistics as metrics have them. Spec: Metric identifiers. */
import type { Statistic } from '@monitor/shared/domain/metrics.ts';

export function mean(values: ArrayLike<number>): number {
  return sum(values) / values.length;
}

function sum(values: ArrayLike<number>): number {
  return Array.from(values).reduce((total, value) => total + value, 0);
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

/** One statistic of some values; null of none. `stddev` is that of the population. */
export function statisticOf(values: readonly number[], statistic: Statistic): number | null {
  return values.length === 0 ? null : statisticsOf[statistic](Float64Array.from(values).sort());
}
