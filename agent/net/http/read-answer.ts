/**
 * Reads one answer of HTTP/1 from a connection of its own, as browsers do: what RFC 9112 lets a recipient
 * repair is repaired and said in `deviations`. Nothing can be smuggled in where a connection has one answer:
 * it counts once it is complete, and what follows is not read. The result is the same however the bytes
 * are cut.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { protocolOf } from '../tls/second-look.ts';

const maxHeadBytes = 131_072;
/** A server sends a few of them: 100, 103. */
export const maxInterim = 100;
/** Enough to tell HTTP from other protocols. */
const telltaleBytes = 9;
/** Stray bytes before an answer, which browsers skip. */
const maxBefore = 4;
const maxDeviations = 20;

export class AnswerError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** An answer, and a stream of its body. */
export class Answer extends Readable {
  readonly socket: Socket;
  status = 0;
  statusText = '';
  httpVersion = '';
  headers: IncomingHttpHeaders = {};
  /** The header with its bytes as they came, percent-encoded where they are not ASCII. */
  location: string | undefined;
  /** The values of `Set-Cookie`, a character for each byte. */
  readonly cookies: string[] = [];
  /** The body ends by itself, not with the connection. */
  isFramed = true;
  /** All of it has come; an error of the connection after that changes nothing. */
  isWhole = false;
  /** Why the body ended early. */
  problem: AnswerError | null = null;

  constructor(socket: Socket, source: Pick<Readable, 'resume'> = socket) {
    super({ read: () => void source.resume() });
    this.socket = socket;
  }
}

export interface AnswerListener {
  /** The head is there; the body may be read. */
  onHead(answer: Answer): void;
  onDeviation(text: string): void;
  onError(error: AnswerError): void;
}

/** Of these one value is all there is; the others are lists. */
const single = new Set(
  (
    'age authorization content-length content-type etag expires from host if-modified-since ' +
    'if-unmodified-since last-modified location max-forwards proxy-authorization referer ' +
    'retry-after server user-agent'
  ).split(' '),
);

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;
/** By hand: a pattern that ends with `$` takes time with the square of a run of spaces, which a target chooses. */
function trimmed(bytes: string): string {
  let [from, to] = [0, bytes.length];
  while (from < to && isBlank(bytes.charCodeAt(from))) from += 1;
  while (to > from && isBlank(bytes.charCodeAt(to - 1))) to -= 1;
  return bytes.slice(from, to);
}
const lowerCase = 0x20;
/** Whatever the case; the first letter says it of most lines. */
const startsWith = (line: string, name: string): boolean =>
  (line.charCodeAt(0) | lowerCase) === (name.charCodeAt(0) | lowerCase) &&
  line.slice(0, name.length).toLowerCase() === name.toLowerCase();
/** The value where a line that starts so is the header of this name. */
function valueIn(line: string, name: string): string | undefined {
  const [, value] = /^[ \t]*:(.*)$/s.exec(line.slice(name.length)) ?? [];
  return value === undefined ? undefined : trimmed(value);
}
/** A header without anything to say of it. */
const plainField = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;
const hex = (byte: number): string => `0x${byte.toString(16).padStart(2, '0')}`;

/** Text of header bytes: UTF-8 where they are, else Latin-1. */
function decoded(bytes: string): string {
  if (/^[\0-\x7f]*$/.test(bytes)) return bytes;
  const raw = Buffer.from(bytes, 'latin1');
  return isUtf8(raw) ? raw.toString('utf8') : bytes;
}

