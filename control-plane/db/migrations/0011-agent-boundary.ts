/**
 * What agents may hand in follows from what they were given: a slot of their own location, or a job that
 * was leased to it. A slot has one run, whatever its id is derived from.
 */
import { sql, type Kysely } from 'kysely';

const statements = [
  // Ids of slots were unique, and so were slots; should there be a second one after all, it keeps its results.
  `update check_runs set scheduled_for = null where id in (
    select id from (
      select id, row_number() over (
        partition by scheduled_for, check_id, location order by id) as place
      from check_runs where scheduled_for is not null)
    where place > 1)`,
  `drop index check_runs_by_slot`,
  `create unique index check_runs_by_slot on check_runs (scheduled_for, check_id, location)`,
  `create table job_leases (
    account_id text not null, location text not null, run_id text not null, job_id text not null,
    check_id text not null, slot_location text not null, scheduled_for integer,
    attempt integer not null, leased_at integer not null,
    primary key (account_id, location, run_id, job_id)
  ) strict, without rowid`,
  `create index job_leases_by_age on job_leases (leased_at)`,
  `insert into job_leases
    select account_id, location, run_id, id, check_id, slot_location, scheduled_for, attempt,
      coalesce(lease_until, created_at)
    from jobs where agent_id is not null`,
  `create table learned_scripts_of_locations (
    check_id text not null references checks (id) on delete cascade,
    location text not null,
    account_id text not null, prompt_hash text not null, script text not null,
    learned_at integer not null,
    primary key (check_id, location)
  ) strict, without rowid`,
  // Where a script was learned is known of checks with one location alone; others learn again.
  `insert into learned_scripts_of_locations
    select learned_scripts.check_id, min(check_locations.location), learned_scripts.account_id,
      prompt_hash, script, learned_at
    from learned_scripts join check_locations on check_locations.check_id = learned_scripts.check_id
    group by learned_scripts.check_id having count(*) = 1`,
  `drop table learned_scripts`,
  `alter table learned_scripts_of_locations rename to learned_scripts`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
