/** Reads and decodes the body of a response up to its limits, and keeps a part of it. */
import type { IncomingMessage } from 'node:http';
import { openDecoders } from './content-decoding.ts';

export interface BodyLimits {
  /** Bytes to keep, decoded, given the headers. */
  keepBytes: (headers: IncomingMessage['headers']) => number;
  /** Limit of reading, on the wire and decoded. */
  stopBytes: number;
}

export interface ReadBody {
  bytes: Buffer;
  /** Decoded, as far as it was read. */
  size: number;
  /** Reading was stopped before the end. */
  isStopped: boolean;
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

/** Starts to read; calls `onDone` or `onError` once. */
export function readBody(
  message: IncomingMessage,
  { keepBytes, stopBytes }: BodyLimits,
  listener: Listener,
): BodyReading {
  const limit = Math.min(keepBytes(message.headers), stopBytes);
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let size = 0;
  let wireBytes = 0;
  let isStopped = false;
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
    wireBytes += chunk.length;
    if (wireBytes >= stopBytes) stop();
  };
  message.once('data', (first: Buffer) => {
    const decoders = openDecoders(message.headers['content-encoding'], first);
    const last = decoders.at(-1);
    if (decoders[0] === undefined || last === undefined) {
      take(first);
      message.on('data', take);
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
      decoder.on('error', listener.onError);
      const next = decoders[index + 1];
      if (next !== undefined) decoder.pipe(next);
    }
    last.on('data', take);
    last.once('end', () => {
      if (!isStopped) listener.onDone();
    });
    count(first);
    decoders[0].write(first);
    message.on('data', count);
    message.pipe(decoders[0]);
  });
  message.once('end', () => {
    listener.onArrived();
    if (wireBytes === 0 && size === 0 && !isStopped) listener.onDone();
  });
  message.once('error', listener.onError);
  return {
    taken: () => ({ bytes: Buffer.concat(kept), size, isStopped }),
    stop: () => {
      close();
    },
  };
}
