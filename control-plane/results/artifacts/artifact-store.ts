/** Storage for files of results: a folder, or any S3-compatible store. */
import type { Readable } from 'node:stream';

/** Bytes from `start` to `end`, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface ArtifactStore extends AsyncDisposable {
  /**
   * Stores the chunks durably and gives their number of bytes. When the chunks end in an error,
   * nothing is visible under the key.
   */
  put(key: string, chunks: AsyncIterable<Buffer>): Promise<number>;
  /** Null for an unknown key. */
  open(key: string, range?: ByteRange): Promise<Readable | null>;
  /** Unknown keys are ignored. */
  delete(keys: readonly string[]): Promise<void>;
}
