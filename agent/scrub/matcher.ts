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

/** Bytes to search for. */
export interface Needle {
  readonly bytes: Buffer;
  /** ASCII letters are found in either case; `bytes` then holds the lower ones. */
  readonly anyCase: boolean;
  /** Where a line ends in it, at its "\\n" or backslash: it is looked for at line ends alone. */
  readonly joint?: number;
}

/** Pairs of numbers: where a region begins, and the position after its end. */
export type Regions = readonly number[];

const none: Regions = [];

/**
 * Both cases of a letter have the same hash: they differ in one bit, and the mask leaves out the three
 * places where that bit of a byte stands. This costs nothing while searching.
 */
const caseBits = (1 << 17) | (1 << 11) | (1 << 5);
const smallMask = ((1 << 17) - 1) & ~caseBits;
const largeMask = ((1 << 20) - 1) & ~caseBits;

function hash(first: number, second: number, third: number, mask: number): number {
  return ((first << 12) ^ (second << 6) ^ third) & mask;
}

const lowerCase = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);

/** The native comparison wins only where there is much to compare. */
const muchToCompare = 64;

/** A text with its lower-case form, which is computed on demand. */
class Searched {
  readonly text: Uint8Array;
  #lower: Uint8Array | undefined;

  constructor(text: Uint8Array) {
    this.text = text;
  }

  get lower(): Uint8Array {
    return (this.#lower ??= this.text.map((byte) => lowerCase[byte] as number));
  }
}

/** True when the needle, as far as the text reaches, stands at a position. */
function standsAt(searched: Searched, at: number, { bytes, anyCase }: Needle, to: number): boolean {
  const { text } = searched;
  const length = Math.min(bytes.length, to - at);
  if (anyCase) {
    const first = Math.min(length, muchToCompare);
    for (let index = 0; index < first; index += 1) {
      if (bytes[index] !== lowerCase[text[at + index] as number]) return false;
    }
    return (
      length <= first || bytes.compare(searched.lower, at + first, at + length, first, length) === 0
    );
  }
  if (bytes[0] !== text[at]) return false;
  if (length > muchToCompare) return bytes.compare(text, at, at + length, 0, length) === 0;
  for (let index = 1; index < length; index += 1) {
    if (bytes[index] !== text[at + index]) return false;
  }
  return true;
}

/**
 * The first end of a window, from one on, at which a needle may stand; `to` or more without one. The loop
 * calls nothing: a rare call would make V8 discard its optimised code again and again.
 */
function nextOfWindow(
  text: Uint8Array,
  from: number,
  to: number,
  shift: Uint8Array,
  mask: number,
): number {
  let end = from;
  while (end < to) {
    // Positions are inside of the text: a window has three bytes.
    const distance = shift[
      (((text[end - 2] as number) << 12) ^
        ((text[end - 1] as number) << 6) ^
        (text[end] as number)) &
        mask
    ] as number;
    if (distance === 0) return end;
    end += distance;
  }
  return end;
}

/** The same where the window is one block: it moves by one byte, so that each is read only once. */
function nextOfBlock(
  text: Uint8Array,
  from: number,
  to: number,
  shift: Uint8Array,
  mask: number,
): number {
  if (from >= to) return to;
  let first = text[from - 2] as number;
  let second = text[from - 1] as number;
  for (let end = from; end < to; end += 1) {
    const third = text[end] as number;
    if (shift[((first << 12) ^ (second << 6) ^ third) & mask] === 0) return end;
    first = second;
    second = third;
  }
  return to;
}

/** Needles of similar length, searched in one pass. */
class NeedleTable {
  readonly #window: number;
  readonly #mask: number;
  readonly #shift: Uint8Array;
  /** Needles by the last block of their window, the longest first. */
  readonly #buckets = new Map<number, Needle[]>();

  /** `needles` are sorted, the longest first. */
  constructor(needles: readonly Needle[]) {
    const window = Math.min(needles.at(-1)?.bytes.length ?? maxWindow, maxWindow);
    const windows = new Set(needles.map(({ bytes }) => bytes.toString('latin1', 0, window)));
    this.#window = window;
    this.#mask = windows.size * window > 8_192 ? largeMask : smallMask;
    this.#shift = new Uint8Array(this.#mask + 1).fill(window - blockSize + 1);
    for (const needle of needles) {
      this.#enter(needle, windows.delete(needle.bytes.toString('latin1', 0, window)));
    }
  }

