/** Storage for files of results and for code bundles: a folder, or any S3-compatible store. */
import type { Readable } from 'node:stream';
import type { Db } from '../db/tables.ts';

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

/** What a transaction made of a stored object. */
export interface Taken<T> {
  value: T;
  /** The key that no row names any more: that of an earlier object, the new one, or null for none. */
  superseded: string | null;
}

/**
 * Objects that belong to rows. An object is listed as garbage until a row takes it over, and again
 * when the row goes, so that no object is ever without an owner, whatever is killed when.
 */
export interface OwnedObjects {
  /**
   * Stores the chunks of a body under a new key. `take` writes the row that owns the object, in the
   * transaction in which the object stops being garbage; it may run more than once. Throws an
   * ApiError: that of the chunks, 408 for a body that was cut off, 503 when the store fails.
   */
  store<T>(
    key: string,
    body: Readable,
    chunks: AsyncIterable<Buffer>,
    take: (db: Db, storedBytes: number) => Promise<Taken<T>>,
  ): Promise<T>;
  /** Null for an unknown key. */
  open(key: string): Promise<Readable | null>;
  /** Deletes objects soon after the transaction, which drops their rows. */
  discard(db: Db, keys: readonly string[]): Promise<void>;
}
