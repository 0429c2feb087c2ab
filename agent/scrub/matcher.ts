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
  /**
   * Base64 is also found where it is broken in its midst. Anchors are not removed: the base64 around them is searched
   * once more without blanks and line ends, and for pieces, of which there are too many to look for anywhere else.
   */
  readonly base64?: 'form' | 'piece' | 'anchor';
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
const presenceMask = (1 << 17) - 1;

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

interface Search {
  readonly from: number;
  readonly to: number;
  readonly onlyFirst?: boolean;
  /** Takes the positions of anchors. */
  readonly anchors?: number[];
}

/** Needles of similar length, searched in one pass. */
class NeedleTable {
  readonly #window: number;
  readonly #mask: number;
  readonly #shift: Uint8Array;
  /** Needles by the first and last block of their window, the longest first. */
  readonly #buckets = new Map<number, Needle[]>();
  /** A filter before the map, which is slower: 1 where a bucket may exist. */
  readonly #hasBucket = new Uint8Array(presenceMask + 1);

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
    }
    const place = this.#bucketOf(needle.bytes, 0);
    this.#hasBucket[place & presenceMask] = 1;
    const bucket = this.#buckets.get(place);
    if (bucket === undefined) this.#buckets.set(place, [needle]);
    else bucket.push(needle);
  }

  /** The bucket of a window. Collisions cost comparisons and are harmless otherwise. */
  #bucketOf(bytes: Uint8Array, start: number): number {
    const first = this.#key(bytes, start + blockSize - 1);
    return (Math.imul(first, 0x9e3779b1) ^ this.#key(bytes, start + this.#window - 1)) >> 2;
  }

  #key(bytes: Uint8Array, end: number): number {
    return hash(bytes[end - 2] ?? 0, bytes[end - 1] ?? 0, bytes[end] ?? 0, this.#mask);
  }

  /** Adds the longest occurrence at each position; true when there was one. */
  search(
    text: Uint8Array,
    { from, to, onlyFirst = false, anchors }: Search,
    found: number[],
  ): boolean {
    const searched = new Searched(text);
    const next = this.#window === blockSize ? nextOfBlock : nextOfWindow;
    let end = next(text, from + this.#window - 1, to, this.#shift, this.#mask);
    while (end < to) {
      const start = end - this.#window + 1;
      const place = this.#bucketOf(text, start);
      const length =
        this.#hasBucket[place & presenceMask] === 1
          ? this.#maxAt(searched, start, to, place, anchors)
          : 0;
      if (length > 0) {
        found.push(start, start + length);
        if (onlyFirst) return true;
      }
      end = next(text, end + 1, to, this.#shift, this.#mask);
    }
    return found.length > 0;
  }

  #maxAt(searched: Searched, start: number, to: number, place: number, anchors?: number[]): number {
    let longest = 0;
    for (const needle of this.#buckets.get(place) ?? []) {
      const { length } = needle.bytes;
      const isAnchor = needle.base64 === 'anchor';
      if ((longest > 0 && !isAnchor) || start + length > to) continue;
      if (!standsAt(searched, start, needle, to)) continue;
      if (isAnchor) anchors?.push(start);
      else longest = length;
    }
    return longest;
  }
}

const backslash = 0x5c;
const isBase64 = new Uint8Array(256);
for (const byte of Buffer.from(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_',
))
  isBase64[byte] = 1;

/** Blanks and line ends. */
const isWhite = Uint8Array.from({ length: 256 }, (_, byte) =>
  [0x09, 0x0a, 0x0d, 0x20].includes(byte) ? 1 : 0,
);

/** The length of a blank or a part of a line end, as it is or as JSON writes it, at a position; 0 without one. */
function gapAt(text: Uint8Array, at: number): number {
  if (text[at] !== backslash) return isWhite[text[at] as number] as number;
  return text[at + 1] === 0x6e || text[at + 1] === 0x72 || text[at + 1] === 0x74 ? 2 : 0;
}

/** A run of base64 without the gaps in it, and where each of its characters stood. */
interface Run {
  readonly characters: Buffer;
  readonly places: Uint32Array;
  readonly end: number;
}

/** The run around a position, from up to `most` bytes before it; further on than that, prose would be one run. */
function runAt(text: Uint8Array, at: number, most: number): Run {
  const isWithin = (place: number): boolean =>
    isBase64[text[place] as number] === 1 || gapAt(text, place) > 0;
  let start = at;
  while (start > Math.max(0, at - most) && isWithin(start - 1)) start -= 1;
  let end = at;
  const isBlank = (place: number): boolean => text[place] === 0x20 || text[place] === 0x09;
  while (end < text.length && isWithin(end) && (end < at + most || !isBlank(end)))
    end += Math.max(1, gapAt(text, end));
  const characters = Buffer.allocUnsafe(end - start);
  const places = new Uint32Array(end - start);
  let length = 0;
  for (let place = start; place < end; place += Math.max(1, gapAt(text, place))) {
    if (isBase64[text[place] as number] !== 1) continue;
    characters[length] = text[place] as number;
    places[length] = place;
    length += 1;
  }
  return { characters: characters.subarray(0, length), places, end };
}