  #enter(needle: Needle, isNewWindow: boolean): void {
    for (let end = isNewWindow ? blockSize - 1 : this.#window - 1; end < this.#window; end += 1) {
      const key = this.#key(needle.bytes, end);
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
    const searched = new Searched(text);
    const next = this.#window === blockSize ? nextOfBlock : nextOfWindow;
    let end = next(text, from + this.#window - 1, to, this.#shift, this.#mask);
    while (end < to) {
      const start = end - this.#window + 1;
      const length = this.#maxAt(searched, start, to, this.#key(text, end));
      if (length > 0) {
        found.push(start, start + length);
        if (onlyFirst) return true;
      }
      end = next(text, end + 1, to, this.#shift, this.#mask);
    }
    return found.length > 0;
  }

  #maxAt(searched: Searched, start: number, to: number, key: number): number {
    for (const needle of this.#buckets.get(key) ?? []) {
      const { length } = needle.bytes;
      if (start + length <= to && standsAt(searched, start, needle, to)) return length;
    }
    return 0;
  }
}

const [lineFeed, carriageReturn, backslash, letterR] = [0x0a, 0x0d, 0x5c, 0x72];

/**
 * Needles in which a line ends. There are many of a secret, which would slow down the search for all others;
 * the characters on both sides of the end of a line say whether there may be one.
 */
class JointTable {
  /** By the characters before and after the end of the line. */
  readonly #beside = new Map<number, Needle[]>();
  /** By the character before it alone, in both cases: most ends of lines are behind another one. */
  readonly #before = new Uint8Array(256);

  constructor(needles: readonly Needle[]) {
    for (const needle of needles) {
      const key = this.#key(needle.bytes, needle.joint ?? 0);
      for (let byte = 0; byte < 256; byte += 1)
        if (lowerCase[byte] === key >> 8) this.#before[byte] = 1;
      const same = this.#beside.get(key);
      if (same === undefined) this.#beside.set(key, [needle]);
      else same.push(needle);
    }
    this.#before[carriageReturn] = 1;
  }

  #key(text: Uint8Array, at: number): number {
    const isEscaped = text[at] === backslash;
    const before = !isEscaped && text[at - 1] === carriageReturn ? at - 2 : at - 1;
    const after = isEscaped ? (text[at + 1] === letterR && text[at + 2] === backslash ? 4 : 2) : 1;
    const lower = (index: number): number => lowerCase[text[index] ?? 0] ?? 0;
    return (lower(before) << 8) | lower(at + after);
  }

  search(text: Uint8Array, from: number, to: number, found: number[], onlyFirst: boolean): boolean {
    const searched = new Searched(text);
    const hits: [start: number, end: number][] = [];
    for (const mark of [lineFeed, backslash]) {
      let at = text.indexOf(mark, from);
      for (; at !== -1 && at < to; at = text.indexOf(mark, at + 1)) {
        if (this.#before[text[at - 1] ?? 0] === 0) continue;
        for (const needle of this.#beside.get(this.#key(text, at)) ?? []) {
          const start = at - (needle.joint ?? 0);
          const end = start + needle.bytes.length;
          if (start < from || end > to || !standsAt(searched, start, needle, to)) continue;
          if (onlyFirst) return true;
          hits.push([start, end]);
        }
      }
    }
    found.push(...hits.sort(([left], [right]) => left - right).flat());
    return found.length > 0;
  }
}

/** Both in the order of their beginnings, as each of them is. */
function inOrder(left: readonly number[], right: readonly number[]): readonly number[] {
  if (left.length === 0) return right;
  const all: number[] = [];
  let next = 0;
  for (let index = 0; index < left.length; index += 2) {
    const start = left[index] as number;
    for (; next < right.length && (right[next] as number) < start; next += 2)
      all.push(right[next] as number, right[next + 1] as number);
    all.push(start, left[index + 1] as number);
  }
  for (; next < right.length; next += 1) all.push(right[next] as number);
  return all;
}

/** Regions of occurrences, which are in the order of their beginnings. */
function merged(occurrences: readonly number[]): Regions {
  const regions: number[] = [];
  let end = -1;
  for (let index = 0; index < occurrences.length; index += 2) {
    const start = occurrences[index] as number;
    const stop = occurrences[index + 1] as number;
    if (start >= end) regions.push(start, stop);
    else if (stop > end) regions[regions.length - 1] = stop;
    end = Math.max(end, stop);
  }
  return regions;
}

export class Matcher {
  /** The length of the longest needle; 0 without needles. */
  readonly longest: number;
  readonly #tables: (NeedleTable | JointTable)[];
  /** Needles by their first three bytes: what may begin where a text breaks off. */
  readonly #byBeginning = new Map<number, Needle[]>();
  readonly #firstBytes = new Uint8Array(256);
  /** A bit for each pair of bytes that some needle begins with. */
  readonly #firstPairs = new Uint8Array(8_192);

