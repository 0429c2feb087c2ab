/**
 * Receives a file: it is counted and hashed in transit, and never assumed to be the announced one.
 * It is stored as it came; limits and digest apply to the uncompressed file.
 */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createGunzip, type Gunzip } from 'node:zlib';
import { maxArtifactBytes } from '@monitor/shared/contract/agent-protocol.ts';
import { encryptedFileStart } from '@monitor/shared/contract/encrypted-result.ts';
import { ApiError } from '../../errors/api-error.ts';

/** Overhead of gzip for content that does not compress. */
const gzipOverheadBytes = 262_144;

export interface ExpectedFile {
  encoding: 'gzip' | null;
  /** Size of the uncompressed file. */
  sizeBytes: number;
  /** SHA-256 of the uncompressed file. */
  digest: Buffer;
  /** It must begin as encrypted files do. */
  isEncrypted: boolean;
}

function wrong(message: string): ApiError {
  return new ApiError('VALIDATION', message, { source: 'payload' });
}

/** An agent began the run before it knew the keys: it has nothing left to do. */
function notEncrypted(): ApiError {
  return new ApiError(
    'CONFLICT',
    'the file is not encrypted, and its location has keys for results',
  );
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
  #start = '';
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
    if (this.#expected.isEncrypted) this.#requireEncrypted(piece);
  }

  #requireEncrypted(piece: Buffer): void {
    const missing = encryptedFileStart.length - this.#start.length;
    this.#start += piece.toString('latin1', 0, missing);
    if (!encryptedFileStart.startsWith(this.#start)) throw notEncrypted();
  }

  finish(): void {
    const { sizeBytes, digest, isEncrypted } = this.#expected;
    if (isEncrypted && this.#start !== encryptedFileStart) throw notEncrypted();
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
