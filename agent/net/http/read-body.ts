/** Reads and decodes the body of a response up to its limits, and keeps a part of it. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable, Transform } from 'node:stream';
import { codeOf } from '../failure.ts';
import { decodersOf, endedEarly } from './content-decoding.ts';
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
  isCut(): boolean;
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

/** Ends a decoder after all that it was given: with its last data it would drop what that decodes to. */
function endAfterAll(decoder: Transform): void {
  decoder.write(Buffer.alloc(0), () => void decoder.end());
}

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
  const decoders: Transform[] = [];

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
  const openers = decodersOf(message.headers['content-encoding']);
  message.on('data', (chunk: Buffer) => {
    count(chunk);
    if (openers.length > 0 && dataBytes >= stopBytes) stop();
  });
  message.once('end', () => listener.onArrived());
  const onEnd = (): void => {
    if (!isStopped) listener.onDone();
  };
  /** Each decoder is chosen by the first bytes for it; there is none where none come. */
  const decode = (source: Readable, [open, ...others]: typeof openers): void => {
    source.once('end', onEnd);
    if (open === undefined) {
      source.on('data', take);
      return;
    }
    source.once('data', (first: Buffer) => {
      source.off('end', onEnd);
      const decoder = open(first);
      decoders.push(decoder);
      decoder.on('error', (error) => {
        if (codeOf(error) !== endedEarly) {
          error.message = `the body is not as its \`Content-Encoding\` says (${error.message})`;
          listener.onError(error);
          return;
        }
        isCut = true;
        const next = decoders[decoders.indexOf(decoder) + 1];
        if (next === undefined) onEnd();
        else endAfterAll(next);
      });
      let encodedBytes = 0;
      if (others.length > 0) {
        decoder.on('data', (chunk: Buffer) => {
          encodedBytes += chunk.length;
          if (encodedBytes > stopBytes) listener.onError(failed('ENCODING_BOMB'));
        });
      }
      decode(decoder, others);
      decoder.write(first);
      source.pipe(decoder, { end: false });
      source.once('end', () => endAfterAll(decoder));
    });
  };
  decode(message, openers);
  message.once('error', listener.onError);
  return {
    isCut: () => isCut,
    taken: () => ({ bytes: Buffer.concat(kept), size, isStopped, isCut }),
    stop: () => {
      message.unpipe();
      for (const decoder of decoders) decoder.destroy();
    },
  };
}
