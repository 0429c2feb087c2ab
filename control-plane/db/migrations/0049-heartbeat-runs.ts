/** Heartbeats: schedules of cron, the run that has started, and what jobs say of their runs. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { int } = ddl(engine);
  for (const [table, column] of [
    ['heartbeats', 'cron text'],
    ['heartbeats', 'timezone text'],
    ['heartbeats', `started_at ${int}`],
    ['heartbeats', 'started_run text'],
    ['heartbeat_events', 'run_id text'],
    ['heartbeat_events', `duration_ms ${int}`],
    ['heartbeat_events', 'message text'],
  ] as const) {
    await sql.raw(`alter table ${table} add column ${column}`).execute(db);
  }
}
