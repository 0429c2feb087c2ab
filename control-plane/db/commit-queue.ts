/**
 * Writes that arrive together share one durable commit: a commit waits for the disk, and one wait for
 * twenty writes costs as much as one for a single one. Each write is a savepoint of its own, so one
 * that fails undoes only itself. A write is answered after the commit.
 */
import type { ControlledTransaction, Kysely } from 'kysely';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Database } from './tables.ts';

interface Waiting {
  work: (db: Kysely<Database>) => Promise<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/** Told of each commit: how long it took, how many writes shared it, and whether it holds. */
type OnCommit = (commit: { tookMs: number; writes: number; isDurable: boolean }) => void;

/** Undoes one write. Where a full disk has undone all of them, no other can go on: throws its error. */
async function undo(
  unit: ControlledTransaction<Database, ['unit']>,
  error: unknown,
): Promise<void> {
  try {
    await unit.rollbackToSavepoint('unit').execute();
  } catch {
    throw error;
  }
}

export class CommitQueue {
  readonly #db: Kysely<Database>;
  readonly #measured: { clock: Pick<Clock, 'monotonic'>; onCommit: OnCommit } | undefined;
  #waiting: Waiting[] = [];
  #isWorking = false;

  constructor(
    db: Kysely<Database>,
    measured?: { clock: Pick<Clock, 'monotonic'>; onCommit: OnCommit },
  ) {
    this.#db = db;
    this.#measured = measured;
  }

  /** Runs the work in a transaction, with whatever else is waiting, and gives its value once durable. */
  run<T>(work: (db: Kysely<Database>) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as Waiting['resolve'], reject });
      if (!this.#isWorking) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    // Requests that the same turn of the event loop has read come in before the commit begins.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      const begunAt = this.#measured?.clock.monotonic() ?? 0;
      const isDurable = await this.#commit(batch);
      const tookMs = (this.#measured?.clock.monotonic() ?? 0) - begunAt;
      this.#measured?.onCommit({ tookMs, writes: batch.length, isDurable });
    }
    this.#isWorking = false;
  }

  async #commit(batch: readonly Waiting[]): Promise<boolean> {
    const settle: (() => void)[] = [];
    try {
      const transaction = await this.#db.startTransaction().execute();
      try {
        for (const { work, resolve, reject } of batch) {
          const unit = await transaction.savepoint('unit').execute();
          try {
            const value = await work(unit);
            await unit.releaseSavepoint('unit').execute();
            settle.push(() => {
              resolve(value);
            });
          } catch (error) {
            await undo(unit, error);
            settle.push(() => {
              reject(error);
            });
          }
        }
        await transaction.commit().execute();
      } catch (error) {
        await transaction.rollback().execute();
        throw error;
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return false;
    }
    for (const each of settle) each();
    return true;
  }
}
