/**
 * Passkeys of people, and challenges that were answered. Older builds ask people who have a passkey and
 * no app for the password alone.
 */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { int, strict } = ddl(engine);
  const later = engine === 'postgres' ? ' deferrable' : '';
  const statements = [
    `create table passkeys (
      id text primary key,
      person_id text not null references people (id) on delete cascade${later},
      credential_id text not null unique,
      public_key text not null,
      counter ${int} not null,
      name text not null,
      created_at ${int} not null,
      last_used_at ${int}
    )${strict}`,
    `create index passkeys_by_person on passkeys (person_id)`,
    `create table answered_challenges (
      challenge_hash text primary key,
      expires_at ${int} not null
    )${strict}`,
    `create index answered_challenges_by_end on answered_challenges (expires_at)`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
