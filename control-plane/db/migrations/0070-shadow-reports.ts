/** The daily message of shadow mode: recipients, and what was reported; and the history before a move. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

/** It reports nothing meanwhile, and takes imported sums for its own. */
export const oldestBuild = '0061-owed-incidents';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of [
    `alter table shadows add column channel_ids_json text not null default '[]'`,
    'alter table shadows add column reported_at INT',
    'alter table shadow_checks add column reported_compared INT not null default 0',
    'alter table shadow_checks add column reported_undecided INT not null default 0',
    'alter table shadows add column history_days INT',
    'alter table shadow_differences add column is_reported FLAG not null default 0',
    `create table imported_history (check_id text primary key references checks (id) CASCADE,
      account_id text not null, host text not null, from_at INT not null, until_at INT not null,
      results INT not null, left_out INT not null default 0, oldest_at INT, problem text,
      retry_at INT, part_hours INT) BY_KEY`,
    'create index imported_history_of_account on imported_history (account_id)',
  ]) {
    await sql.raw(ddl(statement, engine)).execute(db);
  }
}
