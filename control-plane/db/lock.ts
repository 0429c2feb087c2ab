/**
 * Locks of a transaction. They compile to nothing on SQLite, which has one writer. On PostgreSQL a
 * transaction decides only on rows that it has locked.
 *
 * Order, never backwards: `accounts`, `location_states`, `agents`, `check_statuses` (by `check_id`),
 * `alert_states`, `incidents`, ordering keys of `outbox`. Several rows of one table in the order of
 * their key. What checks name (locations, groups, snippets, services, certificates) is kept or locked
 * between any of them: a transaction that locks such a row waits for no check afterwards.
 */
import { sql, type SelectQueryBuilder } from 'kysely';
import { byEngine, engineOf } from './engine.ts';
import type { Database, Db } from './tables.ts';

const nothing = sql``;
const forUpdate = byEngine({ sqlite: nothing, postgres: sql`for no key update` });
const forShare = byEngine({ sqlite: nothing, postgres: sql`for share` });
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

/**
 * Keeps the rows that a query of one table finds from changes and deletion until the transaction ends:
 * rows that are about to refer to them find them there. Any number of transactions may do so at once.
 * A transaction that deletes a row with references locks it first, and then looks for the references.
 */
export function keepRows<Tables extends keyof Database, Row>(
  query: SelectQueryBuilder<Database, Tables, Row>,
): SelectQueryBuilder<Database, Tables, Row> {
  return query.modifyEnd(forShare);
}

/** Waits for the locks of names, in the order of the names, and holds them until the transaction ends. */
export async function lockKeys(db: Db, names: readonly string[]): Promise<void> {
  if (engineOf(db) === 'sqlite' || names.length === 0) return;
  await sql`
    select pg_advisory_xact_lock(hashtextextended(name, 0))
    from unnest(${inOrder(names)}::text[]) with ordinality as each (name, place) order by place
  `.execute(db);
}

/** Takes the locks of names until the transaction ends; gives those that no other transaction holds. */
export async function tryLockKeys(db: Db, names: readonly string[]): Promise<ReadonlySet<string>> {
  if (engineOf(db) === 'sqlite' || names.length === 0) return new Set(names);
  const { rows } = await sql<{ name: string; is_taken: boolean }>`
    select name, pg_try_advisory_xact_lock(hashtextextended(name, 0)) as is_taken
    from unnest(${inOrder(names)}::text[]) as each (name)
  `.execute(db);
  return new Set(rows.flatMap(({ name, is_taken: isTaken }) => (isTaken ? [name] : [])));
}

const inOrder = (names: readonly string[]): string[] => [...new Set(names)].toSorted();
