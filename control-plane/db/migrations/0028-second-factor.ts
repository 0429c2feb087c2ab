/**
 * Time-based codes as a second factor, and recovery codes. No build that was released knows people and
 * does not ask for a code.
 */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { int, strict } = ddl(engine);
  const later = engine === 'postgres' ? ' deferrable' : '';
  const ofPerson = `references people (id) on delete cascade${later}`;
  const statements = [
    `create table person_totp (
      person_id text primary key ${ofPerson},
      secret_encrypted text not null,
      last_step ${int} not null,
      created_at ${int} not null,
      confirmed_at ${int}
    )${strict}`,
    `create table recovery_codes (
      person_id text not null ${ofPerson},
      code_hash text not null,
      primary key (person_id, code_hash)
    )${strict}`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
