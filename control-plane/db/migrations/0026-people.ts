/**
 * People who sign in with an e-mail address and a password, the accounts they belong to, and one-time
 * links (set-up, invitation, password reset). A console session belongs to an API key or to a person.
 * Older builds find no key for sessions of people, so they answer 401 to them.
 */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

function statementsOf(engine: Engine): string[] {
  const { int, strict } = ddl(engine);
  const later = engine === 'postgres' ? ' deferrable' : '';
  const ofAccount = `account_id text not null references accounts (id) on delete cascade${later}`;
  const sessionColumns = `person_id text references people (id) on delete cascade${later},
    user_agent text, address text, last_used_at ${int}`;
  const sessions =
    engine === 'postgres'
      ? [
          `alter table console_sessions alter api_key_id drop not null`,
          ...sessionColumns
            .split(/,\s+/)
            .map((column) => `alter table console_sessions add column ${column}`),
        ]
      : [
          // SQLite cannot take away `not null`.
          `alter table console_sessions rename to console_sessions_before`,
          `create table console_sessions (
            id text primary key,
            ${ofAccount},
            api_key_id text references api_keys (id) on delete cascade,
            token_hash text not null unique,
            previous_hash text unique,
            rotated_at integer not null,
            created_at integer not null,
            expires_at integer not null,
            ${sessionColumns}
          ) strict`,
          `insert into console_sessions (id, account_id, api_key_id, token_hash, previous_hash,
              rotated_at, created_at, expires_at)
            select id, account_id, api_key_id, token_hash, previous_hash, rotated_at, created_at,
              expires_at from console_sessions_before`,
          `drop table console_sessions_before`,
          `create index console_sessions_by_key on console_sessions (api_key_id)`,
          `create index console_sessions_by_end on console_sessions (expires_at)`,
        ];
  return [
    `create table people (
      id text primary key,
      email text not null unique,
      name text not null,
      password_hash text,
      created_at ${int} not null,
      updated_at ${int},
      last_sign_in_at ${int}
    )${strict}`,
    `create table memberships (
      ${ofAccount},
      person_id text not null references people (id) on delete cascade${later},
      role text not null,
      created_at ${int} not null,
      primary key (account_id, person_id)
    )${strict}`,
    `create index memberships_by_person on memberships (person_id)`,
    `create table person_links (
      id text primary key,
      kind text not null,
      token_hash text not null unique,
      account_id text references accounts (id) on delete cascade${later},
      person_id text references people (id) on delete cascade${later},
      email text not null,
      role text,
      made_by text not null,
      created_at ${int} not null,
      expires_at ${int} not null
    )${strict}`,
    `create index person_links_by_account on person_links (account_id, kind)`,
    `create index person_links_by_person on person_links (person_id)`,
    `create index person_links_by_end on person_links (expires_at)`,
    ...sessions,
    `create index console_sessions_by_person on console_sessions (person_id)`,
  ];
}

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statementsOf(engine)) await sql.raw(statement).execute(db);
}
