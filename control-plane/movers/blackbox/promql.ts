/** What an alert rule compares, by the grammar of Prometheus: understood whole, or not at all. */
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { flipped, type Operator } from '../decide/assertion.ts';
import { goDuration } from '../decide/go-duration.ts';
import { lookUp } from '../source-object.ts';
import { matcherOf, type Matcher } from './relabel.ts';

interface Selector {
  metric: string;
  /** Names of the labels that it looks at. */
  looksAt: readonly string[];
  selects: Matcher;
  /** True for the average over a while. */
  isAverage: boolean;
}

/** A metric, or how far it is ahead of the present, against a number. */
export interface Comparison extends Selector {
  isAhead: boolean;
  operator: Operator;
  limit: number;
}

class NotUnderstood extends Error {}
function lost(): never {
  throw new NotUnderstood();
}

/** A node of the grammar with its text. */
interface Part {
  name: string;
  text: string;
  parts: Part[];
}

function partOf({ name, from, to, firstChild }: SyntaxNode, whole: string): Part {
  const parts: Part[] = [];
  for (let each = firstChild; each !== null; each = each.nextSibling) {
    if (each.type.isError) lost();
    if (each.name !== 'LineComment') parts.push(partOf(each, whole));
  }
  return { name, text: whole.slice(from, to), parts };
}

/** The parts within one, which must be of these kinds; `*` is of any kind. */
function partsOf(part: Part | undefined, ...names: readonly string[]): Part[] {
  const { parts } = part ?? lost();
  const fits = names.every((name, index) => name === '*' || parts[index]?.name === name);
  return fits && parts.length === names.length ? parts : lost();
}

/** `factor × metric + time × time() + constant`. */
interface Linear {
  selector: Selector | null;
  factor: number;
  time: number;
  constant: number;
}

const zero: Linear = { selector: null, factor: 0, time: 0, constant: 0 };
const isConstant = ({ selector, time }: Linear) => selector === null && time === 0;

const times = ({ selector, factor, time, constant }: Linear, by: number): Linear => ({
  ...{ selector, factor: factor * by, time: time * by, constant: constant * by },
});

const plus = (left: Linear, right: Linear): Linear => ({
  selector:
    left.selector !== null && right.selector !== null ? lost() : (left.selector ?? right.selector),
  factor: left.factor + right.factor,
  time: left.time + right.time,
  constant: left.constant + right.constant,
});

const operators: Readonly<Record<string, Operator>> = {
  ...{ Eql: '==', Neq: '!=', Lss: '<', Lte: '<=', Gtr: '>', Gte: '>=' },
};

const escapes: Readonly<Record<string, string>> = {
  ...{ '\\': '\\', '"': '"', "'": "'", n: '\n', r: '\r', t: '\t' },
};

/** A text in double, single or back quotes. */
function textIn(quoted: string): string {
  const text = quoted.slice(1, -1);
  if (quoted.startsWith('`')) return text;
  return text.replace(/\\(.)/gs, (_whole, letter: string) => lookUp(escapes, letter) ?? lost());
}

function metric(vector: Part | undefined, isAverage = false): Linear {
  const [identifier, matchers, ...others] = vector?.parts ?? [];
  if (identifier?.name !== 'Identifier' || others.length > 0) return lost();
  const read = (matchers?.parts ?? []).map((matcher) => {
    const [label, how, value] = partsOf(matcher, 'LabelName', '*', 'StringLiteral');
    return [label?.text ?? '', how?.text ?? '', textIn(value?.text ?? '')] as const;
  });
  const matches = read.map((matcher) => matcherOf(...matcher));
  const selector = {
    ...{ metric: identifier.text, looksAt: read.map(([label]) => label), isAverage },
    selects: (labels: Parameters<Matcher>[0]) => matches.every((one) => one(labels)),
  };
  return { ...zero, selector, factor: 1 };
}

const arithmetic: Readonly<Record<string, (left: Linear, right: Linear) => Linear>> = {
  Add: plus,
  Sub: (left, right) => plus(left, times(right, -1)),
  Mul: (left, right) =>
    isConstant(left)
      ? times(right, left.constant)
      : isConstant(right)
        ? times(left, right.constant)
        : lost(),
  Div: (left, right) => (isConstant(right) ? times(left, 1 / right.constant) : lost()),
};

const linears: Readonly<Record<string, (part: Part) => Linear>> = {
  NumberDurationLiteral({ text }) {
    const constant = goDuration(text) ?? Number(text);
    return Number.isFinite(constant) ? { ...zero, constant } : lost();
  },
  VectorSelector: (part) => metric(part),
  ParenExpr: (part) => linearOf(partsOf(part, '*')[0]),
  UnaryExpr(part) {
    const [sign, operand] = partsOf(part, '*', '*');
    return times(linearOf(operand), sign?.text === '-' ? -1 : 1);
  },
  BinaryExpr(part) {
    const [left, operator, right] = partsOf(part, '*', '*', '*');
    const combine = lookUp(arithmetic, operator?.name ?? '') ?? lost();
    return combine(linearOf(left), linearOf(right));
  },
  FunctionCall(part) {
    const [called, body] = partsOf(part, '*', 'FunctionCallBody');
    if (called?.text === 'time' && body?.parts.length === 0) return { ...zero, time: 1 };
    const [inner] = partsOf(body, 'MatrixSelector');
    if (!/^(avg|last)_over_time$/.test(called?.text ?? '')) return lost();
    const [vector] = inner?.parts ?? [];
    return vector?.name === 'VectorSelector'
      ? metric(vector, called?.text === 'avg_over_time')
      : lost();
  },
};

const linearOf = (part: Part | undefined): Linear =>
  part === undefined ? lost() : (lookUp(linears, part.name) ?? lost)(part);

/** The comparisons of which one is enough. */
function comparisonsOf(part: Part | undefined): Comparison[] {
  if (part?.name === 'PromQL' || part?.name === 'ParenExpr') return comparisonsOf(part.parts[0]);
  if (part?.name !== 'BinaryExpr') return lost();
  const [first, operator, last] = partsOf(part, '*', '*', '*');
  if (operator?.name === 'Or') return [...comparisonsOf(first), ...comparisonsOf(last)];
  const how = lookUp(operators, operator?.name ?? '') ?? lost();
  const whole = plus(linearOf(first), times(linearOf(last), -1));
  const { selector, factor, time, constant } = whole;
  const perMetric = Number((time / factor).toFixed(9));
  const limit = Number((-constant / factor).toFixed(6));
  if (selector === null || ![0, -1].includes(perMetric) || !Number.isFinite(limit)) return lost();
  const isAhead = perMetric !== 0;
  return [{ ...selector, isAhead, operator: factor < 0 ? flipped[how] : how, limit }];
}

const longestExpression = 5_000;

/** Null for an expression that is more than comparisons joined by `or`. */
export function comparisonsIn(expression: string): Comparison[] | null {
  if (expression.length > longestExpression) return null;
  try {
    return comparisonsOf(partOf(parser.parse(expression).topNode, expression));
  } catch (thrown) {
    if (thrown instanceof NotUnderstood) return null;
    throw thrown;
  }
}
