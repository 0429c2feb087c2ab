/** Conditions of Gatus as assertions. All conditions of an endpoint must hold, as all assertions must. */
import { containedText, escapeRegex, regexOfGlob } from '../decide/glob.ts';
import { goDuration } from '../decide/go-duration.ts';
import { jsonPathOfKeys } from '../decide/json-path.ts';
import { assertionsFor, type CodeRange } from '../decide/status-codes.ts';
import { certificateCheckText } from '../converted-check.ts';
import type { Entry, Plan } from '../plan.ts';
import { textOf } from '../source-object.ts';

export type EndpointKind = 'http' | 'tcp' | 'tls' | 'icmp' | 'dns';

type Assertion = Record<string, unknown>;

export interface Judged {
  assertions: Assertion[];
  /** Days before the expiry of a certificate; null when no condition is about it. */
  certificateDays: number | null;
}

/** In the order in which the source looks for them. */
const operators = ['==', '!=', '<=', '>=', '<', '>'] as const;
type Operator = (typeof operators)[number];

const flipped: Readonly<Record<Operator, Operator>> = {
  ...{ '==': '==', '!=': '!=', '<=': '>=', '>=': '<=', '<': '>', '>': '<' },
};

interface Condition {
  text: string;
  left: string;
  operator: Operator;
  right: string;
}

const isPlaceholder = (text: string) => /^((len|has)\()?\[[A-Z_]+\]/.test(text);

function parse(text: string): Condition | null {
  for (const operator of operators) {
    const [left, right, ...more] = text.split(` ${operator} `).map((part) => part.trim());
    if (left === undefined || right === undefined) continue;
    if (more.length > 0 || left === '' || right === '') return null;
    // Placeholders on both sides compare two values of an answer.
    if (isPlaceholder(left) && isPlaceholder(right)) return null;
    return isPlaceholder(right)
      ? { text, left: right, operator: flipped[operator], right: left }
      : { text, left, operator, right };
  }
  return null;
}

/** A whole number, or a duration in milliseconds; null for other texts. */
function numberOf(text: string): number | null {
  if (/^[+-]?\d+$/.test(text)) return Number(text);
  const seconds = goDuration(text);
  return seconds === null ? null : Math.trunc(seconds * 1000);
}

/** Comparisons of a whole number. */
function numeric(operator: Operator, target: number): { comparison: string; target: string } {
  const at = (comparison: string, value: number) => ({ comparison, target: textOf(value) });
  return {
    '==': () => at('EQUALS', target),
    '!=': () => at('NOT_EQUALS', target),
    '<=': () => at('LESS_THAN', target + 1),
    '>=': () => at('GREATER_THAN', target - 1),
    '<': () => at('LESS_THAN', target),
    '>': () => at('GREATER_THAN', target),
  }[operator]();
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
  if (digits === undefined) return null;
  const width = 10 ** (3 - digits.length);
  return [Number(digits) * width, Number(digits) * width + width - 1];
}

/** What a condition becomes; null where it has no counterpart. */
type Translation = (condition: Condition, entry: Entry, plan: Plan) => Assertion[] | null;

const status: Translation = ({ operator, right, text }, entry) => {
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
      return list.map((code) => ({ source: 'STATUS_CODE', ...numeric('!=', code) }));
    }
    if (operator !== '==') return null;
    const { assertions, passesNow } = assertionsFor(list.map((code) => [code, code] as const));
    if (passesNow !== null) {
      entry.approximate(
        `\`${text}\`: every registered code between them is refused; unassigned ones such as ${passesNow} now pass`,
      );
    }
    return assertions;
  }
  const glob = pattern(right);
  if (glob !== null) {
    const codes = codesOfGlob(glob);
    return codes === null || operator !== '==' ? null : assertionsFor([codes]).assertions;
  }
  const code = numberOf(right);
  if (code === null) return null;
  if (['!=', '<', '<='].includes(operator)) stricter();
  return [{ source: 'STATUS_CODE', ...numeric(operator, code) }];
};

