/**
 * Records the content of the outbox after its last change in a separate file, because a log that
 * was cut off leaves no trace in the outbox. It is not synced: it need not survive a power failure.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';

export interface Mark {
  newestSeq: number;
  /** Records before this one were delivered. */
  oldestSeq: number;
  depth: number;
  at: number;
}

export class OutboxMark {
  readonly #path: string;
  #descriptor: number | null = null;
  #hasFailed = false;

  constructor(directory: string) {
    this.#path = join(directory, 'outbox.mark');
  }

  read(): Mark | null {
    try {
      const mark = JSON.parse(readFileSync(this.#path, 'utf8')) as Mark;
      const { newestSeq, oldestSeq, depth, at } = mark;
      return [newestSeq, oldestSeq, depth, at].every((one) => Number.isSafeInteger(one) && one >= 0)
        ? { newestSeq, oldestSeq, depth, at }
        : null;
    } catch {
      return null;
    }
  }

  write(mark: Mark): void {
    if (this.#hasFailed) return;
    try {
      this.#descriptor ??= openSync(this.#path, 'w', 0o600);
      // Of fixed length, so that no rest of a longer text remains.
      writeSync(this.#descriptor, JSON.stringify(mark).padEnd(128), 0);
    } catch {
      this.#hasFailed = true;
    }
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
    this.#descriptor = null;
  }
}

export function newestSeqOf(db: DatabaseSync): number {
  const row = db.prepare("select seq from sqlite_sequence where name = 'records'").get();
  return Number(row?.['seq'] ?? 0);
}

/** Upper bound of the missing records; some of them may have been delivered. */
export function missingFrom(db: DatabaseSync, { oldestSeq, newestSeq, depth }: Mark): number {
  // A kill between a commit and its mark leaves an old mark.
  const newest = Math.max(newestSeq, newestSeqOf(db));
  const row = db
    .prepare('select count(*) as count from records where seq between ? and ?')
    .get(oldestSeq, newest);
  const missing = newest - oldestSeq + 1 - Number(row?.['count'] ?? 0);
  return Math.max(0, Math.min(depth + newest - newestSeq, missing));
}