/** Takes the headers, whose values have a character for each byte. */
export function takeFields(
  answer: Answer,
  fields: readonly (readonly [name: string, value: string])[],
  deviation: (text: string) => void,
): void {
  const found = new Map<string, string>();
  for (const [shown, bytes] of fields) {
    const name = shown.toLowerCase();
    const value = decoded(bytes);
    const before = found.get(name);
    if (name === 'set-cookie') answer.cookies.push(bytes);
    else if (before === undefined) found.set(name, value);
    else if (!single.has(name) || value !== before) {
      found.set(name, `${before}${name === 'cookie' ? ';' : ','} ${value}`);
      if (single.has(name) && name !== 'content-length')
        deviation(`header \`${shown}\` is there with different values`);
    }
  }
  const headers: IncomingHttpHeaders = Object.fromEntries(found);
  if (answer.cookies.length > 0) headers['set-cookie'] = answer.cookies.map(decoded);
  answer.headers = headers;
  answer.location = fields
    .find(([name]) => /^location$/i.test(name))?.[1]
    .replaceAll(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Reads one answer; the caller closes the connection. */
class AnswerReader {
  readonly #socket: Socket;
  readonly #isHead: boolean;
  readonly #listener: AnswerListener;
  readonly #answer: Answer;
  #read: (() => boolean) | null = this.#readHeadLine;
  #chunk: Buffer = Buffer.alloc(0);
  #at = 0;
  #parts: Buffer[] = [];
  #partBytes = 0;
  #headBytes = 0;
  #lines: string[] = [];
  #interim = 0;
  #left = 0;
  #bodyBytes = 0;
  #length: number | null = null;
  #isChunked = false;
  readonly #said = new Set<string>();

  constructor(socket: Socket, isHead: boolean, listener: AnswerListener) {
    this.#socket = socket;
    this.#isHead = isHead;
    this.#listener = listener;
    this.#answer = new Answer(socket);
    socket.on('data', (data: Buffer) => {
      if (this.#read === null) return;
      this.#chunk = data;
      this.#at = 0;
      while (this.#read !== null && this.#at < this.#chunk.length && this.#read());
    });
    const onEnd = (): void => this.#onEnd();
    socket.once('end', onEnd).once('close', onEnd);
  }

  #deviation(text: string): void {
    if (this.#said.size >= maxDeviations || this.#said.has(text)) return;
    this.#said.add(text);
    this.#listener.onDeviation(text);
  }

  #finish(problem: AnswerError | null): false {
    this.#read = null;
    if (this.#answer.status === 0 && problem !== null) this.#listener.onError(problem);
    else {
      this.#answer.problem = problem;
      this.#answer.isWhole = problem === null;
      this.#answer.push(null);
    }
    return false;
  }

  #broken(code: string, message: string): false {
    return this.#finish(new AnswerError(code, message));
  }

  /** The next line without its end; null where it is not there yet. */
  #takeLine(): string | null {
    const end = this.#chunk.indexOf(0x0a, this.#at);
    const piece = this.#chunk.subarray(this.#at, end < 0 ? this.#chunk.length : end + 1);
    this.#at += piece.length;
    this.#headBytes += piece.length;
    this.#parts.push(piece);
    this.#partBytes += piece.length;
    if (this.#headBytes > maxHeadBytes) {
      this.#broken('HPE_HEADER_OVERFLOW', 'the headers are too large');
      return null;
    }
    if (end < 0) return null;
    const whole = this.#parts.length === 1 ? piece : Buffer.concat(this.#parts, this.#partBytes);
    const line = whole.toString('latin1', 0, this.#partBytes - 1);
    this.#parts = [];
    this.#partBytes = 0;
    if (line.endsWith('\r')) return line.slice(0, -1);
    this.#deviation('lines end with a bare line feed');
    return line;
  }

  /** No HTTP/1, as far as it has come. */
  #unlikeHttp(begin: string): AnswerError {
    // The frame SETTINGS of stream 0 begins each connection of HTTP/2.
    const isHttp2 = /^\0..\x04.\0{4}/s.test(begin);
    if (isHttp2) {
      const advice = 'asked by HTTP/1.1: set `httpVersion` to HTTP/2';
      return new AnswerError('HTTP2_ONLY', `the server speaks HTTP/2 only, and was ${advice}`);
    }
    // What is there however the bytes were cut.
    const name = protocolOf(begin.split('\n', 1).join('').slice(0, telltaleBytes))?.name ?? '';
    const spoken = /^(HTTP|$)/.test(name) ? '' : `, but ${name}`;
    return new AnswerError('HPE_INVALID_CONSTANT', `the answer is not HTTP${spoken}`);
  }

  #isUnlikeHttp(): boolean {
    if (this.#lines.length > 0 || this.#partBytes > telltaleBytes) return false;
    // Most answers: it is looked at once, without a copy.
    const beginsHere = this.#partBytes === 0;
    if (beginsHere && this.#chunk.toString('latin1', this.#at, this.#at + 5) === 'HTTP/')
      return false;
    const begin = Buffer.concat([
      ...this.#parts,
      this.#chunk.subarray(this.#at, this.#at + 64),
    ]).toString('latin1', 0, 64);
    const start = begin.replace(/^[\r\n]+/, '').toUpperCase();
    for (let before = 0; before <= maxBefore; before += 1) {
      if (start.slice(0, before).includes('\n')) break;
      if ('HTTP/'.startsWith(start.slice(before, before + 5))) return false;
    }
    if (begin.startsWith('\0') && begin.length < telltaleBytes) return false;
    this.#finish(this.#unlikeHttp(begin));
    return true;
  }

  #readHeadLine(): boolean {
    if (this.#isUnlikeHttp()) return false;
    const line = this.#takeLine();
    if (line === null) return false;
    if (line !== '') this.#lines.push(line);
    else if (this.#lines.length > 0) return this.#headIsWhole();
    return true;
  }

  #headIsWhole(): boolean {
    let head = this.#lines;
    this.#lines = [];
    if (head.some((line) => line.includes('\r'))) {
      this.#deviation('lines end with a bare carriage return');
      head = head.flatMap((line) => line.split('\r')).filter((line) => line !== '');
    }
    const [first = '', ...rest] = head;
    const match = /^(.{0,4}?)HTTP\/(\d+)(?:\.(\d+))?[ \t]+(\d{3})(?!\d)[ \t]*(.*)$/is.exec(first);
    if (match === null) {
      return /^.{0,4}?HTTP\//is.test(first)
        ? this.#broken('HPE_INVALID_STATUS', 'the answer has no status code of three digits')
        : this.#finish(this.#unlikeHttp(first));
    }
    const zero = head.findIndex((line) => line.includes('\0'));
    if (zero >= 0) {
      const place = zero === 0 ? 'the status line' : `line ${zero} of the headers`;
      return this.#broken('HPE_INVALID_HEADER_TOKEN', `${place} has a zero byte`);
    }
    for (const name of ['Location', 'Content-Disposition']) {
      const lines = rest.filter((line) => startsWith(line, name));
      if (lines.length < 2) continue;
      const values = new Set(lines.flatMap((line) => valueIn(line, name) ?? []));
      if (values.size > 1) {
        const given = [...values].map((value) => `"${value}"`).join(' and ');
        return this.#broken('AMBIGUOUS_HEADER', `the header \`${name}\` is ${given}`);
      }
    }
    const [, before = '', major = '', minor = '0', status = '', reason = ''] = match;
    if (before !== '') this.#deviation(`${before.length} bytes stand before the answer`);
    const code = Number(status);
    if (code === 0) {
      return this.#broken('HPE_INVALID_STATUS', 'the answer has the status 000, which is none');
    }
    if (code === 101) {
      return this.#broken(
        'UNASKED_UPGRADE',
        'the server switched protocols (101), which nobody asked for',
      );
    }
    if (code >= 100 && code < 200) {
      this.#headBytes = 0;
      this.#interim += 1;
      return (
        this.#interim <= maxInterim ||
        this.#broken('TOO_MANY_INTERIM', 'more interim responses (1xx) came')
      );
    }
    if (!this.#readHeaders(rest)) return false;
    this.#answer.status = code;
    this.#answer.statusText = decoded(reason);
    this.#answer.httpVersion = `${major}.${minor}`;
    const isEmpty = this.#isHead || code === 204 || code === 205 || code === 304;
    if (this.#isChunked && this.#length !== null) {
      this.#deviation('`Content-Length` beside `Transfer-Encoding: chunked`, which counts');
    }
    this.#answer.isFramed = isEmpty || this.#isChunked || this.#length !== null;
    this.#headBytes = 0;
    if (isEmpty) this.#left = 0;
    else if (this.#isChunked) this.#read = this.#readChunkSize;
    else this.#left = this.#length ?? Infinity;
    if (isEmpty || !this.#isChunked) this.#read = this.#readPlain;
    this.#listener.onHead(this.#answer);
    if (this.#read === this.#readPlain && this.#left === 0) this.#finish(null);
    return true;
  }

  /** False where they cannot be read, which ends the answer. */
  #readHeaders(rest: string[]): boolean {
    const fields: [name: string, value: string][] = [];
    for (const [index, line] of rest.entries()) {
      const last = fields.at(-1);
      if (/^[ \t]/.test(line) && last !== undefined) {
        this.#deviation(`header ${fields.length}, \`${last[0]}\`, is folded`);
        last[1] += ` ${trimmed(line)}`;
        continue;
      }
      const [, plainName, plainValue] = plainField.exec(line) ?? [];
      if (plainName !== undefined && plainValue !== undefined) {
        fields.push([plainName, plainValue]);
        continue;
      }
      const colon = line.indexOf(':');
      if (colon <= 0) {
        this.#deviation(`line ${index + 1} of the headers has no name and is left out`);
        continue;
      }
      const given = line.slice(0, colon);
      const raw = trimmed(given);
      const name = decoded(raw);
      const place = `header ${fields.length + 1}, \`${name}\`,`;
      if (raw !== given) this.#deviation(`${place} has a space before the colon`);
      const strange = /[^!#$%&'*+.^_`|~0-9A-Za-z-]/.exec(raw)?.[0];
      if (strange !== undefined) {
        this.#deviation(`${place} has the byte ${hex(strange.charCodeAt(0))} in its name`);
      }
      fields.push([name, line.slice(colon + 1)]);

      const control = /[\0-\x08\x0a-\x1f\x7f]/.exec(line)?.[0];
      if (control !== undefined) {
        this.#deviation(`${place} has the control byte ${hex(control.charCodeAt(0))}`);
      }
    }
    for (const field of fields) field[1] = trimmed(field[1]);
    takeFields(this.#answer, fields, (text) => this.#deviation(text));
    const { headers } = this.#answer;
    const lengths = fields
      .filter(([name]) => /^content-length$/i.test(name))
      .flatMap(([, value]) => value.split(',').map((one) => one.trim()));
    this.#isChunked = /(^|,)[ \t]*chunked[ \t]*(,|$)/i.test(headers['transfer-encoding'] ?? '');
    if (new Set(lengths).size > 1 && !this.#isChunked) {
      const given = lengths.join(' and ');
      return this.#broken('HPE_UNEXPECTED_CONTENT_LENGTH', `the \`Content-Length\` is ${given}`);
    }
    if (lengths.length > 1) this.#deviation('`Content-Length` is there more than once');
    const [given] = lengths;
    if (given === undefined) return true;
    if (/^\d{1,15}$/.test(given)) this.#length = Number(given);
    else this.#deviation(`\`Content-Length\` is no number; the body ends with the connection`);
    return true;
  }

  #take(limit: number): void {
    const piece = this.#chunk.subarray(
      this.#at,
      this.#at + Math.min(limit, this.#chunk.length - this.#at),
    );
    this.#at += piece.length;
    this.#left -= piece.length;
    this.#bodyBytes += piece.length;
    if (piece.length > 0 && !this.#answer.push(piece)) this.#socket.pause();
  }

  #readPlain(): boolean {
    this.#take(this.#left);
    return this.#left === 0 ? this.#finish(null) : true;
  }

  #readChunkSize(): boolean {
    const line = this.#takeLine();
    if (line === null) return false;
    this.#headBytes = 0;
    const [size = ''] = line.split(';');
    if (!/^0*[0-9a-f]{1,12} *$/i.test(size)) {
      return this.#broken('HPE_INVALID_CHUNK_SIZE', `a chunk has no valid size`);
    }
    if (size !== size.trim()) this.#deviation('a chunk has a space behind its size');
    this.#left = Number.parseInt(size.trim(), 16);
    this.#read = this.#left === 0 ? this.#readTrailer : this.#readChunk;
    return true;
  }

  #readChunk(): boolean {
    this.#take(this.#left);
    if (this.#left === 0) this.#read = this.#readChunkEnd;
    return true;
  }

  #readChunkEnd(): boolean {
    const line = this.#takeLine();
    if (line === null) return false;
    this.#headBytes = 0;
    this.#read = this.#readChunkSize;
    return line === '' || this.#broken('HPE_STRICT', 'a chunk is longer than its size');
  }

  #readTrailer(): boolean {
    const line = this.#takeLine();
    if (line === null) return false;
    return line === '' ? this.#finish(null) : true;
  }

  #onEnd(): void {
    // An error follows where the connection did not just end.
    if (this.#read === null || (this.#socket.errored ?? null) !== null) return;
    if (this.#read === this.#readPlain && this.#left === Infinity) {
      this.#finish(null);
      return;
    }
    const begin = Buffer.concat(this.#parts).toString('latin1');
    if (this.#answer.status === 0 && this.#lines.length === 0 && !/^(H|[\r\n]*$)/i.test(begin)) {
      this.#finish(this.#unlikeHttp(begin));
    } else if (this.#answer.status === 0) this.#broken('SOCKET_CLOSED', '');
    else {
      const whole =
        this.#length === null || this.#read !== this.#readPlain ? '' : ` of ${this.#length}`;
      this.#broken('BODY_INCOMPLETE', `the body ended after ${this.#bodyBytes}${whole} bytes`);
    }
  }
}

/** Starts to read; `isHead` is for the answer to HEAD. The caller closes the connection. */
export function readAnswer(socket: Socket, isHead: boolean, listener: AnswerListener): void {
  new AnswerReader(socket, isHead, listener);
}
