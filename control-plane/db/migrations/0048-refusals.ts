/** What was refused at the door of agents, keys that were revoked, and how wrong an offset can be. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { int, real } = ddl(engine);
  for (const [table, column] of [
    ['location_keys', `revoked_at ${int}`],
    ['location_keys', `refused_at ${int}`],
    ['location_keys', 'refused_because text'],
    ['location_keys', 'refused_from text'],
    ['agents', `clock_uncertainty_ms ${real}`],
    ['agents', `said_goodbye ${int} not null default 0`],
  ] as const) {
    await sql.raw(`alter table ${table} add column ${column}`).execute(db);
  }
}
