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

/** Asked once for each database: the answer takes longer than all rows of a small one. */
const namesOf = new WeakMap<Services['db'], Promise<string[]>>();

/** A day of a table is not a table: a day without rows is no change. */
async function readNames(db: Services['db']): Promise<string[]> {
  const tables = await db.introspection.getTables();
  return tables.map(({ name }) => name).filter((name) => !/_d\d+$/.test(name));
}

/** Every row of every table but one; with an account, only the rows that say they are its own. */
export async function dumpTables(
  db: Services['db'],
  { accountId, except }: { accountId?: string | undefined; except?: string } = {},
): Promise<Record<string, string[]>> {
  // Not while timers of the control plane, which runs in this process, move rows from table to table.
  await untilServerIsIdle();
  const dump: Record<string, string[]> = {};
  const names = namesOf.get(db) ?? readNames(db);
  namesOf.set(db, names);
  for (const name of await names) {
    if (name === except) continue;
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
