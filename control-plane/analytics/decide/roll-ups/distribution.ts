/**
 * A compact distribution of the values of one metric, mergeable in any order. Count, sum, extremes
 * and squared deviations are exact; quantiles are within `relativeAccuracy`.
 */
import type { Statistic } from '@monitor/shared/contract/checks/metric.ts';
import { Bins, keyOf, valueOf } from './bins.ts';

export class Distribution {
  count = 0;
  sum = 0;
  /**
   * Sum of squared distances from the mean: squares of the values themselves would lose small
   * differences.
   */
  squaredDeviations = 0;
  min = Infinity;
  max = -Infinity;
  zeros = 0;
  readonly positive = new Bins();
  /** By magnitude. */
  readonly negative = new Bins();

  add(value: number): void {
    this.addMoments(1, value, 0, value, value);
    const key = keyOf(Math.abs(value));
    if (key === null) this.zeros += 1;
    else (value > 0 ? this.positive : this.negative).add(key, 1);
  }

  merge(other: Distribution): void {
    const { count, sum, squaredDeviations, min, max } = other;
    this.addMoments(count, sum, squaredDeviations, min, max);
    this.zeros += other.zeros;
    this.positive.merge(other.positive);
    this.negative.merge(other.negative);
  }

  /** Merges count, sum, extremes and deviations (Chan et al.) without the bins. */
  addMoments(
    count: number,
    sum: number,
    squaredDeviations: number,
    min: number,
    max: number,
  ): void {
    if (count === 0) return;
    if (this.count > 0) {
      const apart = sum / count - this.sum / this.count;
      this.squaredDeviations += (apart * apart * this.count * count) / (this.count + count);
    }
    this.squaredDeviations += squaredDeviations;
    this.count += count;
    this.sum += sum;
    if (min < this.min) this.min = min;
    if (max > this.max) this.max = max;
  }

  #atRank(rank: number): number {
    if (rank <= 0) return this.min;
    if (rank >= this.count - 1) return this.max;
    const below = this.negative.total;
    if (rank < below) return this.#clamped(-valueOf(this.negative.keyAtRank(below - 1 - rank)));
    if (rank < below + this.zeros) return this.#clamped(0);
    return this.#clamped(valueOf(this.positive.keyAtRank(rank - below - this.zeros)));
  }

  /** How many values are at most this one, which is not negative; values count as their bins. */
  countUpTo(limit: number): number {
    let count = this.negative.total + this.zeros;
    this.positive.each((key, ofBin) => {
      if (this.#clamped(valueOf(key)) <= limit) count += ofBin;
    });
    return count;
  }

  #clamped(value: number): number {
    return Math.min(this.max, Math.max(this.min, value));
  }

  /** Interpolated between the two nearest ranks, as for single values. */
  #quantile(share: number): number {
    const rank = (this.count - 1) * share;
    const below = this.#atRank(Math.floor(rank));
    if (Number.isInteger(rank)) return below;
    return below + (this.#atRank(Math.ceil(rank)) - below) * (rank - Math.floor(rank));
  }

  /** One statistic of the values; null of none. `stddev` is that of the population. */
  statistic(name: Statistic): number | null {
    if (this.count === 0) return null;
    switch (name) {
      case 'avg':
        return this.sum / this.count;
      case 'sum':
        return this.sum;
      case 'min':
        return this.min;
      case 'max':
        return this.max;
      case 'stddev':
        return Math.sqrt(this.squaredDeviations / this.count);
      case 'median':
      case 'p50':
        return this.#quantile(0.5);
      case 'p90':
        return this.#quantile(0.9);
      case 'p95':
        return this.#quantile(0.95);
      case 'p99':
        return this.#quantile(0.99);
    }
  }
}
