/**
 * Which replica waits for an agent, and versions of what agents must hear, so that a poll without
 * news reads no check. `location` is empty for what concerns all agents of an account.
 */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { int, withoutRowid } = ddl(engine);
  const statements = [
    `alter table agents add column replica_id text`,
    `create table location_versions (
      account_id text not null, location text not null,
      version ${int} not null, jobs_version ${int} not null,
      primary key (account_id, location)
    )${withoutRowid}`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
