/**
 * Which replica waits for an agent, and versions of what agents must hear, so that a poll without
 * news reads one row. `location` is empty for what concerns all agents of an account.
 */
import { sql, type Kysely } from 'kysely';

const statements = [
  `alter table agents add column replica_id text`,
  `create table location_versions (
    account_id text not null, location text not null,
    version integer not null, jobs_version integer not null,
    primary key (account_id, location)
  ) strict, without rowid`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
