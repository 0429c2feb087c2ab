/** Evaluates assertions on a measurement. Pure; safe on hostile text. Spec: assertions. */
import { query } from 'jsonpath-rfc9535';
import { RE2JS } from 're2js';
import type { Assertion, Comparison, EvaluatedAssertion } from '../contract/assertion.ts';
import type {
  Extract,
  Judging,
  Measurement,
  SourceReading,
} from '../contract/checks/check-type.ts';
import { within, WithoutCpuError } from '../time-limit.ts';

/** Results show values up to this length. */
const shownLength = 10_240;
/** Deeper ones are shown as their text: what stores, reads and shows results need not get through them. */
const shownLevels = 100;
/** Longer texts are searched under a limit: a pattern with many repetitions takes minutes on 25 MB. */
const quicklySearchedLength = 100_000;
/** CPU time for all patterns and paths on one measurement. */
const maxSearchMs = 10_000;

const compiled = new Map<string, RE2JS>();
const flagsOf: Record<string, number> = {
  i: RE2JS.CASE_INSENSITIVE,
  s: RE2JS.DOTALL,
  m: RE2JS.MULTILINE,
};

/**
 * Compiles a pattern, also one in slashes with flags, for matching in linear time: a customer's
 * expression meets a text of the target, so backtracking must be impossible. Throws on look-around,
 * back-references and other flags.
 */
function compile(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  // Other letters make it a path, such as `/api/users`.
  const [, body = pattern, flags = ''] = /^\/(.*)\/([dgimsuvy]*)$/s.exec(pattern) ?? [];
  const unknown = [...flags].find((flag) => flagsOf[flag] === undefined);
  if (unknown !== undefined) throw new Error(`the flag "${unknown}" is not known; i, s and m are`);
  const regex = RE2JS.compile(
    body,
    [...flags].reduce((sum, flag) => sum | (flagsOf[flag] ?? 0), 0),
  );
  if (compiled.size >= 1000) compiled.clear();
  compiled.set(pattern, regex);
  return regex;
}

/** Whether a text has a match of a customer's pattern, in linear time. Throws for one that is none. */
export function hasMatch(text: string, pattern: string): boolean {
  return compile(pattern).matcher(text).find();
}

function firstCapture(text: string, pattern: string): string | undefined {
  const matcher = compile(pattern).matcher(text);
  if (!matcher.find()) return undefined;
  return (matcher.groupCount() > 0 ? matcher.group(1) : matcher.group(0)) ?? undefined;
}

/** Searches of one measurement, which have `ms` of CPU time. */
function searches(ms: number): Extract {
  let leftMs = ms;
  const limited = <T>(what: string, length: number, search: () => T): T => {
    if (length <= quicklySearchedLength) return search();
    const tooLong = `the ${what} were not searched within ${ms / 1000} s of CPU time`;
    try {
      const { value, usedMs } = within(leftMs, tooLong, search);
      leftMs -= usedMs;
      return value;
    } catch (error) {
      // A mistake in one pattern is no reason to leave out the next.
      if (error instanceof Error && error.message === tooLong) leftMs = 0;
      throw error;
    }
  };
  return {
    byRegex(text, pattern) {
      if (pattern === '') return text;
      return limited('patterns', text.length, () => firstCapture(text, pattern));
    },
    byRegexInEach: (values, pattern, length) =>
      limited('patterns', length, () =>
        values.map((value) => (value == null ? undefined : firstCapture(asText(value), pattern))),
      ),
    byJsonPath: (document, path, length = 0) =>
      limited('paths', length, () => byJsonPath(document, path)),
  };
}

/** `.length` at the end of a path is an extension of the field to RFC 9535, behind a member of this name. */
function byJsonPath(document: unknown, path: string): unknown[] {
  const length = /^(.*[^.])\.length$/s.exec(path);
  if (length?.[1] === undefined) return query(document as never, path);
  return query(document as never, length[1]).flatMap((value: unknown) => {
    if (typeof value === 'string' || Array.isArray(value)) return [value.length];
    return hasKey(value, 'length') ? [(value as { length: unknown }).length] : [];
  });
}

const decimal = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i;

/** Whole numbers that doubles cannot hold are a bigint. */
function asNumber(value: unknown): number | bigint {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (typeof value !== 'string' || !decimal.test(value)) return Number.NaN;
  const number = Number(value);
  if (!Number.isFinite(number)) return Number.NaN;
  return /^\s*-?\d{16,}\s*$/.test(value) && !Number.isSafeInteger(number) ? BigInt(value) : number;
}

const isNumber = (value: unknown): boolean => !Number.isNaN(asNumber(value));

/** The types of TypeScript do not know it yet. */
const { rawJSON } = JSON as JSON & { rawJSON(text: string): unknown };
const withDigits = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? rawJSON(String(value)) : value;
const asTexts = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? String(value) : value;

function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? String(value) : (JSON.stringify(value, withDigits) ?? '');
}

/** Numbers are compared as numbers, texts as they are: the versions "1.10" and "1.1" differ. */
function isEqual(actual: unknown, target: string): boolean {
  if (typeof actual !== 'number' && typeof actual !== 'bigint') return asText(actual) === target;
  const wanted = asNumber(target);
  return actual <= wanted && actual >= wanted;
}

function isEmpty(actual: unknown): boolean {
  if (actual === undefined || actual === null || actual === '') return true;
  return typeof actual === 'object' && Object.keys(actual).length === 0;
}

function contains(actual: unknown, target: string): boolean {
  if (Array.isArray(actual)) return actual.some((item) => isEqual(item, target));
  return asText(actual).includes(target);
}

function hasKey(actual: unknown, target: string): boolean {
  return typeof actual === 'object' && actual !== null && Object.hasOwn(actual, target);
}

