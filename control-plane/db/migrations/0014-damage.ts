/**
 * What tells of damage: a checksum beside each payload, and a record of results that were stored, were
 * acknowledged to their agents, and are gone.
 */
import { sql, type Kysely } from 'kysely';

const statements = [
  `alter table result_payloads add column checksum integer`,
  `create table record_losses (
    id integer primary key autoincrement,
    noticed_at integer not null, since integer not null, until integer not null,
    results integer not null
  ) strict`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
