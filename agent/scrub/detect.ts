/**
 * Finds credentials nobody declared: by their shape (`token-shapes.ts`), by the name beside them
 * (`named-values.ts`), and private keys. It would rather miss one than hide an id: UUIDs, digests,
 * pictures in base64 and trace ids stay.
 */
import { HeldText } from './held-text.ts';
import { Matcher } from './matcher.ts';
import { isCredential, namedValue, nameAnchors } from './named-values.ts';
import { mask } from './scrubber.ts';
import { tokenShapes } from './token-shapes.ts';

const keyBegin = '-----BEGIN';
const keyHeader = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y;
const keyEnd = '-----END';
const maxKeyLength = 65_536;

const anchors = new Matcher(
  [keyBegin, ...nameAnchors, ...tokenShapes.flatMap((shape) => shape.anchors)].map((text) =>
    Buffer.from(text),
  ),
);

/** Whether it is worth looking closer. */
export function mayHoldCredentials(text: Uint8Array): boolean {
  return anchors.has(text);
}

interface Found {
  start: number;
  end: number;
  /** A private key whose end has not come. */
  isOpen: boolean;
}

/** A long value that is no credential is not read again for each name in it: that would be slow. */
const longValue = 256;
const nothingUntil = (end: number): Found => ({ start: end, end, isOpen: false });

/** From the end of its header on. */
function privateKeyFrom(bytes: Buffer, start: number): Found {
  const within = bytes.subarray(start, start + maxKeyLength);
  const length = within.indexOf(keyEnd);
  if (length >= 0) return { start, end: start + length, isOpen: false };
  const end = start + within.length;
  return { start, end, isOpen: end === bytes.length };
}

/** What may begin with a character, so that the others are not tried there. */
const shapesByCharacter = Map.groupBy(
  tokenShapes.flatMap(({ anchors: beginnings, ...shape }) =>
    beginnings.map((beginning) => ({ ...shape, beginning })),
  ),
  ({ beginning }) => beginning.charCodeAt(0),
);
const namedCharacters = new Set(nameAnchors.map((name) => name.charCodeAt(0)));

/** Of a part of the bytes as text; gives positions in the bytes. */
function credentialAt(text: string, at: number, textStart: number): Found | null {
  const character = text.charCodeAt(at);
  for (const { beginning, pattern, accepts } of shapesByCharacter.get(character) ?? []) {
    if (!text.startsWith(beginning, at)) continue;
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    const value = match?.at(-1) ?? '';
    if (match === null || accepts?.(value) === false) continue;
    const end = textStart + at + match[0].length;
    return { start: end - value.length, end, isOpen: false };
  }
  if (!namedCharacters.has(character)) return null;
  namedValue.lastIndex = at;
  const match = namedValue.exec(text);
  if (match === null) return null;
  const [whole, word = '', rest = '', value = ''] = match;
  const end = textStart + at + whole.length;
  if (!isCredential(word, rest, value)) return value.length < longValue ? null : nothingUntil(end);
  return { start: end - value.length, end, isOpen: false };
}

/** No pattern reaches further than this. */
const longestMatch = 40_000;
/** V8 takes memory from the system for each longer string, which costs more than all the searching. */
const textLength = 120_000;

function credentialsIn(bytes: Buffer): Found[] {
  const places = anchors.regions(bytes);
  const found: Found[] = [];
  let end = 0;
  let text = '';
  let textStart = 0;
  for (let index = 0; index < places.length; index += 2) {
    const at = places[index] ?? 0;
    if (at < end) continue;
    if (at + longestMatch > textStart + text.length && textStart + text.length < bytes.length) {
      // What stands before a match decides too.
      textStart = Math.max(0, at - 1);
      // One character stands for one byte, so that positions are those of bytes.
      text = bytes.toString('latin1', textStart, textStart + textLength);
    }
    keyHeader.lastIndex = at - textStart;
    const credential = keyHeader.test(text)
      ? privateKeyFrom(bytes, textStart + keyHeader.lastIndex)
      : credentialAt(text, at - textStart, textStart);
    if (credential === null) continue;
    ({ end } = credential);
    if (end > credential.start || credential.isOpen) found.push(credential);
  }
  return found;
}

const maskBytes = Buffer.from(mask);

function hide(bytes: Buffer, found: readonly Found[]): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const { start, end } of found) {
    parts.push(bytes.subarray(at, start), maskBytes);
    at = end;
  }
  parts.push(bytes.subarray(at));
  return Buffer.concat(parts);
}

export function holdsCredentials(bytes: Buffer): boolean {
  return credentialsIn(bytes).length > 0;
}

/** The bytes themselves when nothing was found. */
export function hideCredentials(bytes: Buffer): Buffer {
  const found = credentialsIn(bytes);
  return found.length === 0 ? bytes : hide(bytes, found);
}

const maxLine = 65_536;

/** Where a text can be cut without cutting through a credential and its name. */
function lastSafeCut(bytes: Buffer): number {
  const newline = bytes.lastIndexOf(0x0a) + 1;
  if (newline > 0 || bytes.length < maxLine) return newline;
  for (const delimiter of [',', '&', '}', ' ']) {
    const cut = bytes.lastIndexOf(delimiter) + 1;
    if (cut > bytes.length / 2) return cut;
  }
  return bytes.length;
}

/** The same for bytes that arrive in pieces; waits for the ends of lines, but not for ever. */
export class CredentialDetector {
  readonly #text = new HeldText();
  /** Bytes of a private key that may still come before its end. */
  #keyLeft = 0;
  hasFound = false;

  push(chunks: readonly Buffer[]): Buffer[] {
    const text = this.#text.join(chunks);
    return this.#takeUntil(lastSafeCut(text), text);
  }

  end(): Buffer[] {
    const text = this.#text.join([]);
    return this.#takeUntil(text.length, text);
  }

  #takeUntil(cut: number, text: Buffer): Buffer[] {
    const before = this.#text.cut(cut);
    const scrubbed = this.#scrub(text.subarray(0, cut));
    return scrubbed === null ? before : [scrubbed];
  }

  /** Null when there is nothing to remove. */
  #scrub(text: Buffer): Buffer | null {
    if (this.#keyLeft > 0) {
      const end = text.indexOf(keyEnd);
      const hidden = Math.min(end < 0 ? text.length : end, this.#keyLeft);
      this.#keyLeft = end < 0 ? this.#keyLeft - hidden : 0;
      const rest = text.subarray(hidden);
      // The text is overwritten by the next one.
      return hidden === text.length ? Buffer.alloc(0) : (this.#scrub(rest) ?? Buffer.from(rest));
    }
    const found = credentialsIn(text);
    if (found.length === 0) return null;
    this.hasFound = true;
    const last = found.at(-1);
    if (last?.isOpen === true) this.#keyLeft = maxKeyLength - (last.end - last.start);
    return hide(text, found);
  }
}
