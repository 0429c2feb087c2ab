/** The parts of suites that agents of a location share, and what each came to. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

/** It shares no run. */
export const oldestBuild = '0050-baseline';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of [
    `create table run_shards (id text primary key, account_id text not null,
      location text not null, run_id text not null, attempt INT not null, shard INT not null,
      total INT not null, check_id text not null references checks (id) CASCADE,
      check_revision INT not null, source text not null, environment_url text,
      slot_location text not null, scheduled_for INT, created_at INT not null,
      expires_at INT not null, agent_id text, lease_until INT, cancel_requested_at INT,
      outcome_json text) BY_KEY`,
    `create unique index run_shards_of_run on run_shards
      (account_id, location, run_id, attempt, shard)`,
    'create index run_shards_by_expiry on run_shards (expires_at)',
  ]) {
    await sql.raw(ddl(statement, engine)).execute(db);
  }
}
