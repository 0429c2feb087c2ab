/** Finds credentials nobody declared, in a text. It would rather miss one than take an id for one. */
import { isCredential, namedValue, nameAnchors } from './named-values.ts';
import { tokenShapes } from './token-shapes.ts';

/** Where a credential stands: from `start` to before `end`. Nothing stands there where they are equal. */
export interface FoundCredential {
  start: number;
  end: number;
}

export const keyBegin = '-----BEGIN';
const keyHeader = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;

/** Where a private key begins behind the header that begins with this character. */
export function privateKeyAt(text: string, at: number): number | null {
  keyHeader.lastIndex = at;
  return keyHeader.test(text) ? keyHeader.lastIndex : null;
}

/** A long value that is no credential is not read again for each name in it: that would be slow. */
const longValue = 256;

/** What may begin with a character, so that the others are not tried there. */
const shapesByCharacter = Map.groupBy(
  tokenShapes.flatMap(({ anchors: beginnings, ...shape }) =>
    beginnings.map((beginning) => ({ ...shape, beginning })),
  ),
  ({ beginning }) => beginning.charCodeAt(0),
);
const namedCharacters = new Set(nameAnchors.map((name) => name.charCodeAt(0)));

/** The credential that begins with a character of a text, with its name; null for none. */
export function credentialAt(text: string, at: number): FoundCredential | null {
  const character = text.charCodeAt(at);
  for (const { beginning, pattern, accepts } of shapesByCharacter.get(character) ?? []) {
    if (!text.startsWith(beginning, at)) continue;
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    const value = match?.at(-1) ?? '';
    if (match === null || accepts?.(value) === false) continue;
    const end = at + match[0].length;
    return { start: end - value.length, end };
  }
  if (!namedCharacters.has(character)) return null;
  namedValue.lastIndex = at;
  const match = namedValue.exec(text);
  if (match === null) return null;
  const [whole, word = '', rest = '', value = ''] = match;
  const end = at + whole.length;
  if (isCredential(word, rest, value)) return { start: end - value.length, end };
  return value.length < longValue ? null : { start: end, end };
}

/** The credentials of a text, in their order, without the names beside them. */
export function credentialsOf(text: string): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const keyStart = text[at] === '-' ? privateKeyAt(text, at) : null;
    const credential =
      keyStart === null ? credentialAt(text, at) : { start: keyStart, end: text.length };
    if (credential === null) continue;
    if (credential.end > credential.start) found.push(text.slice(credential.start, credential.end));
    at = credential.end - 1;
  }
  return found;
}
