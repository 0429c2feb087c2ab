/** How many checks a list has is counted in an index, without reading the checks. */
import { sql, type Kysely } from 'kysely';

/** Builds before it count in the table. */
export const oldestBuild = '0050-baseline';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index checks_by_age`.execute(db);
  await sql`create index checks_by_age on checks (account_id, created_at, is_trial)`.execute(db);
}
