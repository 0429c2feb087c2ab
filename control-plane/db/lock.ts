/**
 * Locks of a transaction. They compile to nothing on SQLite, which has one writer. On PostgreSQL a
 * transaction decides only on rows that it has locked.
 *
 * Order, never backwards: `accounts`, `location_states`, `agents`, `check_statuses` (by `check_id`),
 * `alert_states`, `incidents`, ordering keys of `outbox`. Several rows of one table in the order of
 * their key.
 */
import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import { byEngine, engineOf } from './engine.ts';
import type { Database } from './tables.ts';

const nothing = sql``;
const forUpdate = byEngine({ sqlite: nothing, postgres: sql`for no key update` });
const forUpdateOfFree = byEngine({
  sqlite: nothing,
  postgres: sql`for no key update skip locked`,
});

/**
 * Locks the rows that a query of one table finds until the transaction ends. With `skipLocked`,
 * rows that another transaction has locked are left out.
 */
export function lockRows<Tables extends keyof Database, Row>(
  query: SelectQueryBuilder<Database, Tables, Row>,
  { skipLocked = false }: { skipLocked?: boolean } = {},
): SelectQueryBuilder<Database, Tables, Row> {
  return query.modifyEnd(skipLocked ? forUpdateOfFree : forUpdate);
}

/** Waits for the lock of a name and holds it until the transaction ends. */
export async function lockKey(db: Kysely<Database>, name: string): Promise<void> {
  if (engineOf(db) === 'sqlite') return;
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(db);
}

/** Takes the lock of a name until the transaction ends; false when another transaction holds it. */
export async function tryLockKey(db: Kysely<Database>, name: string): Promise<boolean> {
  if (engineOf(db) === 'sqlite') return true;
  const { rows } = await sql<{ is_taken: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as is_taken
  `.execute(db);
  return rows[0]?.is_taken === true;
}
