/** Receives a bundle: it is counted and hashed in transit. */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { maxCodeBundleBytes } from '@monitor/shared/contract/code-bundle.ts';
import { ApiError } from '../../errors/api-error.ts';

/** Magic number of gzip, RFC 1952. */
const gzipMagic = [0x1f, 0x8b];

function tooLarge(): ApiError {
  return new ApiError(
    'PAYLOAD_TOO_LARGE',
    `the bundle is over the limit of ${maxCodeBundleBytes} bytes; leave out node_modules, traces and reports`,
    { source: 'payload', limitBytes: maxCodeBundleBytes },
  );
}

function notGzip(): ApiError {
  return new ApiError(
    'VALIDATION',
    'the body is not a gzip-compressed tar; make it with: tar -czf bundle.tgz -C <project> .',
    { source: 'payload' },
  );
}

function assertGzip(firstBytes: Buffer): void {
  if (gzipMagic.some((byte, index) => firstBytes[index] !== byte)) throw notGzip();
}

export class IncomingBundle {
  readonly #body: Readable;
  readonly #signal: AbortSignal;
  readonly #hash = createHash('sha256');
  #digest: string | null = null;

  /** Whether anything but gzip is refused. */
  readonly #isPacked: boolean;

  /** Throws an ApiError when the announced length is over the limit. */
  constructor(
    body: Readable,
    announcedBytes: number | undefined,
    signal: AbortSignal,
    isPacked = true,
  ) {
    this.#isPacked = isPacked;
    if (announcedBytes !== undefined && announcedBytes > maxCodeBundleBytes) throw tooLarge();
    this.#body = body;
    this.#signal = signal;
  }

  /** SHA-256 in hex, once all chunks have been read. */
  get digest(): string {
    if (this.#digest === null) throw new Error('the bundle has not been read');
    return this.#digest;
  }

  /**
   * The chunks as they come. Throws 413 for a body that is larger than a bundle may be (received
   * bytes count, not `Content-Length`), and 400 for one that is not gzip. The body stays open for
   * the answer.
   */
  async *chunks(): AsyncGenerator<Buffer, void> {
    let sizeBytes = 0;
    // Two bytes may come in two chunks.
    let firstBytes = Buffer.alloc(0);
    // Ending the stream's own iterator would destroy the stream and the connection that the refusal
    // needs.
    const body = this.#body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    for await (const chunk of body) {
      this.#signal.throwIfAborted();
      sizeBytes += chunk.length;
      if (sizeBytes > maxCodeBundleBytes) throw tooLarge();
      if (this.#isPacked && firstBytes.length < gzipMagic.length) {
        firstBytes = Buffer.concat([firstBytes, chunk.subarray(0, gzipMagic.length)]);
        if (firstBytes.length >= gzipMagic.length) assertGzip(firstBytes);
      }
      this.#hash.update(chunk);
      yield chunk;
    }
    if (this.#isPacked) assertGzip(firstBytes);
    this.#digest = this.#hash.digest('hex');
  }
}
