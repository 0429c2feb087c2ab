/** The whole database as text, to tell whether a request changed anything. */
import type { Services } from '../../control-plane/core/services.ts';
import { untilServerIsIdle } from './postgres.ts';

/** Kept to the minute whenever a key is used, whatever it is used for. */
const volatileColumns = new Set(['last_used_at']);

/** Rows of a table, or of a pragma as `pragma_...`, whether or not the code knows it. */
export function rowsOf(db: Services['db'], table: string): Promise<Record<string, unknown>[]> {
  return db
    .selectFrom(table as never)
    .selectAll()
    .execute();
}

/**
 * Every row of every table; with an account, only the rows that say they are its own. A day of a table
 * is not a table: a day without rows is no change.
 */
export async function dumpTables(
  db: Services['db'],
  accountId?: string,
): Promise<Record<string, string[]>> {
  // Not while timers of the control plane, which runs in this process, move rows from table to table.
  await untilServerIsIdle();
  const dump: Record<string, string[]> = {};
  for (const { name } of await db.introspection.getTables()) {
    if (/_d\d+$/.test(name)) continue;
    const rows = await rowsOf(db, name);
    dump[name] = rows
      .filter((row) => accountId === undefined || row['account_id'] === accountId)
      .map((row) =>
        JSON.stringify(row, (column, value: unknown) =>
          volatileColumns.has(column) ? undefined : value,
        ),
      );
  }
  return dump;
}
