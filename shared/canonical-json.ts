import { configure } from 'safe-stable-stringify';

const stringify = configure({ strict: true });

/**
 * JSON in the one form of RFC 8785: sorted keys, no spaces. Throws a TypeError for what JSON does not
 * have. Equal values have equal texts.
 */
export function canonicalJson(value: unknown): string {
  const text = stringify(value);
  if (text === undefined) throw new TypeError('it is no JSON');
  return text;
}
