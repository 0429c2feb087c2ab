/** What runs of code need and leave: files, code bundles, error groups of results. */
import { sql, type Kysely } from 'kysely';

const accountId = 'account_id text not null references accounts (id) on delete cascade';

const statements = [
  // Grows with every change of what checks inherit from their account: variables, snippets,
  // certificates, runtime. Agents are told when it differs from what they hold.
  `alter table accounts add column environment_revision integer not null default 0`,
  `alter table jobs add column environment_url text`,
  `alter table jobs add column cancel_requested_at integer`,
  `alter table check_results add column is_cancelled integer not null default 0`,

  // How long a slot may stay open differs by type: periods are found by when they are due, not by
  // how far they were swept.
  `alter table schedule_periods add column sweep_at integer not null default 0`,
  `drop index schedule_periods_to_sweep`,
  `create index schedule_periods_to_sweep on schedule_periods (sweep_at)
    where ends_at is null or swept_until < ends_at`,

  `create table artifacts (
    id integer primary key autoincrement, ${accountId},
    result_id text not null references check_results (id) on delete cascade,
    location text not null, name text not null, type text not null,
    content_type text not null, size_bytes integer not null,
    state text not null, reason text, stored_bytes integer, encoding text, digest text,
    object_key text, created_at integer not null, stored_at integer,
    unique (result_id, name)
  ) strict`,
  `create index artifacts_by_age on artifacts (state, created_at)`,
  `create index artifacts_of_account on artifacts (account_id, result_id)`,

  // Objects to delete from the store. Whatever deletes a row, and be it a cascade, its object follows.
  `create table artifact_garbage (
    object_key text primary key, due_at integer not null
  ) strict, without rowid`,
  `create index artifact_garbage_by_due on artifact_garbage (due_at)`,
  `create trigger artifact_objects_follow_rows after delete on artifacts
    when old.object_key is not null
    begin
      insert or ignore into artifact_garbage (object_key, due_at) values (old.object_key, 0);
    end`,

  `create table code_bundles (
    ${accountId}, path text not null, digest text not null, size_bytes integer not null,
    created_at integer not null, last_used_at integer not null,
    primary key (account_id, path)
  ) strict, without rowid`,
  `create index code_bundles_by_use on code_bundles (last_used_at)`,

  `create table learned_scripts (
    check_id text primary key references checks (id) on delete cascade,
    account_id text not null, prompt_hash text not null, script text not null,
    learned_at integer not null
  ) strict, without rowid`,

  `create table check_result_error_groups (
    result_id text not null references check_results (id) on delete cascade,
    error_group_id text not null references error_groups (id) on delete cascade,
    account_id text not null,
    primary key (result_id, error_group_id)
  ) strict, without rowid`,
  `create index error_groups_of_results on check_result_error_groups (error_group_id)`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
