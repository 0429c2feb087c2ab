/** Values whose fields are not known yet. */

export type Fields = Record<string, unknown>;

/** True for an object that is neither null nor a list. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
