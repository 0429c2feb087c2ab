/**
 * What is searched for in place of a secret: the value and its parts, in every encoding.
 *
 * A secret of fewer than four characters is not removed, nor is one that is a word of formats and
 * protocols or a small number: replacing `/`, `123` or `true` wherever they stand would destroy
 * what is scrubbed and still hide nothing. Such secrets are counted and reported instead.
 */
import { base64Pieces, encodings } from './encodings.ts';
import type { Needle } from './matcher.ts';
import { mask } from './scrubber.ts';

const minLength = 4;
const minNumberLength = 6;
const minPartLength = 8;
/** Shorter secrets are searched for as they are written: `Test` in other letters is a word. */
const minAnyCaseLength = 8;
/** What must be left of a secret that lost its letters beyond ASCII. */
const minLeftLength = 6;
/** Beyond so many characters, only the value itself is searched for in every encoding. */
const maxMisreadLength = 1_024;
/** How much of base64 in lines must stand on the line that it begins on. */
const anchorLength = 16;
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

/**
 * What programs make of letters beyond ASCII: bytes read in another charset than they were written in,
 * letters that were lost on the way, and both cases, which the matcher does not know of these.
 */
function misread(text: string): string[] {
  if (/^[\x00-\x7f]*$/.test(text) || text.length > maxMisreadLength) return [];
  const bytes = Buffer.from(text);
  const lost = [
    new TextDecoder().decode(Buffer.from(text, 'latin1')),
    text.replace(/[^\x00-\x7f]/g, '?'),
    text.replace(/[^\x00-\x7f]/gu, '?'),
    text.replace(/[^\x00-\x7f]/gu, '\ufffd'),
  ].filter((rest) => rest.replace(/[?\ufffd\s]/g, '').length >= minLeftLength);
  const cases = text.length < minAnyCaseLength ? [] : [text.toUpperCase(), text.toLowerCase()];
  return [
    bytes.toString('latin1'),
    new TextDecoder('windows-1252').decode(bytes),
    ...lost,
    ...cases,
  ];
}

/** Lines of a secret of several, such as a key file, and the segments of a token (RFC 7519). */
function partsOf(secret: string): string[] {
  const lines = secret.includes('\n') ? secret.split(/[\r\n]+/) : [];
  const isToken = /^[\w-]{8,}\.[\w-]{8,}(\.[\w-]*)*$/.test(secret.trim());
  const segments = isToken ? secret.trim().split('.') : [];
  return [...lines, ...segments].filter((part) => part.trim().length >= minPartLength);
}

function encodedForms(text: string, into: Map<string, Needle>): void {
  const anyCase = text.length >= minAnyCaseLength;
  for (const [name, encode] of Object.entries(encodings)) {
    const isBase64 = name === 'base64' || name === 'base64url';
    for (const form of encode(text)) {
      const bytes = typeof form === 'string' ? Buffer.from(form) : form;
      if (bytes.length < minLength) continue;
      enter({ bytes, anyCase, ...(isBase64 ? { base64: 'form' } : {}) }, into);
      // Others than beginnings, and shorter ones than the value, would slow down the search.
      const anchor = bytes.subarray(0, Math.min(anchorLength, Buffer.byteLength(text)));
      if (isBase64) enter({ bytes: anchor, anyCase, base64: 'anchor' }, into);
      // A header is read byte by byte, whatever was written in it.
      if (
        typeof form === 'string' &&
        bytes.length > form.length &&
        bytes.length <= maxMisreadLength
      )
        enter({ bytes: Buffer.from(bytes.toString('latin1')), anyCase }, into);
    }
  }
}

function enter(needle: Needle, into: Map<string, Needle>): void {
  const { bytes, anyCase, base64 = '' } = needle;
  const text = bytes.toString('latin1');
  const lower = anyCase ? text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : text;
  const bytesOf = anyCase ? Buffer.from(lower, 'latin1') : bytes;
  into.set(`${anyCase} ${base64} ${lower}`, { ...needle, bytes: bytesOf });
}

/** Everything to search for, without duplicates; nothing when the secret cannot be removed. */
export function needlesOf(secret: string): Needle[] {
  if (!isRemovable(secret)) return [];
  const needles = new Map<string, Needle>();
  const written = spellings(secret);
  for (const spelling of new Set([...written].flatMap((text) => [text, ...misread(text)]))) {
    encodedForms(spelling, needles);
  }
  for (const piece of base64Pieces(secret.trim().replaceAll('\r\n', '\n')))
    enter({ bytes: Buffer.from(piece), anyCase: true, base64: 'piece' }, needles);
  const parts = partsOf(secret).filter(isRemovable);
  for (const part of parts) {
    if (parts.length > maxEncodedLines)
      enter({ bytes: Buffer.from(part), anyCase: false }, needles);
    else for (const text of [part, ...misread(part)]) encodedForms(text, needles);
  }
  return [...needles.values()];
}
