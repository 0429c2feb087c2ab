/** When a check is read again that the other side refused. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

/** It compares nothing meanwhile. */
export const oldestBuild = '0061-owed-incidents';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  await sql.raw(ddl('alter table shadow_checks add column retry_at INT', engine)).execute(db);
}
