/**
 * What every result writes on PostgreSQL gets cheaper; SQLite stays as it is. A foreign key locks a row of
 * its target for each row, and each index adds its own record to the server's log. So runs, results and
 * payloads have no foreign keys among themselves, and one index where two did. Rows that every result
 * updates get room beside them, so that their indexes are not written again.
 *
 * Results outlive their check now: a trigger notes it in `deleted_checks`, whoever reads looks for the
 * check, and `results/delete-results.ts` deletes them.
 */
import { sql, type Kysely } from 'kysely';
import type { Engine } from '../engine.ts';

const onPostgres = [
  `alter table result_payloads drop constraint result_payloads_result_seq_fkey`,
  `alter table check_results drop constraint check_results_check_run_id_fkey`,
  `alter table check_results drop constraint check_results_check_id_fkey`,
  `alter table check_runs drop constraint check_runs_check_id_fkey`,
  // One index by check and time, which is unique, in place of two.
  `drop index check_runs_by_slot`,
  `drop index check_runs_of_check`,
  `create unique index check_runs_by_slot on check_runs (check_id, scheduled_for, location)`,
  // Runs are stored about in the order of their slots: this one takes a few bytes for many pages.
  `create index check_runs_by_time on check_runs using brin (scheduled_for)
    with (pages_per_range = 32, autosummarize = on)`,
  // The account follows from the check.
  `drop index check_results_of_check`,
  `create index check_results_of_check on check_results (check_id, started_at, seq)
    include (result_type, has_failures, run_location, check_type)`,
  ...['check_statuses', 'agents', 'jobs', 'outbox', 'alert_states', 'roll_ups'].map(
    (table) => `alter table ${table} set (fillfactor = 70)`,
  ),
  `create table deleted_checks (
    check_id text primary key, account_id text not null, deleted_at bigint not null
  )`,
  `create function deleted_checks_are_noted() returns trigger language plpgsql as $$
    begin
      insert into deleted_checks (check_id, account_id, deleted_at)
        values (old.id, old.account_id, extract(epoch from now()) * 1000)
        on conflict do nothing;
      return null;
    end $$`,
  `create trigger deleted_checks_are_noted after delete on checks for each row
    execute function deleted_checks_are_noted()`,
];

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  if (engine === 'sqlite') return;
  for (const statement of onPostgres) await sql.raw(statement).execute(db);
}
