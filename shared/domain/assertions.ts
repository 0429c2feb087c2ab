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

/** Longer texts are searched only up to this length; results show values up to `shownLength`. */
const searchedLength = 1_000_000;
const shownLength = 10_240;

const compiled = new Map<string, RE2JS>();

/**
 * Compiles a pattern for matching in linear time: a customer's expression meets a text of the
 * target, so backtracking must be impossible. Throws on look-around and back-references.
 */
function compile(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const slashed = /^\/(.*)\/$/s.exec(pattern);
  const regex = RE2JS.compile(slashed?.[1] ?? pattern);
  if (compiled.size >= 1000) compiled.clear();
  compiled.set(pattern, regex);
  return regex;
}

function firstCapture(text: string, pattern: string): string | undefined {
  if (pattern === '') return text;
  const matcher = compile(pattern).matcher(text.slice(0, searchedLength));
  if (!matcher.find()) return undefined;
  return (matcher.groupCount() > 0 ? matcher.group(1) : matcher.group(0)) ?? undefined;
}

/** `.length` at the end of a path is an extension of the field to RFC 9535. */
function byJsonPath(document: unknown, path: string): unknown[] {
  if (document === undefined) return [];
  const length = /^(.*)\.length$/.exec(path);
  if (length?.[1] !== undefined) {
    return query(document as never, length[1]).flatMap((value: unknown) =>
      typeof value === 'string' || Array.isArray(value) ? [value.length] : [],
    );
  }
  return query(document as never, path);
}

const extract: Extract = { byRegex: firstCapture, byJsonPath };

function asNumber(value: unknown): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** False for numbers that doubles cannot represent, such as serial numbers; they are compared as texts. */
function isExact(number: number): boolean {
  return Number.isFinite(number) && Math.abs(number) <= Number.MAX_SAFE_INTEGER;
}

function isEqual(actual: unknown, target: string): boolean {
  const left = asNumber(actual);
  const right = asNumber(target);
  if (isExact(left) && isExact(right)) return left === right;
  return asText(actual) === target;
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
  return typeof actual === 'number' && !Number.isNaN(number) ? number : target;
}

function shown(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, shownLength);
  const text = JSON.stringify(value);
  return text !== undefined && text.length > shownLength ? text.slice(0, shownLength) : value;
}

function evaluateOne(
  assertion: Assertion,
  order: number,
  judging: Judging,
  measurement: Measurement,
): EvaluatedAssertion {
  const { source, comparison, property, target, regex } = assertion;
  const base = { order, source, comparison, property, target, regex };
  let read: SourceReading;
  try {
    read = judging.readSource(assertion, measurement, extract);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { ...base, error: `cannot read ${source} "${property}": ${reason}` };
  }
  const values = read.isList ? (read.actual as unknown[]) : [read.actual];
  const candidates = values.length === 0 ? [undefined] : values;
  const wanted = read.target ?? target;
  const offender = candidates.findIndex((value) => !holds(comparison, value, wanted));
  const compared = values.length > 1 && offender < 0 ? values : candidates[Math.max(offender, 0)];
  const actual = shown(read.shown ?? compared);
  const result = { ...base, target: typedTarget(actual, target), actual };
  if (offender < 0) return result;
  const found = actual === undefined ? 'nothing' : asText(actual).slice(0, 300);
  const subject = property === '' ? source : `${source} "${property}"`;
  return { ...result, error: `expected ${subject} ${comparison} ${target}, found ${found}` };
}

/**
 * Evaluates all assertions in order. One with `error` did not hold. A JSONPath with several values
 * must hold for each of them; one without values compares with a missing value.
 */
export function evaluateAssertions(
  assertions: readonly Assertion[],
  judging: Judging,
  measurement: Measurement,
): EvaluatedAssertion[] {
  return assertions.map((assertion, order) => evaluateOne(assertion, order, judging, measurement));
}
