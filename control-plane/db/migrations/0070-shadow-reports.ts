/** Who is told of differing verdicts, and what they were told. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

/** It reports nothing meanwhile. */
export const oldestBuild = '0061-owed-incidents';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const column of [
    `shadows add column channel_ids_json text not null default '[]'`,
    'shadows add column reported_at INT',
    'shadows add column reported_compared INT not null default 0',
    'shadows add column reported_undecided INT not null default 0',
    'shadow_differences add column is_reported FLAG not null default 0',
  ]) {
    await sql.raw(ddl(`alter table ${column}`, engine)).execute(db);
  }
}
