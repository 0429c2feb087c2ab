/** Errors of ours, one after another: what checks and locations have had since their last conclusive result. */
import { sql, type Kysely } from 'kysely';

const accountId = 'account_id text not null references accounts (id) on delete cascade';

const statements = [
  `create table check_faults (
    check_id text not null references checks (id) on delete cascade, ${accountId},
    location text not null, since integer not null, noted_at integer not null,
    last_at integer not null, runs integer not null, kinds_json text not null,
    primary key (check_id, location)
  ) strict, without rowid`,
  `create index check_faults_of_location on check_faults (account_id, location)`,

  `create table location_faults (
    ${accountId}, location text not null, since integer not null,
    primary key (account_id, location)
  ) strict, without rowid`,

  `create table fault_notices (
    ${accountId}, location text not null, code text not null,
    since integer not null, incident_key text not null, channels_json text not null,
    sent_at integer not null, conclusive_at integer,
    primary key (account_id, location, code)
  ) strict, without rowid`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
