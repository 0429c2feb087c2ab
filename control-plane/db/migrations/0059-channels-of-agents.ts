/** Channels by which agents say that the control plane is away. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

/** It sends by itself all that it knows. */
export const oldestBuild = '0052-planned-work';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const statement = 'alter table alert_channels add column sent_by_agents FLAG not null default 0';
  await sql.raw(ddl(statement, engine)).execute(db);
}
