/** Test sessions: runs of checks that are not on the schedule, recorded together. Older builds show none. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

function statementsOf(engine: Engine): string[] {
  const { int, flag, strict, withoutRowid } = ddl(engine);
  const later = engine === 'postgres' ? ' deferrable' : '';
  const ofAccount = `account_id text not null references accounts (id) on delete cascade${later}`;
  const ofSession = `session_id text not null references test_sessions (id) on delete cascade${later}`;
  return [
    `create table test_sessions (
      id text primary key,
      ${ofAccount},
      suite_id text,
      name text not null,
      provider text not null,
      project text,
      location text not null,
      private_location_id text,
      invoked_by text,
      invoker_name text,
      repo_url text, commit_id text, commit_owner text, commit_message text, branch_name text,
      environment text,
      is_recorded ${flag} not null,
      streams_logs ${flag} not null,
      status text not null,
      started_at ${int} not null,
      stopped_at ${int},
      cancelled_at ${int},
      publish_from ${int} not null
    )${strict}`,
    `create index test_sessions_of_account on test_sessions (account_id, started_at, id)`,
    `create index test_sessions_by_suite on test_sessions (suite_id) where suite_id is not null`,
    `create index open_test_sessions on test_sessions (started_at) where stopped_at is null`,
    `create index test_sessions_by_start on test_sessions (started_at)`,
    `create table test_results (
      id text primary key,
      ${ofSession},
      ${ofAccount},
      position ${int} not null,
      run_id text not null,
      check_run_id text,
      check_id text,
      trial_id text,
      logical_id text,
      name text not null,
      check_type text not null,
      location text not null,
      outcome text,
      result_id text,
      has_failures ${flag} not null,
      has_errors ${flag} not null,
      is_degraded ${flag} not null,
      error text,
      response_time_ms ${int},
      started_at ${int},
      stopped_at ${int},
      deadline ${int} not null,
      log_bytes ${int} not null,
      report_json text
    )${strict}`,
    `create unique index test_results_of_session on test_results (session_id, position)`,
    `create index test_results_by_run on test_results (run_id)`,
    `create index test_results_by_trial on test_results (trial_id) where trial_id is not null`,
    `create index open_test_results on test_results (session_id) where outcome is null`,
    `create table test_logs (
      run_id text not null,
      position ${int} not null,
      lines_json text not null,
      created_at ${int} not null,
      primary key (run_id, position)
    )${withoutRowid}`,
    `create index test_logs_by_time on test_logs (created_at)`,
    `alter table jobs add column streams_logs ${flag} not null default 0`,
  ];
}

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statementsOf(engine)) await sql.raw(statement).execute(db);
}
