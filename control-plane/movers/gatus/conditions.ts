/** Conditions of Gatus as assertions. All conditions of an endpoint must hold, as all assertions must. */
import { healthStatuses } from '@monitor/shared/contract/checks/grpc.ts';
import {
  assertion,
  numeric,
  type Assertion,
  adjacent,
  compare,
  flipped,
  type Operator,
} from '../decide/assertion.ts';
import { containedText, escapeRegex, regexOfGlob } from '../decide/glob.ts';
import { goDuration } from '../decide/go-duration.ts';
import { jsonPathOfKeys } from '../decide/json-path.ts';
import { assertionsFor, type CodeRange } from '../decide/status-codes.ts';
import { acceptedCodes, certificateCheckText } from '../converted-check.ts';
import type { Entry } from '../plan.ts';
import { lookUp, textOf } from '../source-object.ts';

export type EndpointKind = 'http' | 'tcp' | 'tls' | 'icmp' | 'dns' | 'doh' | 'grpc';

export interface Judged {
  assertions: Assertion[];
  /** Days before the expiry of a certificate; null when no condition is about it. */
  certificateDays: number | null;
}

/** In the order in which the source looks for them. */
const operators = ['==', '!=', '<=', '>=', '<', '>'] as const;

interface Condition {
  text: string;
  left: string;
  operator: Operator;
  right: string;
}

