/**
 * Finds many needles in bytes at once, after Wu and Manber: a window as long as the shortest needle
 * moves over the text, and three bytes at its end say how far it can move without missing anything.
 * Most bytes are never looked at; more needles cost little.
 *
 * What is found are regions: every byte of every occurrence belongs to one, and occurrences that
 * overlap make one region together. So nothing of a secret stays behind because another one began
 * a byte before it.
 */

const blockSize = 3;
const maxWindow = 16;
/** Needles shorter than this are searched on their own, so that they do not slow down the others. */
const shortNeedle = 8;

/** Pairs of numbers: where a region begins, and the position after its end. */
export type Regions = readonly number[];

const none: Regions = [];

function hash(first: number, second: number, third: number, mask: number): number {
  return ((first << 10) ^ (second << 5) ^ third) & mask;
}

/** True when the bytes of the needle from `from` on are those at `at` and following. */
function continues(text: Uint8Array, at: number, needle: Buffer, from: number): boolean {
  const { length } = needle;
  // The native comparison wins only where there is much to compare.
  if (length - from > 64) return needle.compare(text, at + from, at + length, from, length) === 0;
  for (let index = from; index < length; index += 1) {
    if (needle[index] !== text[at + index]) return false;
  }
  return true;
}

/** Needles of similar length, searched in one pass. */
class NeedleTable {
  readonly #window: number;
  readonly #mask: number;
  readonly #shift: Uint8Array;
  /** Needles by the last block of their window, the longest first. */
  readonly #buckets = new Map<number, Buffer[]>();

  /** `needles` are sorted, the longest first. */
  constructor(needles: readonly Buffer[]) {
    this.#window = Math.min(needles.at(-1)?.length ?? maxWindow, maxWindow);
    const size = needles.length * this.#window > 8_192 ? 1 << 18 : 1 << 16;
    this.#mask = size - 1;
    this.#shift = new Uint8Array(size).fill(this.#window - blockSize + 1);
    for (const needle of needles) this.#enter(needle);
  }

  #enter(needle: Buffer): void {
    for (let end = blockSize - 1; end < this.#window; end += 1) {
      const key = this.#key(needle, end);
      const distance = this.#window - 1 - end;
      this.#shift[key] = Math.min(this.#shift[key] ?? 0, distance);
      if (distance > 0) continue;
      const bucket = this.#buckets.get(key);
      if (bucket === undefined) this.#buckets.set(key, [needle]);
      else bucket.push(needle);
    }
  }

  #key(bytes: Uint8Array, end: number): number {
    return hash(bytes[end - 2] ?? 0, bytes[end - 1] ?? 0, bytes[end] ?? 0, this.#mask);
  }

  /** Adds the longest occurrence at each position; true when there was one. */
  search(text: Uint8Array, from: number, to: number, found: number[], onlyFirst: boolean): boolean {
    const shift = this.#shift;
    const mask = this.#mask;
    const window = this.#window;
    let end = from + window - 1;
    while (end < to) {
      // Positions are inside of the text: `from` is not negative and a window has three bytes.
      const distance = shift[
        (((text[end - 2] as number) << 10) ^
          ((text[end - 1] as number) << 5) ^
          (text[end] as number)) &
          mask
      ] as number;
      if (distance > 0) {
        end += distance;
        continue;
      }
      const start = end - window + 1;
      const length = this.#longestAt(text, start, to, this.#key(text, end));
      if (length > 0) {
        found.push(start, start + length);
        if (onlyFirst) return true;
      }
      end += 1;
    }
    return found.length > 0;
  }

  #longestAt(text: Uint8Array, start: number, to: number, key: number): number {
    for (const needle of this.#buckets.get(key) ?? []) {
      if (start + needle.length > to || needle[0] !== text[start]) continue;
      if (continues(text, start, needle, 1)) return needle.length;
    }
    return 0;
  }
}

function merged(pairs: number[]): number[] {
  const occurrences: [number, number][] = [];
  for (let index = 0; index < pairs.length; index += 2)
    occurrences.push([pairs[index] ?? 0, pairs[index + 1] ?? 0]);
  occurrences.sort(([a], [b]) => a - b);
  const regions: number[] = [];
  let end = -1;
  for (const [start, stop] of occurrences) {
    if (start < end) {
      if (stop > end) regions[regions.length - 1] = end = stop;
    } else {
      regions.push(start, stop);
      end = stop;
    }
  }
  return regions;
}

export class Matcher {
  /** The length of the longest needle; 0 without needles. */
  readonly longest: number;
  readonly #tables: NeedleTable[];
  /** Needles by their first three bytes: what may begin where a text breaks off. */
  readonly #byBeginning = new Map<number, Buffer[]>();
  readonly #firstBytes = new Uint8Array(256);
  readonly #firstPairs = new Set<number>();

  /** Needles have at least three bytes. */
  constructor(needles: Iterable<Buffer>) {
    const sorted = [...needles].sort((a, b) => b.length - a.length);
    this.longest = sorted[0]?.length ?? 0;
    const long = sorted.filter(({ length }) => length >= shortNeedle);
    const short = sorted.filter(({ length }) => length < shortNeedle);
    this.#tables = [long, short]
      .filter(({ length }) => length > 0)
      .map((list) => new NeedleTable(list));
    for (const needle of sorted) {
      const [first = 0, second = 0, third = 0] = needle;
      this.#firstBytes[first] = 1;
      this.#firstPairs.add((first << 8) | second);
      const key = (first << 16) | (second << 8) | third;
      const same = this.#byBeginning.get(key);
      if (same === undefined) this.#byBeginning.set(key, [needle]);
      else same.push(needle);
    }
  }

  /** Every region between two positions, in order; each has at least one whole needle. */
  regions(text: Uint8Array, from = 0, to = text.length): Regions {
    const found: number[] = [];
    for (const table of this.#tables) table.search(text, from, to, found, false);
    return found.length === 0 ? none : merged(found);
  }

  has(text: Uint8Array, from = 0, to = text.length): boolean {
    return this.#tables.some((table) => table.search(text, from, to, [], true));
  }

  /** The first position from which on the text, to its very end, may be the beginning of a needle. */
  openFrom(text: Uint8Array): number {
    const { length } = text;
    for (let start = Math.max(0, length - this.longest + 1); start < length; start += 1) {
      const first = text[start] ?? 0;
      if (this.#firstBytes[first] === 1 && this.#mayBegin(text, start)) return start;
    }
    return length;
  }

  #mayBegin(text: Uint8Array, start: number): boolean {
    const left = text.length - start;
    if (left === 1) return true;
    const [first = 0, second = 0, third = 0] = text.subarray(start, start + 3);
    if (left === 2) return this.#firstPairs.has((first << 8) | second);
    const same = this.#byBeginning.get((first << 16) | (second << 8) | third) ?? [];
    return same.some(
      (needle) => needle.length > left && needle.compare(text, start, text.length, 0, left) === 0,
    );
  }
}
