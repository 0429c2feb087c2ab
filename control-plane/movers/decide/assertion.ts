import type { Operator } from './compare.ts';

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
