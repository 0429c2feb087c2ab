/**
 * Reads DER, as far as certificates and OCSP answers need it. What is read was sent by a stranger: every
 * length is checked, and nothing is believed to be there. Throws RangeError on anything else.
 */

export interface Element {
  /** Class, form and number in one byte: 0x30 is a SEQUENCE, 0xa0 an explicit [0]. */
  readonly tag: number;
  readonly content: Uint8Array;
}

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  sequence: 0x30,
} as const;

/** The element at the beginning, and what follows it. */
function readOne(bytes: Uint8Array): { element: Element; rest: Uint8Array } {
  const [tag, first] = bytes;
  if (tag === undefined || first === undefined) throw new RangeError('DER ends too early');
  let length = first;
  let at = 2;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw new RangeError('a length of DER is not supported');
    length = 0;
    for (; at < 2 + count; at += 1) length = length * 256 + (bytes[at] ?? 0);
  }
  if (at + length > bytes.length) throw new RangeError('DER ends too early');
  return {
    element: { tag, content: bytes.subarray(at, at + length) },
    rest: bytes.subarray(at + length),
  };
}

/** One element. */
export const read = (bytes: Uint8Array): Element => readOne(bytes).element;

/** The elements one after the other within another. */
export function children({ content }: Element): Element[] {
  const found: Element[] = [];
  for (let rest = content; rest.length > 0;) {
    const next = readOne(rest);
    found.push(next.element);
    rest = next.rest;
  }
  return found;
}

/** The child at a place. */
export function child(parent: Element | undefined, index: number): Element {
  const found = parent === undefined ? undefined : children(parent)[index];
  if (found === undefined) throw new RangeError('an element of DER is missing');
  return found;
}

/** `1.2.840.113549.1.1.11`. */
export function oidOf({ content }: Element): string {
  const parts: number[] = [];
  let value = 0;
  for (const byte of content) {
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      parts.push(value);
      value = 0;
    }
  }
  const [first = 0, ...others] = parts;
  const top = Math.min(2, Math.floor(first / 40));
  return [top, first - top * 40, ...others].join('.');
}

/** An INTEGER that is not negative, as decimal digits. */
export function integerText({ content }: Element): string {
  return BigInt(`0x${Buffer.from(content).toString('hex') || '0'}`).toString();
}

/** A string of any of the kinds that names are written in. */
export function textOf({ tag, content }: Element): string {
  const bytes = Buffer.from(content);
  const isUtf16 = tag === 0x1e;
  return isUtf16 ? bytes.swap16().toString('utf16le') : bytes.toString('utf8');
}
