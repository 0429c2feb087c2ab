/**
 * Counts of values by magnitude, in bins so narrow that their middle is within `relativeAccuracy`
 * of every value in them (the mapping of DDSketch). This is own code because the library's `merge`
 * loses negative values, and its protobuf loses minimum and maximum.
 */

/** With it, quantiles are well within one percent. */
export const relativeAccuracy = 0.005;

const gamma = (1 + relativeAccuracy) / (1 - relativeAccuracy);
const binsPerE = 1 / Math.log(gamma);
/** Answers are rounded to a thousandth, so smaller values count as 0. */
const smallest = 1e-6;
const maxKey = Math.ceil(Math.log(1e12) * binsPerE);

/** The bin of a positive magnitude; null when it rounds to 0. Values above 1e12 share one bin. */
export function keyOf(magnitude: number): number | null {
  if (magnitude < smallest) return null;
  return Math.min(maxKey, Math.ceil(Math.log(magnitude) * binsPerE));
}

/** The value that represents a bin. */
export function valueOf(key: number): number {
  return (2 * gamma ** key) / (gamma + 1);
}

/** The non-empty bins by key. Most distributions have few of them. */
export class Bins {
  #keys: number[] = [];
  #counts: number[] = [];
  total = 0;

  get size(): number {
    return this.#keys.length;
  }

  add(key: number, count: number): void {
    this.total += count;
    let low = 0;
    let high = this.#keys.length;
    // Bins usually come in order.
    if (high > 0 && key > (this.#keys[high - 1] ?? 0)) low = high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#keys[middle] ?? 0) < key) low = middle + 1;
      else high = middle;
    }
    if (this.#keys[low] === key) {
      this.#counts[low] = (this.#counts[low] ?? 0) + count;
    } else if (low === this.#keys.length) {
      this.#keys.push(key);
      this.#counts.push(count);
    } else {
      this.#keys.splice(low, 0, key);
      this.#counts.splice(low, 0, count);
    }
  }

  merge(other: Bins): void {
    this.addInOrder(other.#keys, other.#counts, other.size);
  }

  /**
   * Adds the first bins of two lists, which are in the order of their keys. Sums of one check mostly have
   * the same bins, so these are added in place, and only others make the lists longer.
   */
  addInOrder(otherKeys: readonly number[], otherCounts: readonly number[], size: number): void {
    const [keys, counts] = [this.#keys, this.#counts];
    const known = keys.length;
    const missing: number[] = [];
    let at = 0;
    for (let index = 0; index < size; index += 1) {
      const key = otherKeys[index] ?? 0;
      const count = otherCounts[index] ?? 0;
      this.total += count;
      while (at < known && (keys[at] ?? 0) < key) at += 1;
      if (at < known && keys[at] === key) counts[at] = (counts[at] ?? 0) + count;
      else missing.push(index);
    }
    for (const index of missing) {
      keys.push(otherKeys[index] ?? 0);
      counts.push(otherCounts[index] ?? 0);
    }
    // From the end, so that nothing is overwritten before it is moved.
    let from = known - 1;
    let to = keys.length - 1;
    for (let next = missing.length - 1; next >= 0; next -= 1, to -= 1) {
      const index = missing[next] ?? 0;
      const key = otherKeys[index] ?? 0;
      for (; from >= 0 && (keys[from] ?? 0) > key; from -= 1, to -= 1) {
        keys[to] = keys[from] ?? 0;
        counts[to] = counts[from] ?? 0;
      }
      keys[to] = key;
      counts[to] = otherCounts[index] ?? 0;
    }
  }

  each(visit: (key: number, count: number) => void): void {
    for (let index = 0; index < this.#keys.length; index += 1) {
      visit(this.#keys[index] ?? 0, this.#counts[index] ?? 0);
    }
  }

  /** The key of the value of this rank, from 0, by magnitude. */
  keyAtRank(rank: number): number {
    let passed = 0;
    for (let index = 0; index < this.#keys.length; index += 1) {
      passed += this.#counts[index] ?? 0;
      if (passed > rank) return this.#keys[index] ?? 0;
    }
    return this.#keys.at(-1) ?? 0;
  }
}
