/**
 * Receives a file: it is counted and hashed in transit, and never assumed to be the announced one.
 * It is stored as it came; limits and digest apply to the uncompressed file.
 */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import { maxArtifactBytes } from '@monitor/shared/contract/agent-protocol.ts';
import { ApiError } from '../../errors/api-error.ts';

/** Overhead of gzip for content that does not compress. */
const gzipOverheadBytes = 262_144;

export interface ExpectedFile {
  encoding: 'gzip' | null;
  /** Size of the uncompressed file. */
  sizeBytes: number;
  /** SHA-256 of the uncompressed file. */
  digest: Buffer;
}

function wrong(message: string): ApiError {
  return new ApiError('VALIDATION', message, { source: 'payload' });
}

export function tooLarge(): ApiError {
  return new ApiError(
    'PAYLOAD_TOO_LARGE',
    `a file of a result has at most ${maxArtifactBytes} bytes`,
  );
}

/** Counts and hashes the uncompressed bytes. */
class Tally {
  readonly #expected: ExpectedFile;
  readonly #hash = createHash('sha256');
  #bytes = 0;

  constructor(expected: ExpectedFile) {
    this.#expected = expected;
  }

  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > maxArtifactBytes) throw tooLarge();
    if (this.#bytes > this.#expected.sizeBytes) {
      throw wrong(`the file is larger than the ${this.#expected.sizeBytes} bytes announced`);
    }
    this.#hash.update(piece);
  }

  finish(): void {
    const { sizeBytes, digest } = this.#expected;
    if (this.#bytes !== sizeBytes) {
      throw wrong(`the file has ${this.#bytes} bytes; ${sizeBytes} were announced`);
    }
    if (!this.#hash.digest().equals(digest)) {
      throw wrong('the file is not the one of its "Digest"; it was damaged on the way');
    }
  }
}

/** Decompresses into the tally and stops with it. */
class Unpacking {
  readonly #gunzip: Gunzip = createGunzip({ chunkSize: 65_536 });
  readonly #ended: Promise<void>;
  #problem: Error | null = null;

  constructor(tally: Tally) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#ended = promise;
    // Writers get the error; between two writes there may be no listener.
    promise.catch(() => undefined);
    this.#gunzip.on('data', (piece: Buffer) => {
      try {
        tally.add(piece);
      } catch (error) {
        this.#gunzip.destroy(error as Error);
      }
    });
    this.#gunzip.once('end', resolve);
    this.#gunzip.on('error', (error) => {
      this.#problem =
        error instanceof ApiError ? error : wrong(`the body is not valid gzip: ${error.message}`);
      reject(this.#problem);
    });
  }

  #check(): void {
    if (this.#problem !== null) throw this.#problem;
  }

  async write(chunk: Buffer): Promise<void> {
    this.#check();
    const written = Promise.withResolvers<undefined>();
    this.#gunzip.write(chunk, () => {
      written.resolve(undefined);
    });
    await Promise.race([written.promise, this.#ended]);
    this.#check();
  }

  async end(): Promise<void> {
    this.#gunzip.end();
    await this.#ended;
  }

  close(): void {
    this.#gunzip.destroy();
  }
}

/**
 * The chunks of a body as they come. Throws an ApiError as soon as they cannot be the expected
 * file: 413 beyond the limit, 400 for anything else. The body stays open for the answer.
 */
export async function* receiveArtifact(
  body: Readable,
  expected: ExpectedFile,
): AsyncGenerator<Buffer, void> {
  const tally = new Tally(expected);
  const unpacking = expected.encoding === 'gzip' ? new Unpacking(tally) : null;
  let wireBytes = 0;
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      const bytes = chunk as Buffer;
      wireBytes += bytes.length;
      if (wireBytes > maxArtifactBytes + gzipOverheadBytes) throw tooLarge();
      if (unpacking === null) tally.add(bytes);
      else await unpacking.write(bytes);
      yield bytes;
    }
    await unpacking?.end();
    tally.finish();
  } finally {
    unpacking?.close();
  }
}
