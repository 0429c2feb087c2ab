/** Builds the scrubber of a run. */
import { isCleanValue } from './clean-value.ts';
import { hideCredentials, holdsCredentials } from './detect.ts';
import { scrubFile } from './files/scrub-file.ts';
import type { Regions } from './matcher.ts';
import { isNamedCredential } from '@monitor/shared/credentials/named-values.ts';
import { NeedleSet } from './needle-set.ts';
import { withMasks } from './redactor.ts';
import { hasHeaderLine } from './sensitive-headers.ts';
import { ScrubStream } from './scrub-stream.ts';
import { scrubValue } from './scrub-value.ts';
import type { Scrubber } from './scrubber.ts';

export interface ScrubberOptions {
  readonly secrets: Iterable<string>;
  /** Also removes undeclared values that look like credentials. */
  readonly detect: boolean;
  /** Called with the number of secrets that are too short or too common to be removed. */
  readonly onTooShort?: (count: number) => void;
  /** Called for each text and stream in which something was removed. */
  readonly onFound?: () => void;
  /** What one file may unpack to, with everything in it; 1 GiB unless given. */
  readonly maxUnpackedBytes?: number;
}

/** From this length on a text may have been cut, by a script, a package or us, before it came here. */
const minCutText = 64;
/** How those who cut texts mark it. */
const cutMark = /\n?…(?: ?\([^()]{1,40}\))?$/;
/** How much of a secret must be left at a cut: fewer characters stand there by chance. */
const minLeft = { marked: 4, unmarked: 6 };

/** The beginning of a secret at the end of a text that was cut off there; null without one. */
function cutSecretIn(
  text: string,
  bytes: Buffer,
  { matcher }: NeedleSet,
): { start: number; end: number } | null {
  if (text.length < minCutText) return null;
  const mark = text.endsWith('…') || text.endsWith(')') ? cutMark.exec(text)?.[0] : undefined;
  const end = bytes.length - Buffer.byteLength(mark ?? '');
  const least = mark === undefined ? minLeft.unmarked : minLeft.marked;
  const start = matcher.openFrom(bytes.subarray(0, end), least);
  return end - start >= least ? { start, end } : null;
}

/** The regions of secrets, and at the end of a text the beginning of one that was cut off there. */
function regionsIn(text: string, bytes: Buffer, needles: NeedleSet): Regions {
  const regions = needles.matcher.regions(bytes);
  const cut = cutSecretIn(text, bytes, needles);
  if (cut === null) return regions;
  let { start } = cut;
  const before = [...regions];
  let stop = cut.end;
  while (before.length > 0 && (before.at(-1) ?? 0) > start) {
    stop = Math.max(stop, before.pop() ?? 0);
    start = Math.min(start, before.pop() ?? 0);
  }
  return [...before, start, stop];
}

/** The text itself when there is nothing to remove. */
function scrubText(text: string, needles: NeedleSet, detect: boolean): string {
  if (text === '' || (needles.isEmpty && !detect)) return text;
  const bytes = Buffer.from(text);
  const regions = needles.isEmpty ? [] : regionsIn(text, bytes, needles);
  const redacted = regions.length === 0 ? bytes : withMasks(bytes, regions);
  const scrubbed = detect ? hideCredentials(redacted) : redacted;
  return scrubbed === bytes ? text : scrubbed.toString();
}

/** True when `scrubText` leaves all texts as they are, and no line of a header is in them. */
function areClean(
  joined: string,
  texts: readonly string[],
  needles: NeedleSet,
  detect: boolean,
): boolean {
  if (hasHeaderLine(joined)) return false;
  if (needles.isEmpty && !detect) return true;
  const bytes = Buffer.from(joined);
  if (detect && holdsCredentials(bytes)) return false;
  if (needles.isEmpty) return true;
  const isCut = (text: string): boolean =>
    text.length >= minCutText && cutSecretIn(text, Buffer.from(text), needles) !== null;
  return !needles.matcher.has(bytes) && !texts.some(isCut);
}

export function createScrubber(options: ScrubberOptions): Scrubber {
  const { secrets, detect, onTooShort, onFound, maxUnpackedBytes = 1_073_741_824 } = options;
  const needles = new NeedleSet();
  const ignored = [...new Set(secrets)].filter((secret) => secret !== '' && !needles.add(secret));
  if (ignored.length > 0) onTooShort?.(ignored.length);
  const text = (input: string): string => {
    const scrubbed = scrubText(input, needles, detect);
    if (scrubbed !== input) onFound?.();
    return scrubbed;
  };
  const isCredential = (name: string, value: string): boolean =>
    detect && isNamedCredential(name, value);
  const isClean = (value: unknown): boolean =>
    isCleanValue(value, {
      hasSecrets: !needles.isEmpty,
      areClean: (joined, texts) => areClean(joined, texts, needles, detect),
      isCredential,
    });
  return {
    get maxNeedleBytes() {
      return needles.isEmpty ? 0 : needles.matcher.longest;
    },
    add: (value) => {
      if (value !== '' && !needles.add(value)) onTooShort?.(1);
    },
    text,
    value: (value) => (isClean(value) ? value : scrubValue(value, { text, isCredential })),
    stream: () => new ScrubStream(needles, detect, onFound),
    file: (path, contentType, { withoutPictures = false } = {}) =>
      scrubFile(path, contentType, {
        ...{ needles, detect, text, isCredential, maxUnpackedBytes, withoutPictures },
      }),
  };
}
