/**
 * Template helpers. Those of `conditions` give a boolean: as a block, `{{#eq ALERT_TYPE
 * 'ALERT_RECOVERY'}}up{{else}}down{{/eq}}`, or inside other helpers, `{{#if (gt RESPONSE_TIME
 * 500)}}`. Names and behaviour are those of existing templates.
 */
import { formatMoment } from '@monitor/shared/templates/relative-time.ts';
import { TemplateError } from '@monitor/shared/templates/template-error.ts';
import {
  isAlike,
  isNumeric,
  isSame,
  isTruthy,
  listOf,
  order,
  printed,
  type TemplateValue,
} from './template-value.ts';

export interface HelperContext {
  /** Milliseconds since the epoch. */
  now: number;
  /** In [0, 1). */
  random: () => number;
  newId: () => string;
}

type Values = readonly TemplateValue[];
export type Condition = (given: Values) => boolean;
export type Helper = (given: Values, context: HelperContext) => TemplateValue;

const at = (given: Values, index: number): TemplateValue => given[index] ?? null;
const text = (given: Values, index: number): string => printed(at(given, index));

const falseWords: ReadonlySet<string> = new Set(
  '0 false nada nil nay nah negative no none nope nul null nix nyet uh-uh veto zero'.split(' '),
);

function isFalsey([value = null]: Values): boolean {
  return !isTruthy(value) || falseWords.has(printed(value).toLowerCase());
}

function compares(test: (left: TemplateValue, right: TemplateValue) => boolean): Condition {
  return (given) => test(at(given, 0), at(given, 1));
}

const isLess = compares((left, right) => order(left, right) < 0);
const isMore = compares((left, right) => order(left, right) > 0);
const isEqual = compares(isSame);

function contains(given: Values): boolean {
  const [whole, part] = [at(given, 0), at(given, 1)];
  const start = isNumeric(at(given, 2)) ? Number(at(given, 2)) : 0;
  const list = listOf(whole);
  if (list !== null) return list.indexOf(part, start) >= 0;
  return whole !== null && part !== null && printed(whole).includes(printed(part), start);
}

function isEven([value = null]: Values): boolean {
  if (!isNumeric(value) || !Number.isInteger(Number(value))) {
    // Without the value: it may be a secret, and the message is shown and logged.
    throw new TemplateError('what "ifEven" or "ifOdd" looks at is not a whole number');
  }
  return Number(value) % 2 === 0;
}

const operators: Readonly<Record<string, Condition>> = {
  '==': compares(isAlike),
  '===': isEqual,
  '!=': (pair) => !compares(isAlike)(pair),
  '!==': (pair) => !isEqual(pair),
  '<': isLess,
  '>': isMore,
  '<=': (pair) => !isMore(pair),
  '>=': (pair) => !isLess(pair),
  typeof: ([value = null, type = null]) =>
    (value === null ? 'undefined' : typeof value) === printed(type),
};

function compare(given: Values): boolean {
  const operator = text(given, 1);
  const test = Object.hasOwn(operators, operator) ? operators[operator] : undefined;
  if (test === undefined) throw new TemplateError('"compare" does not know that operator');
  return test([at(given, 0), at(given, 2)]);
}

export const conditions: ReadonlyMap<string, Condition> = new Map<string, Condition>([
  ['and', (given) => given.every(isTruthy)],
  ['or', (given) => given.some(isTruthy)],
  ['not', ([value = null]) => !isTruthy(value)],
  ['neither', (given) => !given.some(isTruthy)],
  ['eq', isEqual],
  ['ifEq', isEqual],
  ['ne', (pair) => !isEqual(pair)],
  ['unlessEq', (pair) => !isEqual(pair)],
  ['is', compares(isAlike)],
  ['isnt', (pair) => !compares(isAlike)(pair)],
  ['gt', isMore],
  ['gte', (pair) => !isLess(pair)],
  ['lt', isLess],
  ['lte', (pair) => !isMore(pair)],
  ['unlessGt', (pair) => !isMore(pair)],
  ['unlessGteq', isLess],
  ['unlessLt', (pair) => !isLess(pair)],
  ['unlessLteq', isMore],
  ['compare', compare],
  ['contains', contains],
  ['has', contains],
  ['isTruthy', (given) => !isFalsey(given)],
  ['isFalsey', isFalsey],
  ['ifEven', isEven],
  ['ifOdd', (given) => !isEven(given)],
  [
    'ifNth',
    ([nth = null, value = null]) =>
      isNumeric(nth) && isNumeric(value) && Number(value) % Number(nth) === 0,
  ],
  ['startsWith', (given) => text(given, 0).startsWith(text(given, 1))],
]);

function split(given: Values): TemplateValue {
  const parts = text(given, 0).split(text(given, 1));
  const index = at(given, 2);
  return isNumeric(index) && Number(index) >= 0 ? (parts[Number(index)] ?? null) : parts;
}

/** The value of a tag: `web` for `team:web` or `team=web`. */
function tagValue(given: Values): TemplateValue {
  const key = text(given, 1);
  const prefixes = /[:=]$/.test(key) ? [key] : [`${key}:`, `${key}=`];
  for (const tag of key === '' ? [] : (listOf(at(given, 0)) ?? [])) {
    const prefix = prefixes.find((each) => printed(tag).startsWith(each));
    if (prefix !== undefined) return printed(tag).slice(prefix.length);
  }
  return text(given, 2);
}

function inWords(given: Values, { now }: HelperContext): TemplateValue {
  return formatMoment(
    given.map((each) => printed(each)),
    now,
  );
}

function year([digits = null]: Values, { now }: HelperContext): TemplateValue {
  const full = String(new Date(now).getUTCFullYear());
  return isAlike(digits, 2) ? full.slice(-2) : full;
}

function lookup(given: Values): TemplateValue {
  const list = listOf(at(given, 0));
  return isNumeric(at(given, 1)) ? (list?.[Number(at(given, 1))] ?? null) : null;
}

export const helpers: ReadonlyMap<string, Helper> = new Map<string, Helper>([
  ['$UUID', (_given, { newId }) => newId()],
  ['$RANDOM_NUMBER', (_given, { random }) => Math.floor(random() * 10_001)],
  ['moment', inWords],
  ['date', inWords],
  ['year', year],
  ['default', (given) => given.find((each) => each !== null) ?? ''],
  ['split', split],
  ['replace', (given) => text(given, 0).replace(text(given, 1), () => text(given, 2))],
  ['tagValue', tagValue],
  ['lookup', lookup],
]);
