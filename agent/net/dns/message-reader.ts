/**
 * Reads the bytes of a DNS message that a stranger wrote. Every read stays inside its record, every
 * name ends, and what the message unfolds to in text is bounded; anything else throws
 * `MalformedAnswer`. That is why answers are not decoded by dns-packet: it ignores the length of a
 * record, shows what lies behind the end as "undefined", and follows pointers without a budget, so
 * that one answer of 64 KiB holds up the whole process for a quarter of a second.
 */

/** The message is not what RFC 1035 says a message is. */
export class MalformedAnswer extends Error {}

/** What all names of a message may unfold to; without a limit, 64 KiB compress sixteen million. */
const maxNamesLength = 262_144;
const maxNameLength = 255;
/** A name has at most 127 labels, so more pointers lead nowhere. */
const maxPointers = 127;

const plainLabel = /^[\w-]+$/;

function escapeDecimal(character: string): string {
  return `\\${String(character.charCodeAt(0)).padStart(3, '0')}`;
}

/** A label as dig shows it (RFC 4343 section 2.1), so that no byte of it reads as something else. */
function presentLabel(label: string): string {
  if (plainLabel.test(label)) return label;
  return label.replace(/[.\\"();@$]/g, '\\$&').replace(/[^\x21-\x7e]/g, escapeDecimal);
}

/** Text in quotation marks, byte for byte (RFC 1035 section 5.1). */
export function quoted(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  return `"${text.replace(/["\\]/g, '\\$&').replace(/[^\x20-\x7e]/g, escapeDecimal)}"`;
}

export class MessageReader {
  readonly #message: Buffer;
  #at: number;
  #end: number;
  #namesLength = 0;

  constructor(message: Buffer, at: number) {
    this.#message = message;
    this.#at = at;
    this.#end = message.length;
  }

  /** True when everything inside the present bounds was read. */
  get isAtEnd(): boolean {
    return this.#at === this.#end;
  }

  #take(size: number): number {
    const from = this.#at;
    if (from + size > this.#end) throw new MalformedAnswer('a field does not fit its record');
    this.#at = from + size;
    return from;
  }

  u8(): number {
    return this.#message.readUInt8(this.#take(1));
  }

  u16(): number {
    return this.#message.readUInt16BE(this.#take(2));
  }

  u32(): number {
    return this.#message.readUInt32BE(this.#take(4));
  }

  bytes(size: number): Buffer {
    const from = this.#take(size);
    return this.#message.subarray(from, from + size);
  }

  /** All that is left inside the present bounds. */
  rest(): Buffer {
    return this.bytes(this.#end - this.#at);
  }

  /** A character string: one byte of length, then so many bytes. */
  string(): Buffer {
    return this.bytes(this.u8());
  }

  /** A name with the dot at its end, pointers followed. Pointers lead backwards only. */
  name(): string {
    const message = this.#message;
    let at = this.#at;
    let end = this.#end;
    let before = at;
    let pointers = 0;
    let length = 1;
    let text = '';
    for (;;) {
      const size = at < end ? message.readUInt8(at) : -1;
      if (size < 0) throw new MalformedAnswer('a name runs out of its record');
      if (size === 0) break;
      if (size >= 0xc0) {
        if (at + 2 > end) throw new MalformedAnswer('a name runs out of its record');
        const target = message.readUInt16BE(at) & 0x3fff;
        pointers += 1;
        if (target >= before || pointers > maxPointers) {
          throw new MalformedAnswer('a name leads nowhere');
        }
        if (pointers === 1) this.#at = at + 2;
        at = before = target;
        end = message.length;
        continue;
      }
      length += size + 1;
      const next = at + 1 + size;
      if (size > 63 || length > maxNameLength || next > end) {
        throw new MalformedAnswer('a name is too long');
      }
      text += `${presentLabel(message.toString('latin1', at + 1, next))}.`;
      at = next;
    }
    if (pointers === 0) this.#at = at + 1;
    this.#namesLength += text.length;
    if (this.#namesLength > maxNamesLength) {
      throw new MalformedAnswer('its names are out of proportion');
    }
    return text === '' ? '.' : text;
  }

  /** Reads the next `size` bytes with a function that must use up all of them, and gives its text. */
  within(size: number, read: (reader: MessageReader) => string): string {
    const outerEnd = this.#end;
    this.#end = this.#take(size) + size;
    this.#at = this.#end - size;
    const text = read(this);
    if (!this.isAtEnd) throw new MalformedAnswer('a record is longer than its fields');
    this.#end = outerEnd;
    return text;
  }
}
