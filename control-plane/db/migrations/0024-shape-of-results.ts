/**
 * What every result writes on PostgreSQL gets cheaper; SQLite stays as it is. A foreign key locks a row of
 * its target for each row, and each row and index entry is a record of its own in the server's log. So
 * runs and results have no foreign keys, one index where two did, ids of 16 bytes instead of 37, and a
 * payload stands in the row of its result, where `result_payloads` shows it. Rows that every result updates
 * get room beside them, so that their indexes are not written again.
 *
 * Results outlive their check now: a trigger notes it in `deleted_checks`, every read of results also
 * requires the check, and `results/delete-results.ts` deletes them.
 */
import { sql, type Kysely } from 'kysely';
import type { Engine } from '../engine.ts';

const onPostgres = [
  `alter table check_results add column encoding text, add column payload bytea,
    add column checksum bigint`,
  `update check_results set encoding = result_payloads.encoding,
      payload = result_payloads.payload, checksum = result_payloads.checksum
    from result_payloads where result_seq = seq`,
  `drop table result_payloads`,
  // Large ones are deflated already.
  `alter table check_results alter payload set storage external`,
  `alter table check_results drop constraint check_results_check_run_id_fkey`,
  `alter table check_results drop constraint check_results_check_id_fkey`,
  `alter table check_runs drop constraint check_runs_check_id_fkey`,
  `alter table artifacts drop constraint artifacts_result_id_fkey`,
  `alter table check_result_error_groups drop constraint check_result_error_groups_result_id_fkey`,
  // One index by check and time, which is unique, in place of two.
  `drop index check_runs_by_slot`,
  `drop index check_runs_of_check`,
  `drop index check_results_of_check`,
  ...Object.entries({
    check_runs: ['account_id', 'check_id', 'run_id', 'result_id'],
    check_results: ['id', 'account_id', 'check_id'],
    artifacts: ['result_id'],
    check_result_error_groups: ['result_id'],
  }).map(
    ([table, columns]) =>
      `alter table ${table} ${columns.map((name) => `alter ${name} type uuid using ${name}::uuid`).join()}`,
  ),
  ...['artifacts', 'check_result_error_groups'].map(
    (table) => `alter table ${table} add foreign key (result_id)
      references check_results (id) on delete cascade deferrable`,
  ),
  `create view result_payloads as select seq as result_seq, encoding, payload, checksum
    from check_results where payload is not null`,
  `create function payloads_are_of_results() returns trigger language plpgsql as $$
    begin
      update check_results set encoding = new.encoding, payload = new.payload,
        checksum = new.checksum where seq = new.result_seq;
      return new;
    end $$`,
  `create trigger payloads_are_of_results instead of insert on result_payloads for each row
    execute function payloads_are_of_results()`,
  `create unique index check_runs_by_slot on check_runs (check_id, scheduled_for, location)`,
  // Runs are stored about in the order of their slots: this one takes a few bytes for many pages.
  `create index check_runs_by_time on check_runs using brin (scheduled_for)
    with (pages_per_range = 32, autosummarize = on)`,
  // The account and the type follow from the check.
  `create index check_results_of_check on check_results (check_id, started_at, seq)
    include (result_type, has_failures, run_location)`,
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

/** SQLite stays as it is. */
export const oldestBuild = { sqlite: '0023-open-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  if (engine === 'sqlite') return;
  for (const statement of onPostgres) await sql.raw(statement).execute(db);
}