function hasValue(actual: unknown, target: string): boolean {
  if (typeof actual !== 'object' || actual === null) return false;
  return Object.values(actual).some((value) => isEqual(value, target));
}

/** True when the comparison holds. A missing value only satisfies "null" and "empty". */
function holds(comparison: Comparison, actual: unknown, target: string): boolean {
  switch (comparison) {
    case 'IS_NULL':
      return actual === undefined || actual === null;
    case 'NOT_NULL':
      return actual !== undefined && actual !== null;
    case 'IS_EMPTY':
      return isEmpty(actual);
    case 'NOT_EMPTY':
      return !isEmpty(actual);
    default:
      break;
  }
  if (actual === undefined) return false;
  switch (comparison) {
    case 'EQUALS':
      return isEqual(actual, target);
    case 'NOT_EQUALS':
      return !isEqual(actual, target);
    case 'GREATER_THAN':
      return asNumber(actual) > asNumber(target);
    case 'LESS_THAN':
      return asNumber(actual) < asNumber(target);
    case 'CONTAINS':
      return contains(actual, target);
    case 'NOT_CONTAINS':
      return !contains(actual, target);
    case 'HAS_KEY':
      return hasKey(actual, target);
    case 'NOT_HAS_KEY':
      return !hasKey(actual, target);
    case 'HAS_VALUE':
      return hasValue(actual, target);
    case 'NOT_HAS_VALUE':
      return !hasValue(actual, target);
  }
}

/** The targets of numeric sources as numbers: 200, not "200". */
function typedTarget(actual: unknown, target: string): string | number {
  const number = asNumber(target);
  return typeof actual === 'number' && typeof number === 'number' && !Number.isNaN(number)
    ? number
    : target;
}

const tooDeep = 'a value that is nested too deeply to be read';

/** Null where the stack is too short for a value: a target chooses how deep its answer is. */
function unlessTooDeep<T>(work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** How deep the JSON of a text is nested. */
function levelsOf(json: string): number {
  let [levels, most] = [0, 0];
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[{\]}]/g)) {
    if (token === '[' || token === '{') most = Math.max(most, (levels += 1));
    else if (token === ']' || token === '}') levels -= 1;
  }
  return most;
}

function shown(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, shownLength);
  if (typeof value !== 'object' && typeof value !== 'bigint') return value;
  const text = unlessTooDeep(() => JSON.stringify(value, asTexts)) ?? tooDeep;
  if (text === tooDeep) return text;
  return text.length > shownLength || levelsOf(text) > shownLevels
    ? text.slice(0, shownLength)
    : (JSON.parse(text) as unknown);
}

const nothing: SourceReading = { actual: undefined, isList: false };

/** What a measurement without an answer, or without a time, cannot be asked. */
function absence({ source }: Assertion, { response, responseTime }: Measurement): string | null {
  if (source === 'RESPONSE_TIME') return responseTime === null ? 'no time was measured' : null;
  return response === null ? 'there is no answer' : null;
}

function evaluateOne(
  assertion: Assertion,
  order: number,
  judging: Judging,
  measurement: Measurement,
  extract: Extract,
): EvaluatedAssertion {
  const { source, comparison, property, target, regex } = assertion;
  const base = { order, source, comparison, property, target, regex };
  const subject = property === '' ? source : `${source} "${property}"`;
  const expected = `expected ${subject} ${comparison} ${target}`.trimEnd();
  let read: SourceReading;
  let absent = absence(assertion, measurement);
  try {
    read = absent === null ? judging.readSource(assertion, measurement, extract) : nothing;
  } catch (error) {
    if (error instanceof WithoutCpuError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    const reason = error instanceof RangeError ? tooDeep : message;
    return { ...base, error: `cannot read ${source} "${property}": ${reason}` };
  }
  absent ??= read.absent ?? null;
  if (absent !== null) {
    return { ...base, error: `${expected}, but ${absent}` };
  }
  const values = read.isList ? (read.actual as unknown[]) : [read.actual];
  const candidates = values.length === 0 ? [undefined] : values;
  const wanted = read.target ?? target;
  const offender = unlessTooDeep(() =>
    candidates.findIndex((value) => !holds(comparison, value, wanted)),
  );
  if (offender === null) return { ...base, error: `${expected}, found ${tooDeep}` };
  const compared = values.length > 1 && offender < 0 ? values : candidates[Math.max(offender, 0)];
  const actual = shown(read.shown ?? compared);
  const result = { ...base, target: typedTarget(actual, target), actual };
  if (offender < 0) return result;
  const found = actual === undefined ? 'nothing' : asText(actual).slice(0, 300) || 'no text';
  const isOrder = comparison.endsWith('_THAN') && actual !== undefined;
  const isNoNumber = isOrder && !isNumber(compared);
  const isNoLimit = isOrder && !isNoNumber && !isNumber(wanted);
  const remark = isNoNumber
    ? ', which is not a number'
    : isNoLimit
      ? `, and "${wanted}" is not a number`
      : '';
  return { ...result, error: `${expected}, found ${found}${remark}` };
}

/**
 * Evaluates all assertions in order. One with `error` did not hold. A JSONPath with several values
 * must hold for each of them; one without values compares with a missing value. Nothing holds for
 * evidence that could not be read. Throws a `WithoutCpuError` where a long search had too little of a CPU.
 */
export function evaluateAssertions(
  assertions: readonly Assertion[],
  judging: Judging,
  measurement: Measurement,
  searchMs = maxSearchMs,
): EvaluatedAssertion[] {
  const extract = searches(searchMs);
  return assertions.map((assertion, order) =>
    evaluateOne(assertion, order, judging, measurement, extract),
  );
}
