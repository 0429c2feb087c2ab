/**
 * Public keys for which a private location encrypts its results, and since when. Older builds do not refuse
 * readable results of such a location, so they must not run on this database.
 */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

export const oldestBuild = '0043-result-keys';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { int } = ddl(engine);
  for (const column of [`result_keys_json text not null default '[]'`, `encrypted_since ${int}`]) {
    await sql.raw(`alter table private_locations add column ${column}`).execute(db);
  }
}
