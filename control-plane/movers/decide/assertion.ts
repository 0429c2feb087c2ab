/** Assertions, and comparisons of numbers by their operator, as most languages write it. */
export type Operator = '==' | '!=' | '<' | '<=' | '>' | '>=';

export const compare: Readonly<Record<Operator, (value: number, limit: number) => boolean>> = {
  '==': (value, limit) => value === limit,
  '!=': (value, limit) => value !== limit,
  '<': (value, limit) => value < limit,
  '<=': (value, limit) => value <= limit,
  '>': (value, limit) => value > limit,
  '>=': (value, limit) => value >= limit,
};

/** The operator with its sides changed. */
export const flipped: Readonly<Record<Operator, Operator>> = {
  ...{ '==': '==', '!=': '!=', '<=': '>=', '>=': '<=', '<': '>', '>': '<' },
};

/** The number next to another one: nothing lies between, so "above the one before" is "at least". */
export function adjacent(number: number, isAbove: boolean): number {
  if (number === 0) return isAbove ? Number.MIN_VALUE : -Number.MIN_VALUE;
  const bits = new BigInt64Array(new Float64Array([number]).buffer);
  bits[0] = (bits[0] ?? 0n) + (number > 0 === isAbove ? 1n : -1n);
  return new Float64Array(bits.buffer)[0] ?? number;
}

/** One assertion of a check. */
export type Assertion = Readonly<Record<string, unknown>>;

/** `where` is what it looks at within its source, such as a `property`. */
export function assertion(
  source: string,
  comparison: string,
  target: string | number = '',
  where: Assertion = {},
): Assertion {
  return { source, ...where, comparison, target: String(target) };
}

/** A comparison of a whole number. */
export function numeric(
  source: string,
  operator: Operator,
  number: number,
  where: Assertion = {},
): Assertion {
  const [comparison, target] = {
    '==': ['EQUALS', number] as const,
    '!=': ['NOT_EQUALS', number] as const,
    '<=': ['LESS_THAN', number + 1] as const,
    '>=': ['GREATER_THAN', number - 1] as const,
    '<': ['LESS_THAN', number] as const,
    '>': ['GREATER_THAN', number] as const,
  }[operator];
  return assertion(source, comparison, target, where);
}
