/** Results summed up for analytics. */
import { sql, type Kysely } from 'kysely';

const ofCheck = `account_id text not null,
    check_id text not null references checks (id) on delete cascade`;

const statements = [
  `create table roll_ups (
    id integer primary key, ${ofCheck},
    hours integer not null, starts_at integer not null, location text not null,
    part text not null, outcome text not null,
    finals integer not null, failures integer not null, degraded integer not null,
    retries integer not null, first_at integer not null, last_at integer not null,
    metrics blob not null
  ) strict`,
  `create unique index roll_ups_of_check on roll_ups
    (check_id, hours, starts_at, location, part, outcome)`,
  `create index roll_ups_by_age on roll_ups (starts_at)`,

  `create table roll_up_progress (
    id integer primary key check (id = 1), rolled_up_to integer not null, raw_from integer not null
  ) strict`,
  `insert into roll_up_progress (id, rolled_up_to, raw_from) values (1, 0, 0)`,

  `create table roll_up_days (
    ${ofCheck}, starts_at integer not null, due_at integer not null,
    primary key (check_id, starts_at)
  ) strict, without rowid`,
  `create index roll_up_days_by_due on roll_up_days (due_at)`,

  // A result is rolled up once, as what it is then; an attempt that turns out to have been the last
  // one of its run is noted here, whoever makes it so.
  `create table roll_up_corrections (
    result_seq integer primary key references check_results (seq) on delete cascade,
    check_id text not null, started_at integer not null
  ) strict`,
  `create trigger rolled_up_attempts_become_final after update of result_type on check_results
    when old.result_type = 'ATTEMPT' and new.result_type = 'FINAL'
      and new.seq <= (select rolled_up_to from roll_up_progress)
    begin
      insert or ignore into roll_up_corrections (result_seq, check_id, started_at)
      values (new.seq, new.check_id, new.started_at);
    end`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
