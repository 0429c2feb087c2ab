/** Values of template variables: comparing and printing. */

export type TemplateValue = string | number | boolean | null | readonly TemplateValue[];

/** The printed text of a value. */
export function printed(value: TemplateValue): string {
  if (value === null) return '';
  return Array.isArray(value) ? value.map(printed).join(',') : String(value);
}

/** True as in `{{#if X}}`: false for null, `false`, 0, an empty text or list. */
export function isTruthy(value: TemplateValue): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

export function listOf(value: TemplateValue): readonly TemplateValue[] | null {
  return Array.isArray(value) ? (value as readonly TemplateValue[]) : null;
}

/** True for equal values of the same type. */
export function isSame(left: TemplateValue, right: TemplateValue): boolean {
  return left === right;
}

/** True for equal printed texts: 200 and "200". */
export function isAlike(left: TemplateValue, right: TemplateValue): boolean {
  if (left === null || right === null) return left === right;
  return printed(left) === printed(right) || (isNumeric(left) && Number(left) === Number(right));
}

/** True for a number, and for a text that is one. */
export function isNumeric(value: TemplateValue): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value));
}

/** Compares numbers by size, otherwise texts by characters. Negative when `left` is less. */
export function order(left: TemplateValue, right: TemplateValue): number {
  if (isNumeric(left) && isNumeric(right)) return Number(left) - Number(right);
  const [one, other] = [printed(left), printed(right)];
  return one < other ? -1 : Number(one > other);
}
