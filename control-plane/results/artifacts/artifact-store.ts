/** Where files of results are kept: a folder, or any S3-compatible store. */
import type { Readable } from 'node:stream';

/** Bytes from `start` to `end`, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface ArtifactStore extends AsyncDisposable {
  /**
   * Keeps what the chunks are, durably, and gives their number of bytes. When they end in an error,
   * nothing is ever visible under the key.
   */
  put(key: string, chunks: AsyncIterable<Buffer>): Promise<number>;
  /** Null when there is no such object. */
  open(key: string, range?: ByteRange): Promise<Readable | null>;
  /** Objects that do not exist are deleted already. */
  delete(keys: readonly string[]): Promise<void>;
}
