import { engineOf } from '../db/engine.ts';
import { eachOf } from '../db/expressions.ts';
import { lockRows } from '../db/lock.ts';
import type { Db } from '../db/tables.ts';

/**
 * Locks checks until the transaction ends, in the order of their ids. A transaction that
 * decides on results, alerts or the schedule of a check takes its lock first, and reads afterwards. Gives
 * the ids of the locked checks; deleted ones are not among them.
 */
export async function lockChecks(db: Db, checkIds: readonly string[]): Promise<string[]> {
  // SQLite has one writer.
  if (checkIds.length === 0 || engineOf(db) === 'sqlite') return [...checkIds];
  const rows = await lockRows(
    db
      .selectFrom('check_statuses')
      .select('check_id')
      .where('check_id', 'in', eachOf(checkIds))
      .orderBy('check_id'),
  ).execute();
  return rows.map((row) => row.check_id);
}