const responseTime =
  (source: Assertion): Translation =>
  ({ operator, right }, _entry, plan) => {
    const limit = numberOf(right);
    if (limit === null) return null;
    plan.say(
      'CHANGED',
      'Conditions on [RESPONSE_TIME]: Gatus stops the clock at the headers of an answer, here at its end.',
    );
    return [{ ...source, ...numeric(operator, limit) }];
  };

/** The whole body without the blanks around it. */
const trimmed = String.raw`(?s)^\s*(.*?)\s*$`;

function wholeText(
  { operator, right, text }: Condition,
  entry: Entry,
  source: 'TEXT_BODY' | 'RESPONSE_DATA',
): Assertion[] | null {
  const isEqual = operator === '==';
  const isMissing = isEqual ? 'NOT_EMPTY' : 'IS_EMPTY';
  const glob = pattern(right);
  if (glob !== null) {
    const contained = containedText(glob);
    if (contained === null) {
      return [
        {
          source,
          property: `(?s)^\\s*(${regexOfGlob(glob)})\\s*$`,
          comparison: isMissing,
          target: '',
        },
      ];
    }
    if (contained.includes('/')) {
      entry.approximate(`\`${text}\`: Gatus ignores slashes in patterns, here they count`);
    }
    return [
      {
        source,
        comparison: isEqual ? 'CONTAINS' : 'NOT_CONTAINS',
        target: entry.guardTemplate('a condition', contained),
      },
    ];
  }
  const list = choices(right);
  if (list !== null) {
    const property = `^\\s*(${list.map(escapeRegex).join('|')})\\s*$`;
    return [{ source, property, comparison: isMissing, target: '' }];
  }
  const number = numberOf(right);
  if (operator !== '==' && operator !== '!=') {
    return number === null ? null : [{ source, property: trimmed, ...numeric(operator, number) }];
  }
  return [
    {
      source,
      property: trimmed,
      comparison: isEqual ? 'EQUALS' : 'NOT_EQUALS',
      target: entry.guardTemplate('a condition', right),
    },
  ];
}

function jsonValue(condition: Condition, entry: Entry, path: string): Assertion[] | null {
  const { operator, right } = condition;
  const property = jsonPathOfKeys(path);
  if (property === null || choices(right) !== null) return null;
  const source = 'JSON_BODY';
  const glob = pattern(right);
  if (glob !== null) {
    const contained = containedText(glob);
    if (contained === null || !['==', '!='].includes(operator)) return null;
    const comparison = operator === '==' ? 'CONTAINS' : 'NOT_CONTAINS';
    return [
      { source, property, comparison, target: entry.guardTemplate('a condition', contained) },
    ];
  }
  if (operator === '==' || operator === '!=') {
    const comparison = operator === '==' ? 'EQUALS' : 'NOT_EQUALS';
    return [{ source, property, comparison, target: entry.guardTemplate('a condition', right) }];
  }
  const number = numberOf(right);
  return number === null ? null : [{ source, property, ...numeric(operator, number) }];
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
    if (!['true', 'false'].includes(right) || !['==', '!='].includes(operator)) return null;
    const isThere = (right === 'true') === (operator === '==');
    return [
      { source: 'JSON_BODY', property, comparison: isThere ? 'NOT_NULL' : 'IS_NULL', target: '' },
    ];
  }
  const length = numberOf(right);
  return length === null
    ? null
    : [{ source: 'JSON_BODY', property: `${property}.length`, ...numeric(operator, length) }];
};

const bodyOfTcp: Translation = (condition, entry) =>
  condition.left === '[BODY]' ? wholeText(condition, entry, 'RESPONSE_DATA') : null;

const bodyOfDns: Translation = ({ left, operator, right, text }, entry) => {
  if (left !== '[BODY]' || operator !== '==' || choices(right) !== null) return null;
  entry.approximate(
    `\`${text}\`: Gatus compares the last record, here the whole answer is searched`,
  );
  const glob = pattern(right);
  return glob === null
    ? [{ source: 'TEXT_ANSWER', comparison: 'CONTAINS', target: right }]
    : [
        {
          source: 'TEXT_ANSWER',
          property: `(${regexOfGlob(glob, String.raw`\S*`, String.raw`\S`)})`,
          comparison: 'NOT_EMPTY',
          target: '',
        },
      ];
};

