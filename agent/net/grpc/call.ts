/**
 * One call of gRPC over a session of HTTP/2, as bytes: what the server sends is counted before anything
 * is decoded. Spec: PROTOCOL-HTTP2 of gRPC.
 */
import { decodedOrAsIs } from '@monitor/shared/http-url.ts';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

/** The limit of common servers and clients. */
export const maxMessageBytes = 4_194_304;
/** Of a stream. */
const maxMessages = 1_000;
const maxStatusLength = 4_096;
const maxMetadata = 100;
const prefixBytes = 5;

export interface MetadataEntry {
  key: string;
  value: string;
}

/** Why there is no status of the server. */
export interface CallProblem {
  /** Code for results: `MESSAGE_TOO_LARGE`. */
  name: string;
  detail: string;
  cause?: unknown;
}

/** How a call ended. */
export interface CallEnd {
  /** `grpc-status`, or what stands for it where the server sent none. */
  status: number;
  statusMessage: string;
  /** Headers and trailers of the server. */
  metadata: MetadataEntry[];
  /** Null where the status is the server's. */
  problem: CallProblem | null;
}

export interface CallRequest {
  /** `package.Service/Method`. */
  method: string;
  scheme: 'http' | 'https';
  authority: string;
  metadata: readonly MetadataEntry[];
  /** Sent as `grpc-timeout`; null for a call that the agent alone limits. */
  timeoutMs: number | null;
}

/** Codes for a status of HTTP; spec: http-grpc-status-mapping. */
const ofHttp: Readonly<Record<number, number>> = {
  400: 13,
  401: 16,
  403: 7,
  404: 12,
  429: 14,
  502: 14,
  503: 14,
  504: 14,
};
/** Codes for a reset stream of HTTP/2, by its code. */
const ofReset: Readonly<Record<number, number>> = { 7: 14, 8: 1, 11: 8, 12: 7 };
const statusUnknown = 2;
const resourceExhausted = 8;
const internal = 13;
const unavailable = 14;

class Refused extends Error {
  readonly status: number;
  readonly problem: CallProblem;

  constructor(status: number, name: string, detail: string) {
    super(detail);
    this.status = status;
    this.problem = { name, detail };
  }
}

const unzip = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(gunzip);

