/**
 * Transactions. On PostgreSQL other transactions run beside them: one that was in the way of another,
 * or whose connection was lost before its commit, is repeated as a whole.
 */
import { sql } from 'kysely';
import { sleep, systemClock, type Clock } from '@monitor/shared/clock.ts';
import { engineOf } from './engine.ts';
import { databaseFailure } from './failure.ts';
import { makeMissingDay } from './run-days.ts';
import type { Db } from './tables.ts';

const attempts = 5;
const firstPauseMs = 10;

/** A connection that was lost while it committed: nobody knows whether the work is stored. */
export class UnknownOutcome extends Error {
  readonly code = '08007';

  constructor(cause: unknown) {
    super('the connection to the database was lost during a commit', { cause });
  }
}

/** How pauses between attempts are made. */
interface Pauses {
  clock?: Clock;
  random?: () => number;
}

type Work<T> = (db: Db) => Promise<T>;

async function attempt<T>(db: Db, work: Work<T>): Promise<T> {
  const unit = await db.startTransaction().execute();
  let value: T;
  try {
    value = await work(unit);
  } catch (error) {
    // A lost connection cannot roll back, and the server has done it.
    await unit
      .rollback()
      .execute()
      .catch(() => {});
    throw error;
  }
  try {
    await unit.commit().execute();
  } catch (error) {
    await unit
      .rollback()
      .execute()
      .catch(() => {});
    throw databaseFailure(error) === 'unavailable' ? new UnknownOutcome(error) : error;
  }
  return value;
}

/**
 * Runs work in a transaction and gives its value after the commit. The work may run several times:
 * it has no effect outside the database, and collects anew what it collects.
 * @throws UnknownOutcome when the connection is lost during the commit.
 */
export async function inTransaction<T>(
  db: Db,
  work: Work<T>,
  { clock = systemClock, random = Math.random }: Pauses = {},
): Promise<T> {
  if (engineOf(db) === 'sqlite') return db.transaction().execute(work);
  for (let number = 1; ;) {
    try {
      return await attempt(db, work);
    } catch (error) {
      // Results of many days may meet one missing day after the other.
      if (await makeMissingDay(db, error)) continue;
      const failure = databaseFailure(error);
      const isRepeatable =
        failure === 'conflict' ||
        // Another transaction has inserted that key since this one looked: now it sees the row.
        failure === 'unique' ||
        (failure === 'unavailable' && !(error instanceof UnknownOutcome));
      if (!isRepeatable || number === attempts) throw error;
      await sleep(clock, firstPauseMs * 2 ** number * (0.5 + random()));
      number += 1;
    }
  }
}

/**
 * Runs work that a crash of the machine may undo, because it is then done again: what it has to do is
 * a row that this same transaction removes, and nothing outside the database follows from it. On SQLite
 * the commit does not wait for the disk. It is in the log before every later commit, and the next one
 * that waits for the disk makes both durable, so nothing that was built on it outlives it.
 */
export async function inRepeatableTransaction<T>(db: Db, work: Work<T>): Promise<T> {
  if (engineOf(db) === 'postgres') return inTransaction(db, work);
  // Nobody else uses the connection meanwhile.
  return db.connection().execute(async (connection) => {
    await sql`pragma synchronous = normal`.execute(connection);
    try {
      return await connection.transaction().execute(work);
    } finally {
      await sql`pragma synchronous = full`.execute(connection);
    }
  });
}
