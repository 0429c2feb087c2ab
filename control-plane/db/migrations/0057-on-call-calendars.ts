/** Links to the on-call calendars of escalation policies. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

/** It answers no such link. */
export const oldestBuild = '0050-baseline';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const statement = 'alter table escalation_policies add column calendar_link_at INT';
  await sql.raw(ddl(statement, engine)).execute(db);
}