  /** Needles have at least three bytes; a Buffer is found as it is. */
  constructor(needles: Iterable<Buffer | Needle>) {
    const sorted = [...needles]
      .map((needle) => (Buffer.isBuffer(needle) ? { bytes: needle, anyCase: false } : needle))
      .sort((a, b) => b.bytes.length - a.bytes.length);
    this.longest = sorted[0]?.bytes.length ?? 0;
    const plain = sorted.filter(({ joint }) => joint === undefined);
    const joined = sorted.filter(({ joint }) => joint !== undefined);
    const long = plain.filter(({ bytes }) => bytes.length >= shortNeedle);
    const short = plain.filter(({ bytes }) => bytes.length < shortNeedle);
    this.#tables = [
      ...[long, short].filter(({ length }) => length > 0).map((list) => new NeedleTable(list)),
      ...(joined.length > 0 ? [new JointTable(joined)] : []),
    ];
    for (const needle of sorted) {
      const [first, second, third] = this.#beginning(needle.bytes, 0);
      this.#firstBytes[first] = 1;
      const pair = (first << 8) | second;
      this.#firstPairs[pair >> 3] = (this.#firstPairs[pair >> 3] ?? 0) | (1 << (pair & 7));
      const key = (first << 16) | (second << 8) | third;
      const same = this.#byBeginning.get(key);
      if (same === undefined) this.#byBeginning.set(key, [needle]);
      else same.push(needle);
    }
  }

  /** Every region between two positions, in order; each has at least one whole needle. */
  regions(text: Uint8Array, from = 0, to = text.length): Regions {
    let found: readonly number[] = none;
    for (const table of this.#tables) {
      const ofTable: number[] = [];
      table.search(text, from, to, ofTable, false);
      found = inOrder(ofTable, found);
    }
    return found.length === 0 ? none : merged(found);
  }

  has(text: Uint8Array, from = 0, to = text.length): boolean {
    return this.#tables.some((table) => table.search(text, from, to, [], true));
  }

  /** The first position from which on the text, to its very end, may be the beginning of a needle. */
  openFrom(text: Uint8Array): number {
    const { length } = text;
    const searched = new Searched(text);
    for (let start = Math.max(0, length - this.longest + 1); start < length; start += 1) {
      const first = lowerCase[text[start] as number] as number;
      if (this.#firstBytes[first] !== 1) continue;
      if (start + 1 === length) return start;
      const pair = (first << 8) | (lowerCase[text[start + 1] as number] as number);
      if (((this.#firstPairs[pair >> 3] as number) & (1 << (pair & 7))) === 0) continue;
      if (start + 2 === length || this.#mayBegin(searched, start)) return start;
    }
    return length;
  }

  #beginning(bytes: Uint8Array, at: number): [number, number, number] {
    const lower = (index: number): number => lowerCase[bytes[at + index] ?? 0] ?? 0;
    return [lower(0), lower(1), lower(2)];
  }

  #mayBegin(searched: Searched, start: number): boolean {
    const { text } = searched;
    const [first, second, third] = this.#beginning(text, start);
    const same = this.#byBeginning.get((first << 16) | (second << 8) | third) ?? [];
    return same.some(
      (needle) =>
        needle.bytes.length > text.length - start && standsAt(searched, start, needle, text.length),
    );
  }
}
