/** Who has made an invitation: it ends with their right to make it. Older builds leave it open. */
import { sql, type Kysely } from 'kysely';

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table person_links add column made_by_id text`.execute(db);
}
