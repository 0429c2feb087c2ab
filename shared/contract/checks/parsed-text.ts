/** Texts of a response and the JSON in them, for assertions. */
import { endOfString } from '../../read-json.ts';
import type { Assertion } from '../assertion.ts';
import type { Extract, Measurement, SourceReading } from './check-type.ts';

/** By the response. Null where the text is no JSON. */
const parsed = new WeakMap<object, { document: unknown } | null>();

interface ReadText {
  text: unknown;
  /** What it is, for messages. */
  what: string;
  /** Its content type. */
  type?: string | undefined;
}

/**
 * JSON in which each whole number that a double cannot hold is a string after `mark`; null without any. Millions of
 * digits would take seconds.
 */
function withMarks(json: string, mark: string): string | null {
  const parts: string[] = [];
  let [copied, outside, open] = [0, 0, json.indexOf('"')];
  for (const { 0: digits, index } of json.matchAll(/-?\d{16,}/g)) {
    while (open !== -1 && open < index) {
      outside = endOfString(json, open);
      open = json.indexOf('"', outside);
    }
    const end = index + digits.length;
    const isPart = outside > index || /[.eE+]/.test(json.charAt(index - 1) + json.charAt(end));
    if (isPart || digits.length > 300 || Number.isSafeInteger(Number(digits))) continue;
    parts.push(json.slice(copied, index), `"${mark}${digits}"`);
    copied = end;
  }
  return copied === 0 ? null : parts.join('') + json.slice(copied);
}

/** The document with numbers in place of the marked strings. Not by recursion: its nesting is the target's choice. */
function withBigInts(document: unknown, mark: string): unknown {
  const whole: Record<string | number, unknown> = { document };
  const waiting = [whole];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const [key, value] of Array.isArray(at) ? at.entries() : Object.entries(at)) {
      if (typeof value === 'object' && value !== null) waiting.push(value as typeof whole);
      else if (typeof value === 'string' && value.startsWith(mark)) {
        at[key] = BigInt(value.slice(mark.length));
      }
    }
  }
  return whole['document'];
}

/**
 * Whole numbers that a double cannot hold keep their digits, as bigint. A reviver would be called for every value:
 * on 25 MB it takes ten times as long.
 */
function parse(text: string): { document: unknown } | null {
  try {
    const document: unknown = JSON.parse(text);
    // No target can write what it does not know.
    const mark = `${crypto.randomUUID()} `;
    const marked = withMarks(text, mark);
    return { document: marked === null ? document : withBigInts(JSON.parse(marked), mark) };
  } catch {
    return null;
  }
}

/** The values of a path in the JSON of a text, or what `regex` finds in each. Parsed once for all assertions: a body may have 25 MB. */
export function readJson(
  { property, regex }: Assertion,
  measurement: Measurement,
  { text, what, type }: ReadText,
  extract: Extract,
): SourceReading {
  const none = (absent: string) => ({ actual: [], isList: true, absent });
  if (measurement.unread !== undefined) return none(measurement.unread);
  if (typeof text !== 'string') return none(`there is no ${what}`);
  if (text.trim() === '') return none(`the ${what} is empty`);
  const key = measurement.response ?? measurement;
  let known = parsed.get(key);
  if (known === undefined) {
    known = parse(text);
    parsed.set(key, known);
  }
  if (known === null)
    return none(`the ${what} is not JSON${type === undefined ? '' : ` (${type})`}`);
  const values = extract.byJsonPath(known.document, property || '$', text.length);
  const actual = regex ? extract.byRegexInEach(values, regex, text.length) : values;
  return { actual, isList: true };
}

/** Comparisons that hold for a text once they hold for its beginning. */
const ofBeginning = ['CONTAINS', 'NOT_EMPTY', 'NOT_NULL'];

/** What a pattern finds in a text. More of the text could change what is found in a beginning. */
export function readText(
  { property, comparison }: Assertion,
  { unread }: Measurement,
  { text, what }: ReadText,
  extract: Extract,
): SourceReading {
  if (typeof text !== 'string') {
    return { actual: undefined, isList: false, absent: unread ?? `there is no ${what}` };
  }
  const actual = extract.byRegex(text, property);
  const isFound = property === '' ? ofBeginning.includes(comparison) : actual !== undefined;
  return { actual, isList: false, absent: isFound ? undefined : unread };
}
