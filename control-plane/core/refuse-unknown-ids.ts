import type { Kysely } from 'kysely';
import { ownRowsAmong } from '../db/own-rows.ts';
import type { Database } from '../db/tables.ts';
import { invalidField } from '../errors/api-error.ts';

type Table = 'checks' | 'check_groups' | 'services' | 'status_pages' | 'alert_channels';
const numbered: ReadonlySet<Table> = new Set(['check_groups', 'alert_channels']);

/** A field of a body with ids of a table; undefined where the body does not have it. */
export type IdsOfField = [field: string, Table, readonly (string | number)[] | undefined];

/** Throws 400 for the first id that the account does not have. */
export async function refuseUnknownIds(
  db: Kysely<Database>,
  accountId: string,
  fields: readonly IdsOfField[],
): Promise<void> {
  for (const [field, table, ids = []] of fields) {
    if (ids.length === 0) continue;
    const rows = await ownRowsAmong(db, table, accountId, {
      ...{ column: 'id', isNumber: numbered.has(table), ids: ids.map(String) },
    });
    const known = new Set(rows.map(({ id }) => String(id)));
    const unknown = ids.find((id) => !known.has(String(id)));
    if (unknown !== undefined) throw invalidField(field, `has no ${unknown}`);
  }
}
