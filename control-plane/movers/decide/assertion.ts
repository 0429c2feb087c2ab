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
