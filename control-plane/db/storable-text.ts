/**
 * Texts that PostgreSQL takes. It stores no NUL and no half of a surrogate pair, and refuses to read a
 * JSON text that has one of them as an escape, in whatever field is asked for. SQLite takes all of these.
 */
import { isJson } from './columns.ts';

const replacement = '\u{fffd}';
/** Cheap: nearly no text has one of them. */
const suspicious = /\0|\\u(0000|[dD][89a-fA-F])/;
/** Escapes of JSON, of which pairs of surrogates stay. */
const escapes =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u0000|u[dD][89a-fA-F][\da-fA-F]{2})|[^])/g;

/** The text with U+FFFD for what PostgreSQL does not store, also where a JSON object or list has it. */
export function storableText(text: string): string {
  const formed = text.toWellFormed();
  if (!suspicious.test(formed)) return formed;
  const plain = formed.replaceAll('\0', replacement);
  if (!/^[[{]/.test(plain) || !isJson(plain)) return plain;
  return plain.replace(escapes, (escape, refused: string | undefined) =>
    refused === undefined ? escape : replacement,
  );
}
