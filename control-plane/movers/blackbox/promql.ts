/** What an alert rule compares, by the grammar of Prometheus: understood whole, or not at all. */
import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { flipped, type Operator } from '../decide/compare.ts';
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

/** `factor × metric + time × time() + constant`. */
interface Linear {
  selector: Selector | null;
  factor: number;
  time: number;
  constant: number;
}

const constantOf = (constant: number): Linear => ({ selector: null, factor: 0, time: 0, constant });
const isConstant = ({ selector, time }: Linear) => selector === null && time === 0;

const times = (linear: Linear, by: number): Linear => ({
  selector: linear.selector,
  ...{ factor: linear.factor * by, time: linear.time * by, constant: linear.constant * by },
});

function plus(left: Linear, right: Linear): Linear {
  if (left.selector !== null && right.selector !== null) throw new NotUnderstood();
  return {
    selector: left.selector ?? right.selector,
    factor: left.factor + right.factor,
    time: left.time + right.time,
    constant: left.constant + right.constant,
  };
}

const operators: Readonly<Record<string, Operator>> = {
  ...{ Eql: '==', Neq: '!=', Lss: '<', Lte: '<=', Gtr: '>', Gte: '>=' },
};

const escapes: Readonly<Record<string, string>> = {
  ...{ '\\': '\\', '"': '"', "'": "'", n: '\n', r: '\r', t: '\t' },
};

class Reader {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  #words({ from, to }: SyntaxNode): string {
    return this.#text.slice(from, to);
  }

  #children(node: SyntaxNode): SyntaxNode[] {
    const found: SyntaxNode[] = [];
    for (let each = node.firstChild; each !== null; each = each.nextSibling) {
      if (each.type.isError) throw new NotUnderstood();
      if (each.name !== 'LineComment') found.push(each);
    }
    return found;
  }

  /** A text in double, single or back quotes. */
  #string(node: SyntaxNode | undefined): string {
    if (node?.name !== 'StringLiteral') throw new NotUnderstood();
    const quoted = this.#words(node);
    const text = quoted.slice(1, -1);
    if (quoted.startsWith('`')) return text;
    return text.replace(/\\(.)/gs, (_whole, letter: string) => {
      const meant = lookUp(escapes, letter);
      if (meant === undefined) throw new NotUnderstood();
      return meant;
    });
  }

  #selector(node: SyntaxNode, isAverage: boolean): Selector {
    const [identifier, matchers, ...others] = this.#children(node);
    if (identifier?.name !== 'Identifier' || others.length > 0) throw new NotUnderstood();
    const read = (matchers === undefined ? [] : this.#children(matchers)).map((matcher) => {
      const [label, operator, value] = this.#children(matcher);
      if (label?.name !== 'LabelName' || operator === undefined) throw new NotUnderstood();
      return [this.#words(label), this.#words(operator), this.#string(value)] as const;
    });
    const matches = read.map((matcher) => matcherOf(...matcher));
    return {
      metric: this.#words(identifier),
      looksAt: read.map(([label]) => label),
      isAverage,
      selects: (labels) => matches.every((one) => one(labels)),
    };
  }

  #call(node: SyntaxNode): Linear {
    const [name, body] = this.#children(node);
    const [inner, ...others] = body === undefined ? [] : this.#children(body);
    if (name === undefined || others.length > 0) throw new NotUnderstood();
    const called = this.#words(name);
    if (called === 'time' && inner === undefined) return { ...constantOf(0), time: 1 };
    const isOverTime = called === 'avg_over_time' || called === 'last_over_time';
    if (!isOverTime || inner?.name !== 'MatrixSelector') throw new NotUnderstood();
    const [vector] = this.#children(inner);
    if (vector?.name !== 'VectorSelector') throw new NotUnderstood();
    return {
      ...constantOf(0),
      selector: this.#selector(vector, called !== 'last_over_time'),
      factor: 1,
    };
  }

  #linear(node: SyntaxNode): Linear {
    const [first, second, third, ...others] = this.#children(node);
    if (node.name === 'NumberDurationLiteral') {
      const text = this.#words(node);
      const value = goDuration(text) ?? Number(text);
      if (!Number.isFinite(value)) throw new NotUnderstood();
      return constantOf(value);
    }
    if (node.name === 'VectorSelector') {
      return { ...constantOf(0), selector: this.#selector(node, false), factor: 1 };
    }
    if (node.name === 'FunctionCall') return this.#call(node);
    if (node.name === 'ParenExpr' && first !== undefined) return this.#linear(first);
    if (node.name === 'UnaryExpr' && first !== undefined && second !== undefined) {
      return times(this.#linear(second), this.#words(first) === '-' ? -1 : 1);
    }
    const isBinary = node.name === 'BinaryExpr' && others.length === 0;
    if (!isBinary || first === undefined || second === undefined || third === undefined)
      throw new NotUnderstood();
    const left = this.#linear(first);
    const right = this.#linear(third);
    if (second.name === 'Add') return plus(left, right);
    if (second.name === 'Sub') return plus(left, times(right, -1));
    if (second.name === 'Mul' && isConstant(left)) return times(right, left.constant);
    if (second.name === 'Mul' && isConstant(right)) return times(left, right.constant);
    if (second.name === 'Div' && isConstant(right)) return times(left, 1 / right.constant);
    throw new NotUnderstood();
  }

  /** The comparisons of which one is enough. */
  comparisons(node: SyntaxNode): Comparison[] {
    const [first, operator, last, ...others] = this.#children(node);
    if ((node.name === 'PromQL' || node.name === 'ParenExpr') && first !== undefined) {
      return this.comparisons(first);
    }
    const isBinary = node.name === 'BinaryExpr' && others.length === 0;
    if (!isBinary || first === undefined || operator === undefined || last === undefined)
      throw new NotUnderstood();
    if (operator.name === 'Or') return [...this.comparisons(first), ...this.comparisons(last)];
    const how = lookUp(operators, operator.name);
    const { selector, factor, time, constant } = plus(
      this.#linear(first),
      times(this.#linear(last), -1),
    );
    const perMetric = Number((time / factor).toFixed(9));
    if (how === undefined || selector === null || ![0, -1].includes(perMetric))
      throw new NotUnderstood();
    const limit = Number((-constant / factor).toFixed(6));
    if (!Number.isFinite(limit)) throw new NotUnderstood();
    return [
      { ...selector, isAhead: perMetric !== 0, operator: factor < 0 ? flipped[how] : how, limit },
    ];
  }
}

const longestExpression = 5_000;

/** Null for an expression that is more than comparisons joined by `or`. */
export function comparisonsIn(expression: string): Comparison[] | null {
  if (expression.length > longestExpression) return null;
  try {
    return new Reader(expression).comparisons(parser.parse(expression).topNode);
  } catch (thrown) {
    if (thrown instanceof NotUnderstood) return null;
    throw thrown;
  }
}
