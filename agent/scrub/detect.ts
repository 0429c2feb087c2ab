/**
 * Finds credentials nobody declared: by their shape, by the name beside them, and private keys
 * (`shared/credentials/`). It would rather miss one than hide an id: UUIDs, digests,
 * pictures in base64 and trace ids stay.
 */
import {
  credentialAt,
  type FoundCredential,
  keyBegin,
  privateKeyAt,
} from '@monitor/shared/credentials/credential-at.ts';
import { nameAnchors } from '@monitor/shared/credentials/named-values.ts';
import { tokenShapes } from '@monitor/shared/credentials/token-shapes.ts';
import { HeldText } from './held-text.ts';
import { Matcher } from './matcher.ts';
import { mask } from './scrubber.ts';

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

interface Found extends FoundCredential {
  /** A private key whose end has not come. */
  isOpen: boolean;
}

/** From the end of its header on. */
function privateKeyFrom(bytes: Buffer, start: number): Found {
  const within = bytes.subarray(start, start + maxKeyLength);
  const length = within.indexOf(keyEnd);
  if (length >= 0) return { start, end: start + length, isOpen: false };
  const end = start + within.length;
  return { start, end, isOpen: end === bytes.length };
}

const withinBytes = (found: FoundCredential | null, textStart: number): Found | null =>
  found && { start: textStart + found.start, end: textStart + found.end, isOpen: false };

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
    const keyStart = privateKeyAt(text, at - textStart);
    const credential =
      keyStart === null
        ? withinBytes(credentialAt(text, at - textStart), textStart)
        : privateKeyFrom(bytes, textStart + keyStart);
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
