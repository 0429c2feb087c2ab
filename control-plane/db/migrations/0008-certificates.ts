/** Certificates that are watched, and locations that are. */
import { sql, type Kysely } from 'kysely';

const statements = [
  `create table check_certificates (
    check_id text not null references checks (id) on delete cascade,
    account_id text not null references accounts (id) on delete cascade,
    location text not null, host text not null, port integer not null,
    valid_from integer not null, valid_to integer not null,
    issuer text not null, subject text not null, fingerprint256 text not null, problem text,
    measured_at integer not null, due_at integer not null,
    primary key (check_id, location)
  ) strict, without rowid`,
  `create index check_certificates_by_due on check_certificates (due_at)`,
  `create index check_certificates_of_account on check_certificates (account_id, valid_to)`,

  `create table location_notices (
    account_id text not null references accounts (id) on delete cascade,
    location text not null, unserved_since integer not null, incident_key text not null,
    channels_json text not null, sent_at integer not null,
    primary key (account_id, location)
  ) strict, without rowid`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
