/** The first message of a TLS client, as far as an intercepting proxy needs it. */

const handshakeRecord = 22;
const clientHelloMessage = 1;
const applicationProtocols = 16;
const recordHeader = 5;
const maxBytes = 32_768;

/** The kind of a connection, from its first bytes. */
export type Opening =
  | { readonly kind: 'incomplete' }
  /** Not TLS. */
  | { readonly kind: 'other' }
  /** `protocols` are the offered ALPN protocols, `h2` and `http/1.1` for browsers. */
  | { readonly kind: 'tls'; readonly protocols: readonly string[] };

/** Reads numbers and byte strings in order. Throws RangeError at the end. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  number(size: 1 | 2 | 3): number {
    const value = this.#bytes.readUIntBE(this.#at, size);
    this.#at += size;
    return value;
  }

  /** Bytes with a length prefix. */
  vector(size: 1 | 2 | 3): Buffer {
    const length = this.number(size);
    return this.take(length);
  }

  take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw new RangeError('the message ends early');
    const part = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return part;
  }
}

/** The handshake bytes of the first records; null while some are missing. */
function handshakeOf(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = [];
  let at = 0;
  let had = 0;
  for (;;) {
    if (bytes.length < at + recordHeader) return null;
    if (bytes[at] !== handshakeRecord) throw new RangeError('another record comes in between');
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0) throw new RangeError('a record of a handshake is never empty');
    if (bytes.length < at + recordHeader + length) return null;
    parts.push(bytes.subarray(at + recordHeader, at + recordHeader + length));
    at += recordHeader + length;
    had += length;
    if (had < 4) continue;
    const whole = Buffer.concat(parts);
    if (had >= 4 + whole.readUIntBE(1, 3)) return whole;
  }
}

function protocolsOf(handshake: Buffer): string[] {
  const reader = new Reader(handshake);
  if (reader.number(1) !== clientHelloMessage) throw new RangeError('not a ClientHello');
  const hello = new Reader(reader.vector(3));
  hello.take(2 + 32);
  hello.vector(1);
  hello.vector(2);
  hello.vector(1);
  if (hello.isAtEnd) return [];
  const extensions = new Reader(hello.vector(2));
  while (!extensions.isAtEnd) {
    const type = extensions.number(2);
    const content = extensions.vector(2);
    if (type !== applicationProtocols) continue;
    const list = new Reader(new Reader(content).vector(2));
    const protocols: string[] = [];
    while (!list.isAtEnd) protocols.push(list.vector(1).toString('latin1'));
    return protocols;
  }
  return [];
}

/** Recognises TLS from the bytes so far. RFC 8446, 4.1.2; RFC 7301. */
export function readOpening(bytes: Buffer): Opening {
  if (bytes.length === 0) return { kind: 'incomplete' };
  if (bytes[0] !== handshakeRecord) return { kind: 'other' };
  try {
    const handshake = handshakeOf(bytes);
    if (handshake !== null) return { kind: 'tls', protocols: protocolsOf(handshake) };
    return { kind: bytes.length > maxBytes ? 'other' : 'incomplete' };
  } catch {
    return { kind: 'other' };
  }
}