async function unpacked(bytes: Uint8Array, flag: number, encoding: string): Promise<Uint8Array> {
  if (flag === 0) return bytes;
  if (flag !== 1 || encoding !== 'gzip') {
    const detail = `the server compressed a message with "${encoding.slice(0, 50)}", which was not offered`;
    throw new Refused(internal, 'PROTOCOL_ERROR', detail);
  }
  try {
    return await unzip(bytes, { maxOutputLength: maxMessageBytes });
  } catch (error) {
    const isLarge = (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE';
    if (isLarge) throw tooLarge(null);
    throw new Refused(internal, 'PROTOCOL_ERROR', 'a compressed message cannot be read');
  }
}

function tooLarge(length: number | null): Refused {
  const size = length === null ? 'a compressed message' : `a message of ${length} bytes`;
  const detail = `the server sent ${size}; the limit is ${maxMessageBytes}`;
  return new Refused(resourceExhausted, 'MESSAGE_TOO_LARGE', detail);
}

function headersOf({ metadata, method, scheme, authority, timeoutMs }: CallRequest) {
  const given: Record<string, string[]> = {};
  for (const { key, value } of metadata) (given[key] ??= []).push(value);
  return {
    'user-agent': 'monitor-agent/1.0',
    ...given,
    ':method': 'POST',
    ':scheme': scheme,
    ':path': `/${method}`,
    ':authority': authority,
    te: 'trailers',
    'content-type': 'application/grpc',
    ...(timeoutMs === null ? {} : { 'grpc-timeout': `${Math.max(1, Math.round(timeoutMs))}m` }),
    'grpc-accept-encoding': 'identity,gzip',
  };
}

const first = (value: string | string[] | undefined): string => [value].flat()[0] ?? '';

export class GrpcCall {
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  #headers: IncomingHttpHeaders = {};
  #trailers: IncomingHttpHeaders = {};
  #error: unknown = null;
  readonly #closed: Promise<unknown>;

  /** Throws where the session is gone. */
  constructor(session: ClientHttp2Session, request: CallRequest) {
    this.#session = session;
    this.#stream = session.request(headersOf(request), { endStream: false });
    this.#stream.on('response', (headers) => {
      this.#headers = headers;
    });
    this.#stream.on('trailers', (trailers) => {
      this.#trailers = trailers;
    });
    this.#stream.on('error', (error) => {
      this.#error ??= error;
    });
    this.#closed = new Promise((resolve) => this.#stream.once('close', resolve));
  }

  send(message: Uint8Array): void {
    const prefix = Buffer.alloc(prefixBytes);
    prefix.writeUInt32BE(message.length, 1);
    this.#stream.write(Buffer.concat([prefix, message]));
  }

  /** Nothing more will be sent; calls `onSent` once all of it is in the kernel. */
  endSending(onSent?: () => void): void {
    this.#stream.end(onSent);
  }

  /** Ends the call before its end. Resolves once the server has been sent all of it. */
  async cancel(): Promise<void> {
    this.#stream.destroy();
    await this.#closed;
    // Node writes frames in the turn after the one in which they are made.
    await nextTurn();
  }

  /** The messages of the server, as they are asked for. */
  async *#messages(): AsyncGenerator<Uint8Array> {
    let pending: Buffer[] = [];
    let size = 0;
    let needed = prefixBytes;
    for await (const chunk of this.#stream as AsyncIterable<Buffer>) {
      if (!this.#isGrpc()) return;
      pending.push(chunk);
      size += chunk.length;
      while (size >= needed) {
        const [bytes] = pending.length === 1 ? pending : [Buffer.concat(pending)];
        if (bytes === undefined) break;
        const length = bytes.readUInt32BE(1);
        if (length > maxMessageBytes) throw tooLarge(length);
        needed = prefixBytes + length;
        pending = [bytes];
        if (size < needed) break;
        const encoding = first(this.#headers['grpc-encoding']) || 'identity';
        yield await unpacked(bytes.subarray(prefixBytes, needed), bytes[0] ?? 0, encoding);
        pending = size > needed ? [bytes.subarray(needed)] : [];
        size -= needed;
        needed = prefixBytes;
      }
    }
    if (size > 0) throw new Refused(internal, 'PROTOCOL_ERROR', 'a message ended too early');
  }

  readonly messages = this.#messages();

  /** The next message; the end where there is none. Never rejects. */
  async next(): Promise<{ message: Uint8Array } | { end: CallEnd }> {
    try {
      const { done, value } = await this.messages.next();
      return done === true ? { end: this.#end(null) } : { message: value };
    } catch (error) {
      void this.cancel();
      return { end: this.#end(error) };
    }
  }

  #end(error: unknown): CallEnd {
    const metadata = this.#metadata();
    const headers = { ...this.#headers, ...this.#trailers };
    const given = first(headers['grpc-status']);
    const without = (status: number, name: string, detail: string, cause?: unknown): CallEnd => ({
      ...{ status, statusMessage: '', metadata },
      problem: { name, detail, ...(cause == null ? {} : { cause }) },
    });
    if (error instanceof Refused) {
      const { status, problem } = error;
      return { status, statusMessage: '', metadata, problem };
    }
    if (given !== '') {
      const code = /^\d{1,3}$/.test(given) ? Number(given) : statusUnknown;
      return {
        status: code <= 16 ? code : statusUnknown,
        statusMessage: decodedOrAsIs(first(headers['grpc-message'])).slice(0, maxStatusLength),
        ...{ metadata, problem: null },
      };
    }
    const { status: http, type } = this.#answer();
    if (http !== undefined && !this.#isGrpc()) {
      const shown = type.slice(0, 100) || 'no content type';
      const detail = `the server answered HTTP ${http} with ${shown}, which is not gRPC`;
      return without(ofHttp[http] ?? statusUnknown, 'NOT_GRPC', detail);
    }
    const { rstCode } = this.#stream;
    const cause = this.#error ?? error;
    if (rstCode !== undefined && rstCode !== 0 && !this.#session.destroyed) {
      const detail = `the server reset the call with code ${rstCode} of HTTP/2`;
      return without(ofReset[rstCode] ?? internal, 'CALL_RESET', detail, cause);
    }
    if (http !== undefined && cause === null) {
      return without(internal, 'PROTOCOL_ERROR', 'the server sent no status');
    }
    return without(unavailable, 'SOCKET_CLOSED', 'the connection was closed early', cause);
  }

  #answer(): { status: number | undefined; type: string } {
    const status = (this.#headers as { ':status'?: number })[':status'];
    return { status, type: first(this.#headers['content-type']) };
  }

  #isGrpc(): boolean {
    const { status, type } = this.#answer();
    return status === 200 && type.startsWith('application/grpc');
  }

  #metadata(): MetadataEntry[] {
    return Object.entries({ ...this.#headers, ...this.#trailers })
      .filter(([key]) => !/^(:|grpc-(status|message|encoding|accept-encoding)$)/.test(key))
      .flatMap(([key, value]) => [value ?? []].flat().map((one) => ({ key, value: one })))
      .slice(0, maxMetadata)
      .map(({ key, value }) => ({ key, value: value.slice(0, maxStatusLength) }));
  }
}

/**
 * A call with one request, and one response or a stream of them. Calls `onSent` once its message is in the kernel. Never
 * rejects.
 */
export async function callMethod(
  session: ClientHttp2Session,
  request: CallRequest & { isStream: boolean },
  message: Uint8Array,
  onSent: () => void,
): Promise<CallEnd & { messages: Uint8Array[] }> {
  const { isStream } = request;
  const call = new GrpcCall(session, request);
  call.send(message);
  call.endSending(onSent);
  const messages: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const next = await call.next();
    if ('end' in next) {
      const { end } = next;
      if (!isStream && end.problem === null && end.status === 0 && messages.length === 0) {
        const problem = { name: 'PROTOCOL_ERROR', detail: 'the server sent no message' };
        return { ...end, status: internal, problem, messages };
      }
      return { ...end, messages };
    }
    messages.push(next.message);
    size += next.message.length;
    const refused = (status: number, name: string, detail: string) => {
      void call.cancel();
      const problem = { name, detail };
      return { status, statusMessage: '', metadata: [], problem, messages: [] };
    };
    if (!isStream && messages.length > 1) {
      return refused(internal, 'PROTOCOL_ERROR', 'the server sent more than one message');
    }
    if (messages.length > maxMessages || size > maxMessageBytes) {
      const detail = `the server streamed more than ${maxMessages} messages or ${maxMessageBytes} bytes`;
      return refused(resourceExhausted, 'STREAM_TOO_LONG', detail);
    }
  }
}
