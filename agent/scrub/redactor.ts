/** Replaces needles in bytes that arrive in pieces: the result is that of the whole at once. */
import { HeldText } from './held-text.ts';
import type { Matcher, Regions } from './matcher.ts';
import { mask } from './scrubber.ts';

/** What is searched for at the moment. */
export interface Needles {
  readonly isEmpty: boolean;
  readonly matcher: Matcher;
}

const maskBytes = Buffer.from(mask);

/** The text with a mask in place of each region. */
export function withMasks(text: Buffer, regions: Regions): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (let index = 0; index < regions.length; index += 2) {
    parts.push(text.subarray(at, regions[index]), maskBytes);
    at = regions[index + 1] ?? at;
  }
  parts.push(text.subarray(at));
  return Buffer.concat(parts);
}

export class Redactor {
  readonly #needles: Needles;
  /** Holds back what may be the beginning of a needle. */
  readonly #text = new HeldText();
  /** How much of what is held back belongs to a region whose mask was already given. */
  #covered = 0;
  hasFound = false;

  constructor(needles: Needles) {
    this.#needles = needles;
  }

  push(chunk: Buffer): Buffer[] {
    return this.#take([chunk], false);
  }

  end(): Buffer[] {
    return this.#take([], true);
  }

  #take(chunks: Buffer[], isLast: boolean): Buffer[] {
    if (this.#needles.isEmpty) return chunks;
    const { matcher } = this.#needles;
    const text = this.#text.join(chunks);
    const regions = matcher.regions(text);
    const cut = isLast ? text.length : matcher.openFrom(text);
    const before = this.#text.cut(cut);
    if (regions.length === 0 && this.#covered === 0) return before;
    this.hasFound = true;
    const parts: Buffer[] = [];
    let covered = this.#covered;
    for (let index = 0; index < regions.length; index += 2) {
      const start = regions[index] ?? 0;
      const end = regions[index + 1] ?? 0;
      if (start < covered) {
        covered = Math.max(covered, end);
        continue;
      }
      if (start >= cut) break;
      parts.push(text.subarray(covered, start), maskBytes);
      covered = end;
    }
    if (covered < cut) parts.push(text.subarray(covered, cut));
    this.#covered = Math.max(0, covered - cut);
    return [Buffer.concat(parts)];
  }
}
