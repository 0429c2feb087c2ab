/** Texts of a response and the JSON in them, for assertions. */
import type { Assertion } from '../assertion.ts';
import type { Extract, Measurement, SourceReading } from './check-type.ts';

/** `isRounded`: numbers of many digits are what a double can hold of them. */
interface Parsed {
  document: unknown;
  isRounded?: true;
}
const parsed = new WeakMap<object, Parsed | null>();

interface ReadText {
  text: unknown;
  /** What it is, for messages. */
  what: string;
  /** Its content type. */
  type?: string | undefined;
}

/** Whole numbers that a double cannot hold keep their digits, as bigint. Millions of digits would take seconds. */
function withAllDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const { source = '' } = context ?? {};
  return /^-?\d{1,300}$/.test(source) ? BigInt(source) : value;
}

function parse(text: string): Parsed | null {
  try {
    // Reading each number again takes its time.
    const hasLong = /\d{16}/.test(text);
    return { document: hasLong ? JSON.parse(text, withAllDigits) : JSON.parse(text) };
  } catch (error) {
    // Of nesting that is too deep for the second reading.
    return error instanceof RangeError ? { document: JSON.parse(text), isRounded: true } : null;
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
  const isLong = (value: unknown): boolean =>
    Number.isInteger(value) && !Number.isSafeInteger(value);
  if (known.isRounded && values.some(isLong))
    return none(`the ${what} is nested too deeply for a number of so many digits`);
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
