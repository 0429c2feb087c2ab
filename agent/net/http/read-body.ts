/** Reads and decodes the body of a response up to its limits, and keeps a part of it. */
import type { IncomingHttpHeaders } from 'node:http';
import { codeOf } from '../failure.ts';
import { endedEarly, openDecoders } from './content-decoding.ts';
import type { Answer } from './read-answer.ts';

export interface BodyLimits {
  /** Bytes to keep, decoded, given the headers. */
  keepBytes: (headers: IncomingHttpHeaders) => number;
  /** Limit of reading, on the wire and decoded. */
  stopBytes: number;
}

export interface ReadBody {
  bytes: Buffer;
  /** Decoded, as far as it was read. */
  size: number;
  /** Reading was stopped before the end. */
  isStopped: boolean;
  /** Its compressed data ends early; as in browsers, what could be decoded is there. */
  isCut: boolean;
}

export interface BodyReading {
  /** What has been read so far. */
  taken(): ReadBody;
  /** Frees the decoders. */
  stop(): void;
}

interface Listener {
  /** The last byte has arrived. */
  onArrived(): void;
  onDone(): void;
  onError(error: unknown): void;
}

/** What chunks may hold beside data, and for each byte of it. */
const maxFraming = { bytes: 1_048_576, perByte: 16 };

const failed = (code: string): Error => Object.assign(new Error(code), { code });

/** Starts to read; calls `onDone` or `onError` once. */
export function readBody(
  message: Answer,
  { keepBytes, stopBytes }: BodyLimits,
  listener: Listener,
): BodyReading {
  const limit = Math.min(keepBytes(message.headers), stopBytes);
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let size = 0;
  /** As they were sent, without framing. */
  let dataBytes = 0;
  const isChunked = message.headers['transfer-encoding'] !== undefined;
  const readBefore = isChunked ? message.socket.bytesRead : 0;
  let isStopped = false;
  let isCut = false;
  let close = (): void => undefined;

  const stop = (): void => {
    if (isStopped) return;
    isStopped = true;
    listener.onDone();
  };
  const take = (chunk: Buffer): void => {
    if (isStopped) return;
    const part = chunk.subarray(0, Math.min(limit - keptBytes, stopBytes - size));
    if (part.length > 0) kept.push(part);
    keptBytes += part.length;
    size += chunk.length;
    if (size >= stopBytes) stop();
  };
  const count = (chunk: Buffer): void => {
    dataBytes += chunk.length;
    if (!isChunked) return;
    const framing = message.socket.bytesRead - readBefore - dataBytes;
    if (framing > maxFraming.bytes + maxFraming.perByte * dataBytes)
      listener.onError(failed('CHUNK_OVERHEAD'));
  };
  const takeCounted = (chunk: Buffer): void => {
    count(chunk);
    take(chunk);
  };
  const countEncoded = (chunk: Buffer): void => {
    count(chunk);
    if (dataBytes >= stopBytes) stop();
  };
  message.once('data', (first: Buffer) => {
    const decoders = openDecoders(message.headers['content-encoding'], first);
    const last = decoders.at(-1);
    if (decoders[0] === undefined || last === undefined) {
      takeCounted(first);
      message.on('data', takeCounted);
      message.once('end', () => {
        if (!isStopped) listener.onDone();
      });
      return;
    }
    close = () => {
      message.unpipe();
      for (const decoder of decoders) decoder.destroy();
    };
    for (const [index, decoder] of decoders.entries()) {
      const next = decoders[index + 1];
      decoder.on('error', (error) => {
        if (codeOf(error) !== endedEarly) {
          listener.onError(error);
          return;
        }
        isCut = true;
        if (next !== undefined) next.end();
        else if (!isStopped) listener.onDone();
      });
      if (next === undefined) continue;
      decoder.pipe(next);
      let encodedBytes = 0;
      decoder.on('data', (chunk: Buffer) => {
        encodedBytes += chunk.length;
        if (encodedBytes > stopBytes) listener.onError(failed('ENCODING_BOMB'));
      });
    }
    last.on('data', take);
    last.once('end', () => {
      if (!isStopped) listener.onDone();
    });
    countEncoded(first);
    decoders[0].write(first);
    message.on('data', countEncoded);
    message.pipe(decoders[0]);
  });
  message.once('end', () => {
    listener.onArrived();
    if (dataBytes === 0 && !isStopped) listener.onDone();
  });
  message.once('error', listener.onError);
  return {
    taken: () => ({ bytes: Buffer.concat(kept), size, isStopped, isCut }),
    stop: () => {
      close();
    },
  };
}
