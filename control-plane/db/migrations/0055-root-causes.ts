/** Why errors occurred, as it was found from the facts of their minute. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

const statements = [
  `create table root_cause_analyses (id text primary key,
    account_id text not null references accounts (id) CASCADE,
    check_id text not null references checks (id) CASCADE, check_type text not null,
    error_group_id text not null references error_groups (id) CASCADE,
    created_at INT not null, duration_ms INT not null, user_context text,
    analysis_json text not null) STRICT`,
  `create index root_cause_analyses_of_group on root_cause_analyses
    (error_group_id, created_at)`,
];

/** It finds no causes, and lists none. */
export const oldestBuild = '0054-agent-host-names';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statements) await sql.raw(ddl(statement, engine)).execute(db);
}
