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
