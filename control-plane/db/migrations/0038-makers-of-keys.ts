/** Which person has made an API key: it ends when they are removed. Older builds leave it working. */
import { sql, type Kysely } from 'kysely';

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table api_keys add column made_by text`.execute(db);
}
