/** What an error of a database means, on both engines. */

/**
 * - `unique`: a row with that key exists.
 * - `conflict`: another transaction was in the way; repeating the work helps.
 * - `unavailable`: the database is away, starting or stopping.
 * - `full`: its disk has no room.
 * - `read-only`: it takes no writes, as a standby does.
 */
export type DatabaseFailure = 'unique' | 'conflict' | 'unavailable' | 'full' | 'read-only';

const meanings: readonly [RegExp, DatabaseFailure][] = [
  [/^(SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)|23505)$/, 'unique'],
  // Serialization, deadlock, lock not available, a query or idle transaction ended by a time limit, and a row
  // whose owner was deleted meanwhile.
  [/^(40001|40P01|55P03|57014|25P03|23503)$/, 'conflict'],
  [/^(SQLITE_FULL.*|SQLITE_IOERR_(WRITE|FSYNC|TRUNCATE|SHM).*|ENOSPC|EDQUOT|53100)$/, 'full'],
  [/^(25006)$/, 'read-only'],
  // Connections, too many of them, no memory for locks, shutdown, crash of a server process, start in progress.
  [/^(08...|53200|53300|57P01|57P02|57P03|57P05)$/, 'unavailable'],
  [
    /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/,
    'unavailable',
  ],
];

/** `pg` gives no code for connections that it lost or could not make in time. */
const lostConnection =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout)/;

/** True when a migration of a newer replica changed columns of a statement that was prepared before. */
export function isOutdatedPlan(error: unknown): boolean {
  return error instanceof Error && error.message === 'cached plan must not change result type';
}

/** Null for an error that is not about the database, or that says nothing of these. */
export function databaseFailure(error: unknown): DatabaseFailure | null {
  if (!(error instanceof Error)) return null;
  if (lostConnection.test(error.message)) return 'unavailable';
  if (isOutdatedPlan(error)) return 'conflict';
  if (error instanceof AggregateError) return databaseFailure(error.errors[0]);
  const code = 'code' in error ? String(error.code) : '';
  return meanings.find(([pattern]) => pattern.test(code))?.[1] ?? null;
}
