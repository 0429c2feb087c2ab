/** Comparisons of numbers by their operator, as most languages write it. */
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