/** `needles` are sorted, the longest first. */
function tablesOf(needles: readonly Needle[]): NeedleTable[] {
  const long = needles.filter(({ bytes }) => bytes.length >= shortNeedle);
  const short = needles.filter(({ bytes }) => bytes.length < shortNeedle);
  return [long, short].filter(({ length }) => length > 0).map((list) => new NeedleTable(list));
}

function searchAll(tables: readonly NeedleTable[], text: Uint8Array, search: Search): Regions {
  let found: Regions = none;
  for (const table of tables) {
    const ofTable: number[] = [];
    table.search(text, search, ofTable);
    found = inOrder(ofTable, found);
  }
  return found;
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
  /** The length of the longest needle, with gaps in it; 0 without needles. */
  readonly longest: number;
  readonly #tables: NeedleTable[];
  /** The longest base64 in lines, where one ends about every four characters. */
  readonly #longestRun: number;
  readonly #base64: readonly Needle[];
  /** Those of base64; made when they are needed, which is rare. */
  #base64Tables: NeedleTable[] | undefined;
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
    this.#longestRun = 2 * (sorted.find(({ base64 }) => base64 !== undefined)?.bytes.length ?? 0);
    this.longest = Math.max(sorted[0]?.bytes.length ?? 0, this.#longestRun);
    this.#tables = tablesOf(sorted.filter(({ base64 }) => base64 !== 'piece'));
    this.#base64 = sorted.filter(({ base64 }) => base64 === 'form' || base64 === 'piece');
    for (const needle of sorted) {
      if (needle.base64 === 'anchor') continue;
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
    const anchors: number[] = [];
    const found = searchAll(this.#tables, text, { from, to, anchors });
    const all = inOrder(this.#inLines(text, from, to, anchors), found);
    return all.length === 0 ? none : merged(all);
  }

  has(text: Uint8Array, from = 0, to = text.length): boolean {
    const anchors: number[] = [];
    const search = { from, to, onlyFirst: true, anchors };
    if (this.#tables.some((table) => table.search(text, search, []))) return true;
    return this.#inLines(text, from, to, anchors).length > 0;
  }

  /**
   * What is found in the runs of base64 around anchors without their gaps. At both ends of a text the anchor
   * may be in another piece of the stream.
   */
  #inLines(text: Uint8Array, from: number, to: number, anchors: number[]): number[] {
    const found: number[] = [];
    const shortest = this.#base64.at(-1)?.bytes.length ?? Infinity;
    const within = text.subarray(from, to);
    let done = 0;
    const places = anchors.map((anchor) => anchor - from).sort((left, right) => left - right);
    for (const anchor of [0, ...places, within.length]) {
      if (anchor < done) continue;
      const run = runAt(within, anchor, this.#longestRun);
      done = run.end;
      const to = run.characters.length;
      if (to < shortest) continue;
      this.#base64Tables ??= tablesOf(this.#base64);
      const inRun = searchAll(this.#base64Tables, run.characters, { from: 0, to });
      for (const [index, place] of inRun.entries())
        found.push(from + (run.places[place - (index % 2)] ?? 0) + (index % 2));
    }
    return found;
  }

  /**
   * The first position from which on the text, to its very end, may be the beginning of a needle. Gaps do not
   * count among the `least` characters of one that is broken.
   */
  openFrom(text: Uint8Array, least = 1): number {
    const open = this.#openFrom(text, false);
    const end = text.at(-1) === backslash ? text.length - 1 : text.length;
    const { characters, places } = runAt(text, end, this.#longestRun);
    const inRun = this.#openFrom(characters, true);
    return characters.length - inRun >= least ? Math.min(open, places[inRun] ?? open) : open;
  }

  #openFrom(text: Uint8Array, onlyBase64: boolean): number {
    const { length } = text;
    const searched = new Searched(text);
    for (let start = Math.max(0, length - this.longest + 1); start < length; start += 1) {
      const first = lowerCase[text[start] as number] as number;
      if (this.#firstBytes[first] !== 1) continue;
      if (start + 1 === length) return start;
      const pair = (first << 8) | (lowerCase[text[start + 1] as number] as number);
      if (((this.#firstPairs[pair >> 3] as number) & (1 << (pair & 7))) === 0) continue;
      if (start + 2 === length || this.#mayBegin(searched, start, onlyBase64)) return start;
    }
    return length;
  }

  #beginning(bytes: Uint8Array, at: number): [number, number, number] {
    const lower = (index: number): number => lowerCase[bytes[at + index] ?? 0] ?? 0;
    return [lower(0), lower(1), lower(2)];
  }

  #mayBegin(searched: Searched, start: number, onlyBase64: boolean): boolean {
    const { text } = searched;
    const [first, second, third] = this.#beginning(text, start);
    const same = this.#byBeginning.get((first << 16) | (second << 8) | third) ?? [];
    return same.some(
      (needle) =>
        (!onlyBase64 || needle.base64 !== undefined) &&
        needle.bytes.length > text.length - start &&
        standsAt(searched, start, needle, text.length),
    );
  }
}
