/** Windows in which checks run without alerts. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { int } = ddl(engine);
  for (const column of [
    `mute_tags_json text not null default '[]'`,
    `mute_all_alerts ${int} not null default 0`,
  ]) {
    await sql.raw(`alter table maintenance_windows add column ${column}`).execute(db);
  }
}
