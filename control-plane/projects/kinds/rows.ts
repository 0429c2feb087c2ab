/** Rows of resources as they are stored. */
import type { Selectable } from 'kysely';
import { eachNumberOf, eachOf } from '../../db/expressions.ts';
import type { Database } from '../../db/tables.ts';
import type { Reading } from './kind.ts';

/** The tables of resources, with the column by which a deployment knows a row, and what it holds. */
const tables = {
  alert_channels: ['id', 'number'],
  check_groups: ['id', 'number'],
  checks: ['id', 'text'],
  dashboards: ['id', 'number'],
  escalation_policies: ['id', 'text'],
  maintenance_windows: ['id', 'number'],
  private_locations: ['id', 'text'],
  services: ['id', 'text'],
  snippets: ['id', 'number'],
  status_pages: ['id', 'text'],
  variables: ['key', 'text'],
} as const;

/** What is there of these ids, or of the whole account for null, in the order in which it was made. */
export async function rowsOf<Table extends keyof typeof tables>(
  table: Table,
  { services, accountId }: Reading,
  ids: readonly string[] | null,
): Promise<Selectable<Database[Table]>[]> {
  const [key, kind] = tables[table];
  // Clients may name anything.
  const numbers = (ids ?? []).map(Number).filter(Number.isSafeInteger);
  // One table stands for all: Kysely finds no type for a union of them.
  const rows: unknown = await services.db
    .selectFrom(table as 'alert_channels')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(ids !== null, (query) =>
      kind === 'number'
        ? query.where('id', 'in', eachNumberOf(numbers))
        : query.where(key as never, 'in', eachOf(ids ?? []) as never),
    )
    .orderBy('created_at')
    .orderBy(key as 'id')
    .execute();
  return rows as Selectable<Database[Table]>[];
}
