/** Code bundles are objects of the artifact store; null for files of older builds, until they are moved. */
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('alter table code_bundles add column object_key text').execute(db);
}
