/** Services: rows ↔ wire, and references of cards and incidents. */
import type { z } from 'zod';
import type { service } from '@monitor/shared/contract/status-page.ts';
import { invalidField } from '../errors/api-error.ts';
import { stampsOf } from '../db/columns.ts';
import type { Db, RowOf } from '../db/tables.ts';

type ServiceRow = Pick<
  RowOf<'services'>,
  'id' | 'name' | 'account_id' | 'created_at' | 'updated_at'
>;
export type ServiceWire = z.input<typeof service>;

export function toServiceWire(row: ServiceRow): ServiceWire {
  return {
    name: row.name,
    id: row.id,
    accountId: row.account_id,
    ...stampsOf(row),
  };
}

/** The ids without repeats, in order; refuses ids of unknown services. */
export async function checkServices(
  db: Db,
  accountId: string,
  field: string,
  references: readonly { id: string }[],
): Promise<string[]> {
  const ids = [...new Set(references.map(({ id }) => id))];
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('services')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', 'in', ids)
    .execute();
  const known = new Set(rows.map(({ id }) => id));
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) throw invalidField(field, `has no service ${unknown}`);
  return ids;
}
