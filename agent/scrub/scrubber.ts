/** Removing secrets from what leaves the agent: one per run, since every run has secrets of its own. */
import type { Transform } from 'node:stream';

/** What stands in place of a secret. */
export const mask = '*********';

export interface Scrubber {
  /** The longest form of a declared secret, in bytes; 0 without secrets. */
  readonly maxNeedleBytes: number;
  /** Adds a value that was learned after the run began. */
  add(value: string): void;
  text(text: string): string;
  /** Every string in a JSON value, keys included. The value itself is left alone. */
  value<T>(value: T): T;
  /** For streams of any size; holds back what may be the beginning of a secret. */
  stream(): Transform;
  /**
   * Rewrites a file in place, by its content type: text, JSON, archives and what is in them, the
   * metadata of images and videos. Throws SCRUBBING_FAILED when it cannot be done: the file must then
   * stay on the agent. `withoutPictures` takes all pictures out of an archive.
   */
  file(path: string, contentType: string, options?: { withoutPictures?: boolean }): Promise<void>;
}
