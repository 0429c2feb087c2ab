import type { Db } from '../db/tables.ts';

/** Display name of a private location; undefined for other locations. */
export async function privateLocationName(
  db: Db,
  accountId: string,
  location: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('private_locations')
    .select('name')
    .where('account_id', '=', accountId)
    .where('slug_name', '=', location)
    .executeTakeFirst();
  return row?.name;
}
