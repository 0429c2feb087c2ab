import type { Db } from './tables.ts';

/** Work to do after a transaction is committed; null for none. */
export type AfterCommit = (() => void) | null;

/** Runs all of it, in order. */
export function runAll(steps: readonly AfterCommit[]): void {
  for (const step of steps) step?.();
}

/** How verbs write: each in a commit of its own, or all of them in the transaction of a larger one. */
export interface Commits {
  /** Runs the work in a transaction and gives its value once it is durable, or part of the larger one. */
  run<T>(work: (db: Db) => Promise<T>): Promise<T>;
  /** Runs steps that follow from a write, once it is committed. */
  after(steps: readonly AfterCommit[]): void;
}

/** Writes of verbs that take part in one transaction: all of them are committed, or none. */
export class JoinedCommits implements Commits {
  readonly #db: Db;
  /** To run after the commit. */
  readonly steps: AfterCommit[] = [];

  constructor(db: Db) {
    this.#db = db;
  }

  run<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return work(this.#db);
  }

  after(steps: readonly AfterCommit[]): void {
    this.steps.push(...steps);
  }
}
