/**
 * Deletions that can be undone for a minute. The check of one has `is_trial` 2: builds before this one
 * list it as little as a trial, and do not end the deletion.
 */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

export const oldestBuild = '0043-result-keys';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { int, flag, strict } = ddl(engine);
  const later = engine === 'postgres' ? ' deferrable' : '';
  await sql
    .raw(
      `create table held_deletions (
        id text primary key,
        account_id text not null references accounts (id) on delete cascade${later},
        path text not null,
        name text not null,
        operation text not null,
        input_json text not null,
        principal_json text not null,
        was_active ${flag} not null,
        is_begun ${flag} not null default 0,
        problem text,
        due_at ${int} not null,
        unique (account_id, path)
      )${strict}`,
    )
    .execute(db);
}
