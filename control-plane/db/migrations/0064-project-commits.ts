/** The commits from which projects were deployed. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

/** It keeps none. */
export const oldestBuild = '0050-baseline';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of [
    `create table project_commits (id COUNTED, account_id text not null,
      project_id text not null references projects (id) CASCADE, deployed_at INT not null,
      commit_json text not null) STRICT`,
    'create index project_commits_of_project on project_commits (project_id, deployed_at)',
  ]) {
    await sql.raw(ddl(statement, engine)).execute(db);
  }
}
