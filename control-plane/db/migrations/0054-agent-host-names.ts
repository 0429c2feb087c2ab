/** Agents say the name of their host. */
import { sql, type Kysely } from 'kysely';

/** It leaves the column empty. */
export const oldestBuild = '0050-baseline';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table agents add column host_name text`.execute(db);
}
