/**
 * Code bundles are objects of the artifact store; null for files of older builds, until they are moved.
 * Besides, migrations after this one are noted with the oldest build that can live with them.
 */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { withoutRowid } = ddl(engine);
  await sql.raw('alter table code_bundles add column object_key text').execute(db);
  await sql
    .raw(
      `create table migration_facts (
        name text primary key not null, oldest_build text not null
      )${withoutRowid}`,
    )
    .execute(db);
}