const isPlaceholder = (text: string) => /^((len|has)\()?\[[A-Z_]+\]/.test(text);

/** 010 is 8 there, 0x10 is 16 and 1_000 is 1000, each equal to texts of other notations. */
const otherNotation = /^[+-]?(0\d[\d_]*|0[xob][\da-f_]+|\d+(_\d+)+)$/i;

function parse(text: string): Condition | null {
  for (const operator of operators) {
    const [left, right, ...more] = text.split(` ${operator} `).map((part) => part.trim());
    if (left === undefined || right === undefined) continue;
    if (more.length > 0 || left === '' || right === '') return null;
    // Placeholders on both sides compare two values of an answer.
    if (isPlaceholder(left) && isPlaceholder(right)) return null;
    const isFlipped = isPlaceholder(right);
    if (otherNotation.test(isFlipped ? left : right)) return null;
    return isFlipped
      ? { text, left: right, operator: flipped[operator], right: left }
      : { text, left, operator, right };
  }
  return null;
}

/** A number without its decimals, or a duration in milliseconds, as Gatus reads them; null for other texts. */
function numberOf(text: string): number | null {
  if (/^[+-]?\d+(\.\d+)?$/.test(text)) return Math.trunc(Number(text));
  const seconds = goDuration(text);
  return seconds === null ? null : Math.trunc(seconds * 1000);
}

/** What a whole number is compared with: without an order, as a text unless both are whole. */
const wholeOf = ({ operator, right }: Condition): number | null =>
  isEquality(operator) && !/^[+-]?\d+$/.test(right) ? null : numberOf(right);

const isEquality = (operator: Operator) => operator === '==' || operator === '!=';

/** The comparison for `==`, or the one for `!=`. */
const either = (operator: Operator, equal: string, other: string) =>
  operator === '==' ? equal : other;

/** Comparisons of a number whose decimals Gatus cuts off: 17.5 is 17 there. */
function cut(
  source: string,
  property: string,
  { operator, right, text }: Condition,
  entry: Entry,
): Assertion[] | null {
  const target = numberOf(right);
  if (target === null) return null;
  const isUp = operator.startsWith('>');
  const end = operator === '>' ? target + 1 : operator === '<' ? target - 1 : target;
  const whole = isUp ? end - 1 : end + 1;
  const isExact = isUp ? end <= 0 : end >= 0;
  const limit = isExact ? whole : adjacent(end, !isUp);
  const comparison = isUp ? 'GREATER_THAN' : 'LESS_THAN';
  const nextTo = `\`${text}\` cuts decimals there → ${comparison} ${limit}, the number next to ${end}`;
  entry.changed(!isExact && nextTo);
  return [assertion(source, comparison, limit, { property })];
}

const pattern = (text: string) => /^pat\((.*)\)$/s.exec(text)?.[1] ?? null;
const choices = (text: string) =>
  /^any\((.*)\)$/s
    .exec(text)?.[1]
    ?.split(',')
    .map((one) => one.trim()) ?? null;

/** Codes of `2*`, `20?` and the like; null for other patterns. */
function codesOfGlob(glob: string): CodeRange | null {
  const [, digits] = /^(\d{1,2})(\*|\?{1,2})$/.exec(glob) ?? [];
  return digits === undefined ? null : [+digits.padEnd(3, '0'), +digits.padEnd(3, '9')];
}

/** What a condition becomes; null where it has no counterpart. */
type Translation = (condition: Condition, entry: Entry) => Assertion[] | null;

const status: Translation = (condition, entry) => {
  const { operator, right, text } = condition;
  const stricter = () => {
    entry.changed(
      `\`${text}\` also holds there when there is no answer at all (status 0); here that fails`,
    );
  };
  const list = choices(right)?.map(Number);
  if (list !== undefined) {
    if (!list.every(Number.isInteger)) return null;
    if (operator === '!=') {
      stricter();
      return list.map((code) => numeric('STATUS_CODE', '!=', code));
    }
    const codes = list.map((code) => [code, code] as const);
    return operator === '==' ? acceptedCodes(entry, codes, `\`${text}\`:`) : null;
  }
  const glob = pattern(right);
  if (glob !== null) {
    const codes = codesOfGlob(glob);
    return codes === null || operator !== '==' ? null : assertionsFor([codes]).assertions;
  }
  const code = wholeOf(condition);
  if (code === null) return null;
  if (['!=', '<', '<='].includes(operator)) stricter();
  return [numeric('STATUS_CODE', operator, code)];
};

const responseTime =
  (source: string, where: Assertion = {}): Translation =>
  (condition, entry) => {
    const limit = wholeOf(condition);
    if (limit === null) return null;
    entry.changed(
      'conditions on [RESPONSE_TIME]: Gatus stops the clock at the headers of an answer, here at its end',
    );
    return [numeric(source, condition.operator, limit, where)];
  };

/** The whole body without the blanks around it. */
const trimmed = String.raw`(?s)^\s*(.*?)\s*$`;

/** What a text must be by `pat(…)` or `any(…)`; null for neither. */
function patternOf(right: string): string | null {
  const glob = pattern(right);
  if (glob !== null) return regexOfGlob(glob);
  return choices(right)?.map(escapeRegex).join('|') ?? null;
}

/** Where there is nothing to compare, which is 0 in an order. */
const holdsForNothing = ({ operator, right }: Condition): boolean =>
  isEquality(operator) ? operator === '!=' : compare[operator](0, numberOf(right) ?? 0);

function sayMissing(condition: Condition, entry: Entry, what: string): void {
  if (!holdsForNothing(condition)) return;
  entry.changed(`\`${condition.text}\` also holds there ${what}; here that fails`);
}

function wholeText(
  condition: Condition,
  entry: Entry,
  source: 'TEXT_BODY' | 'RESPONSE_DATA',
): Assertion[] | null {
  const { operator, right, text } = condition;
  if (!isEquality(operator)) {
    if (numberOf(right) !== null) sayMissing(condition, entry, 'where the body is no number');
    return cut(source, trimmed, condition, entry);
  }
  const contained = containedText(pattern(right) ?? '');
  if (contained !== null) {
    const counts = `\`${text}\`: Gatus ignores slashes in patterns, here they count`;
    entry.approximate(contained.includes('/') && counts);
    const target = entry.guardTemplate('a condition', contained);
    return [assertion(source, either(operator, 'CONTAINS', 'NOT_CONTAINS'), target)];
  }
  const regex = patternOf(right);
  if (regex !== null) {
    const property = `(?s)^\\s*(${regex})\\s*$`;
    return [assertion(source, either(operator, 'NOT_NULL', 'IS_NULL'), '', { property })];
  }
  const target = entry.guardTemplate('a condition', right);
  const comparison = either(operator, 'EQUALS', 'NOT_EQUALS');
  return [assertion(source, comparison, target, { property: trimmed })];
}

function jsonValue(condition: Condition, entry: Entry, path: string): Assertion[] | null {
  const { left, operator, right, text } = condition;
  const property = jsonPathOfKeys(path);
  if (property === null) return null;
  const source = 'JSON_BODY';
  const isEqual = operator === '==';
  const regex = patternOf(right);
  const isPlain = regex === null;
  const passesOver = property.includes('[*]') && !holdsForNothing(condition);
  const without = `\`${text}\`: elements without the path fail there, and are passed over here`;
  entry.approximate(passesOver && without);
  if (!isEquality(operator)) {
    if (numberOf(right) === null) return null;
    sayMissing(condition, entry, 'where the path is missing, or is no number');
    return cut(source, property, condition, entry);
  }
  // A path that is missing is the text of itself there.
  const isItself = regex !== null && new RegExp(`^(?:${regex})$`, 's').test(`${left} (INVALID)`);
  const missing = `\`${text}\` also holds there where the path is missing; here that fails`;
  entry.changed(isEqual && isItself && missing);
  const orMissing = isPlain ? 'the path is missing, or ' : '';
  sayMissing(condition, entry, `where ${orMissing}the body is no JSON`);
  if (isPlain) {
    const target = entry.guardTemplate('a condition', right);
    return [assertion(source, either(operator, 'EQUALS', 'NOT_EQUALS'), target, { property })];
  }
  const where = { property, regex: `(?s)^(${regex})$` };
  const judged = assertion(source, either(operator, 'NOT_NULL', 'IS_NULL'), '', where);
  return !isEqual && isItself
    ? [judged, assertion(source, 'NOT_NULL', '', { property })]
    : [judged];
}

const bodyOfHttp: Translation = (condition, entry) => {
  const { left, operator, right } = condition;
  const [, name, inner] = /^(len|has)\((.*)\)$/.exec(left) ?? [];
  const [, path = ''] = /^\[BODY\](.*)$/s.exec(inner ?? left) ?? [];
  if (name === undefined) {
    return path === ''
      ? wholeText(condition, entry, 'TEXT_BODY')
      : jsonValue(condition, entry, path);
  }
  const property = path === '' ? null : jsonPathOfKeys(path);
  if (property === null) return null;
  if (name === 'has') {
    if (!['true', 'false'].includes(right) || !isEquality(operator)) return null;
    const isThere = (right === 'true') === (operator === '==');
    const how = `\`${condition.text}\` also holds there where the body is no JSON; here that fails`;
    entry.changed(!isThere && how);
    return [assertion('JSON_BODY', isThere ? 'NOT_NULL' : 'IS_NULL', '', { property })];
  }
  const length = wholeOf(condition);
  if (length === null) return null;
  sayMissing(condition, entry, 'where there is nothing to count');
  entry.changed(
    `\`${condition.text}\` counts the bytes of all but lists there, and the characters of texts alone here`,
  );
  return [numeric('JSON_BODY', operator, length, { property: `${property}.length` })];
};

const bodyOfTcp: Translation = (condition, entry) =>
  condition.left === '[BODY]' ? wholeText(condition, entry, 'RESPONSE_DATA') : null;

const bodyOfDns: Translation = ({ left, operator, right, text }, entry) => {
  if (left !== '[BODY]' || operator !== '==' || choices(right) !== null) return null;
  entry.approximate(
    `\`${text}\`: Gatus compares the last record, here the whole answer is searched`,
  );
  const glob = pattern(right);
  if (glob === null) return [assertion('TEXT_ANSWER', 'CONTAINS', right)];
  const property = `(${regexOfGlob(glob, String.raw`\S*`, String.raw`\S`)})`;
  return [assertion('TEXT_ANSWER', 'NOT_EMPTY', '', { property })];
};

const sameAs =
  (source: string): Translation =>
  ({ operator, right }) =>
    isEquality(operator)
      ? [assertion(source, either(operator, 'EQUALS', 'NOT_EQUALS'), right)]
      : null;
const healthStatus = sameAs('GRPC_HEALTHCHECK_STATUS');

const bodyOfGrpc: Translation = (condition, entry) =>
  condition.left === '[BODY].status' && healthStatuses.some((one) => one === condition.right)
    ? healthStatus(condition, entry)
    : null;

/** Every check fails where there is no connection; none expects that. */
const CONNECTED: Translation = ({ operator, right }) =>
  `${operator} ${right}` === '== true' || `${operator} ${right}` === '!= false' ? [] : null;

const always = { CONNECTED, RESPONSE_TIME: responseTime('RESPONSE_TIME') };
/** Placeholders by kind of endpoint. */
const translations: Readonly<Record<EndpointKind, Readonly<Record<string, Translation>>>> = {
  http: { ...always, STATUS: status, BODY: bodyOfHttp },
  tcp: { ...always, BODY: bodyOfTcp },
  tls: always,
  icmp: { CONNECTED, RESPONSE_TIME: responseTime('LATENCY', { property: 'avg' }) },
  dns: { ...always, BODY: bodyOfDns, DNS_RCODE: sameAs('RESPONSE_CODE') },
  doh: always,
  grpc: { ...always, BODY: bodyOfGrpc },
};

const daySeconds = 86_400;
/** Days of a warning for a condition on the expiry; null when it is not one. */
function certificateDays(condition: Condition, entry: Entry): number | null {
  const { operator, right, text } = condition;
  const seconds = goDuration(right);
  if (seconds === null || !['>', '>='].includes(operator)) return null;
  const days = Math.max(1, Math.ceil(seconds / daySeconds));
  entry.changed(days * daySeconds !== seconds && `\`${text}\` → ${days} whole days`);
  return days;
}

export function judge(
  entry: Entry,
  { kind, speaksTls = false }: { kind: EndpointKind; speaksTls?: boolean },
  conditions: readonly unknown[],
): Judged {
  const judged: Judged = { assertions: [], certificateDays: null };
  let kept = 0;
  let hasLost = false;
  for (const given of conditions) {
    const text = textOf(given);
    const condition = parse(text);
    const placeholder = /\[([A-Z_]+)\]/.exec(condition?.left ?? text)?.[1] ?? '';
    const isExpiry = placeholder === 'CERTIFICATE_EXPIRATION' && speaksTls;
    const days = condition !== null && isExpiry ? certificateDays(condition, entry) : null;
    if (days !== null) {
      judged.certificateDays = Math.max(days, judged.certificateDays ?? 0);
      if (kind === 'tls') kept += 1;
      else hasLost = true;
    } else if (placeholder === 'DOMAIN_EXPIRATION') {
      entry.notCarried(`\`${text}\`: the registration of domains is not watched`);
      hasLost = true;
    } else {
      const translate = condition && lookUp(translations[kind], placeholder);
      const made = condition && translate?.(condition, entry);
      const isDown = placeholder === 'CONNECTED' && /^(true|false)$/.test(condition?.right ?? '');
      const expects = isDown ? ' expects the target to be down, which' : '';
      if (made == null) entry.deactivated(`\`${text}\`${expects} has no counterpart`);
      else kept += 1;
      hasLost ||= placeholder === 'CERTIFICATE_EXPIRATION';
      judged.assertions.push(...(made ?? []));
    }
  }
  if (kind !== 'tls' && judged.certificateDays !== null) {
    const becomes = certificateCheckText('the', judged.certificateDays);
    entry.changed(`conditions on [CERTIFICATE_EXPIRATION] → ${becomes}`);
  }
  entry.deactivated(kept === 0 && hasLost && 'none of its conditions decides here');
  const has = (source: string) => judged.assertions.some((one) => one['source'] === source);
  // Without a condition on it, any status and any return code is accepted there.
  if (kind === 'http' && !has('STATUS_CODE')) {
    judged.assertions.unshift(assertion('STATUS_CODE', 'GREATER_THAN', '0'));
  }
  entry.changed(
    kind === 'grpc' &&
      !has('GRPC_HEALTHCHECK_STATUS') &&
      'a server that is not SERVING fails here; there it passes without a condition on [BODY].status',
  );
  if (kind === 'dns' && !has('RESPONSE_CODE')) {
    judged.assertions.push(assertion('RESPONSE_CODE', 'NOT_EMPTY'));
  }
  return judged;
}
