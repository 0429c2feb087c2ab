/**
 * What is searched for in place of a secret: the value and its parts, in every encoding.
 *
 * A secret of fewer than four characters is not removed, nor is one that is a word of formats and
 * protocols or a small number: replacing `/`, `123` or `true` wherever they stand would destroy
 * what is scrubbed and still hide nothing. Such secrets are counted and reported instead.
 */
import { encodings } from './encodings.ts';
import { mask } from './scrubber.ts';

const minLength = 4;
const minNumberLength = 6;
const minPartLength = 8;
/** Beyond so many lines, lines are searched for as they are: a file of lines is not a password. */
const maxEncodedLines = 200;

const words = new Set([
  ...['true', 'false', 'null', 'none', 'undefined', 'NaN', 'http', 'https', 'localhost'],
  ...['http://', 'https://', '/artifact/', 'name', 'value'],
  ...['sha1', '_sha1', 'type', 'text', 'html', 'json', 'data', 'GET', 'POST', 'HTTP/1.1'],
]);

/** False when removing the secret would destroy more than it hides. */
export function isRemovable(secret: string): boolean {
  const text = secret.trim();
  if (text.length < minLength || words.has(text) || mask.includes(text)) return false;
  if (/^[\d.,:-]*$/.test(text) && text.replace(/\D/g, '').length < minNumberLength) return false;
  return !/^[*/\s]*$/.test(text);
}

/** The value as it may be stored: other line ends, without white space around, composed or not. */
function spellings(secret: string): Set<string> {
  const result = new Set<string>();
  for (const text of [secret, secret.trim()]) {
    const lines = text.replaceAll('\r\n', '\n');
    for (const ends of [text, lines, lines.replaceAll('\n', '\r\n')]) {
      result.add(ends);
      result.add(ends.normalize('NFC'));
      result.add(ends.normalize('NFD'));
    }
  }
  return result;
}

/** Lines of a secret of several, such as a key file, and the segments of a token (RFC 7519). */
function partsOf(secret: string): string[] {
  const lines = secret.includes('\n') ? secret.split(/[\r\n]+/) : [];
  const isToken = /^[\w-]{8,}\.[\w-]{8,}(\.[\w-]*)*$/.test(secret.trim());
  const segments = isToken ? secret.trim().split('.') : [];
  return [...lines, ...segments].filter((part) => part.trim().length >= minPartLength);
}

function encodedForms(text: string, into: Map<string, Buffer>): void {
  for (const encode of Object.values(encodings)) {
    for (const form of encode(text)) {
      const needle = typeof form === 'string' ? Buffer.from(form) : form;
      if (needle.length >= minLength) into.set(needle.toString('latin1'), needle);
    }
  }
}

/** Everything to search for, without duplicates; nothing when the secret cannot be removed. */
export function needlesOf(secret: string): Buffer[] {
  if (!isRemovable(secret)) return [];
  const needles = new Map<string, Buffer>();
  for (const spelling of spellings(secret)) encodedForms(spelling, needles);
  const parts = partsOf(secret).filter(isRemovable);
  for (const part of parts) {
    if (parts.length <= maxEncodedLines) encodedForms(part, needles);
    else needles.set(part, Buffer.from(part));
  }
  return [...needles.values()];
}
