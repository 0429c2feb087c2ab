/** The aggregate of one span and group, from sums and from single results. */
import type { Statistic } from '@monitor/shared/contract/checks/metric.ts';
import { isMeasured, type Sample } from '../samples.ts';
import { statisticOfSorted } from '../statistics.ts';
import { unpackInto, type Distributions } from './packing.ts';

interface Sums {
  finals: number;
  failures: number;
  retries: number;
  /** Packed distributions; null when no measured metric is asked for. */
  metrics: Uint8Array | null;
}

export class Tally {
  finals = 0;
  failures = 0;
  retries = 0;
  /** Uptime in percent, for types whose availability is a share of time instead of results. */
  timeUp: number | null | undefined;
  readonly #rolledUp: Distributions = new Map();
  readonly #values = new Map<string, number[]>();
  readonly #sorted = new Map<string, Float64Array>();

  addSums(sums: Sums, wanted: ReadonlySet<string>): void {
    this.finals += sums.finals;
    this.failures += sums.failures;
    this.retries += sums.retries;
    if (sums.metrics !== null) unpackInto(sums.metrics, this.#rolledUp, wanted);
  }

  addSample({ isFinal, hasFailures, values }: Sample): void {
    if (isFinal) this.finals += 1;
    else this.retries += 1;
    if (isFinal && hasFailures) this.failures += 1;
    for (const [metric, value] of Object.entries(values)) {
      if (value === null) continue;
      const known = this.#values.get(metric);
      if (known === undefined) this.#values.set(metric, [value]);
      else known.push(value);
    }
  }

  /** Merges another tally, which must not be used afterwards. */
  merge(other: Tally): void {
    this.finals += other.finals;
    this.failures += other.failures;
    this.retries += other.retries;
    for (const [metric, values] of other.#rolledUp) {
      const known = this.#rolledUp.get(metric);
      if (known === undefined) this.#rolledUp.set(metric, values);
      else known.merge(values);
    }
    for (const [metric, values] of other.#values) {
      this.#values.set(metric, [...(this.#values.get(metric) ?? []), ...values]);
    }
  }

  /** Exact for single results; with sums, quantiles are within one percent. */
  #measured(metric: string, statistic: Statistic): number | null {
    const rolledUp = this.#rolledUp.get(metric);
    const values = this.#values.get(metric);
    if (rolledUp !== undefined) {
      for (const value of values ?? []) rolledUp.add(value);
      this.#values.delete(metric);
      return rolledUp.statistic(statistic);
    }
    if (values === undefined) return null;
    let sorted = this.#sorted.get(metric);
    if (sorted?.length !== values.length) {
      sorted = Float64Array.from(values).sort();
      this.#sorted.set(metric, sorted);
    }
    return statisticOfSorted(sorted, statistic);
  }

  /**
   * Availability in percent: the share of time, or else of FINAL results without failures; null
   * without any.
   */
  get availability(): number | null {
    if (this.timeUp !== undefined) return this.timeUp;
    return this.finals === 0 ? null : (100 * (this.finals - this.failures)) / this.finals;
  }

  /** One number; null without values. */
  number(base: string, statistic: Statistic): number | null {
    if (isMeasured(base)) return this.#measured(base, statistic);
    return base === 'availability' ? this.availability : this.retries;
  }
}
