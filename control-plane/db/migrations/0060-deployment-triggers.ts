/** Checks and groups that run when a repository reports a deployment. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

const statement = `create table deployment_triggers (id COUNTED,
  account_id text not null references accounts (id) CASCADE,
  check_id text unique references checks (id) CASCADE,
  group_id INT unique references check_groups (id) CASCADE, token text not null unique,
  token_encrypted text not null, repo_id text not null, settings_json text not null,
  created_at INT not null, called_at INT, updated_at INT) STRICT`;

/** It has none, and answers 404 to those who call. */
export const oldestBuild = '0059-channels-of-agents';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  await sql.raw(ddl(statement, engine)).execute(db);
}
