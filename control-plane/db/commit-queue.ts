/**
 * Group commit: writes that arrive together share one durable commit, because one wait for the disk
 * costs as much for twenty writes as for one. Each write is a savepoint, so a failing write undoes
 * only itself. A write resolves after the commit. On PostgreSQL each write is a transaction.
 */
import { CompiledQuery } from 'kysely';
import type { Clock } from '@monitor/shared/clock.ts';
import { engineOf } from './engine.ts';
import { type AfterCommit, type Commits, runAll } from './after-commit.ts';
import type { Db } from './tables.ts';
import { inTransaction } from './unit.ts';

interface Waiting {
  work: (db: Db) => Promise<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/** Called for each commit with its duration, the number of its writes, and whether it is durable. */
type OnCommit = (commit: { tookMs: number; writes: number; isDurable: boolean }) => void;

/** Built once: there is one of each for every write. */
const [savepoint, release, rollback] = [
  CompiledQuery.raw('savepoint unit'),
  CompiledQuery.raw('release unit'),
  CompiledQuery.raw('rollback to unit'),
];

/** Rolls back one write. When a full disk has rolled back the whole transaction, it throws that error. */
async function undo(transaction: Db, error: unknown): Promise<void> {
  try {
    await transaction.executeQuery(rollback);
  } catch {
    throw error;
  }
}

export class CommitQueue implements Commits {
  readonly #db: Db;
  readonly #measured: { clock: Pick<Clock, 'monotonic'>; onCommit: OnCommit } | undefined;
  #waiting: Waiting[] = [];
  #isWorking = false;

  constructor(db: Db, measured?: { clock: Pick<Clock, 'monotonic'>; onCommit: OnCommit }) {
    this.#db = db;
    this.#measured = measured;
  }

  /** Runs the work in a shared transaction and gives its value once it is durable. */
  run<T>(work: (db: Db) => Promise<T>): Promise<T> {
    if (engineOf(this.#db) === 'postgres') return this.#alone(work);
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as Waiting['resolve'], reject });
      if (!this.#isWorking) void this.#work();
    });
  }

  after(steps: readonly AfterCommit[]): void {
    runAll(steps);
  }

  /** The server groups commits by itself. */
  async #alone<T>(work: (db: Db) => Promise<T>): Promise<T> {
    const begunAt = this.#measured?.clock.monotonic() ?? 0;
    let isDurable = false;
    try {
      const value = await inTransaction(this.#db, work);
      isDurable = true;
      return value;
    } finally {
      const tookMs = (this.#measured?.clock.monotonic() ?? 0) - begunAt;
      this.#measured?.onCommit({ tookMs, writes: 1, isDurable });
    }
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    // Requests that were read in the same turn of the event loop join before the commit begins.
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
          await transaction.executeQuery(savepoint);
          try {
            const value = await work(transaction);
            await transaction.executeQuery(release);
            settle.push(() => {
              resolve(value);
            });
          } catch (error) {
            await undo(transaction, error);
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