const returnCode: Translation = ({ operator, right }) =>
  operator === '==' || operator === '!='
    ? [
        {
          source: 'RESPONSE_CODE',
          comparison: operator === '==' ? 'EQUALS' : 'NOT_EQUALS',
          target: right,
        },
      ]
    : null;

const latency = { source: 'LATENCY', property: 'avg' };
const timed = { source: 'RESPONSE_TIME' };

/** Placeholders by kind of endpoint. */
const translations: Readonly<Record<EndpointKind, Readonly<Record<string, Translation>>>> = {
  http: { STATUS: status, RESPONSE_TIME: responseTime(timed), BODY: bodyOfHttp },
  tcp: { RESPONSE_TIME: responseTime(timed), BODY: bodyOfTcp },
  tls: { RESPONSE_TIME: responseTime(timed) },
  icmp: { RESPONSE_TIME: responseTime(latency) },
  dns: { RESPONSE_TIME: responseTime(timed), BODY: bodyOfDns, DNS_RCODE: returnCode },
};

/** Placeholders whose conditions are lost, and do not change the rest of the endpoint. */
const lost: Readonly<Record<string, string>> = {
  DOMAIN_EXPIRATION: 'the registration of domains is not watched',
};

const daySeconds = 86_400;
/** Days of a warning for a condition on the expiry; null when it is not one. */
function certificateDays(condition: Condition, entry: Entry): number | null {
  const { operator, right, text } = condition;
  const seconds = goDuration(right);
  if (seconds === null || !['>', '>='].includes(operator)) return null;
  const days = Math.max(1, Math.ceil(seconds / daySeconds));
  if (days * daySeconds !== seconds) entry.changed(`\`${text}\` → ${days} whole days`);
  return days;
}

export function judge(
  plan: Plan,
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
    if (condition !== null && placeholder === 'CONNECTED') {
      const isUp = (condition.right === 'true') === (condition.operator === '==');
      if (isUp) kept += 1;
      else entry.deactivated(`\`${text}\` expects the target to be down, which has no counterpart`);
      continue;
    }
    if (condition !== null && placeholder === 'CERTIFICATE_EXPIRATION') {
      const days = speaksTls ? certificateDays(condition, entry) : null;
      if (days === null) entry.deactivated(`\`${text}\` has no counterpart`);
      else judged.certificateDays = Math.max(days, judged.certificateDays ?? 0);
      if (kind === 'tls' && days !== null) kept += 1;
      else hasLost = true;
      continue;
    }
    if (placeholder in lost) {
      entry.notCarried(`\`${text}\`: ${lost[placeholder] ?? ''}`);
      hasLost = true;
      continue;
    }
    const made =
      condition === null
        ? null
        : (translations[kind][placeholder]?.(condition, entry, plan) ?? null);
    if (made === null) entry.deactivated(`\`${text}\` has no counterpart`);
    else {
      judged.assertions.push(...made);
      kept += 1;
    }
  }
  if (kind === 'http' && judged.certificateDays !== null) {
    const becomes = certificateCheckText('the', judged.certificateDays);
    entry.changed(`conditions on [CERTIFICATE_EXPIRATION] → ${becomes}`);
  }
  if (kept === 0 && hasLost) entry.deactivated('none of its conditions decides here');
  const has = (source: string) => judged.assertions.some((one) => one['source'] === source);
  // Without a condition on it, any status and any return code is accepted there.
  if (kind === 'http' && !has('STATUS_CODE')) {
    judged.assertions.unshift({ source: 'STATUS_CODE', comparison: 'GREATER_THAN', target: '0' });
  }
  if (kind === 'dns' && !has('RESPONSE_CODE')) {
    judged.assertions.push({ source: 'RESPONSE_CODE', comparison: 'NOT_EMPTY', target: '' });
  }
  return judged;
}
