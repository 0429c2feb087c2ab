/** Projects of existing clients, what belongs to them, and their deployments. Older builds know none. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

function statementsOf(engine: Engine): string[] {
  const { flag, identity, int, strict } = ddl(engine);
  const later = engine === 'postgres' ? ' deferrable' : '';
  const ofAccount = `account_id text not null references accounts (id) on delete cascade${later}`;
  return [
    `create table projects (
      id text primary key,
      ${ofAccount},
      logical_id text not null,
      name text not null,
      repo_url text,
      created_at ${int} not null,
      updated_at ${int},
      unique (account_id, logical_id)
    )${strict}`,
    `create table project_resources (
      id ${identity},
      ${ofAccount},
      project_id text not null references projects (id) on delete cascade${later},
      type text not null,
      logical_id text not null,
      physical_id text not null,
      is_uncommitted ${flag} not null,
      unique (project_id, type, logical_id)
    )${strict}`,
    `create index project_resources_by_physical_id on project_resources (account_id, type, physical_id)`,
    `create table deployments (
      id text primary key,
      ${ofAccount},
      logical_id text not null,
      replica_id text not null,
      status text not null,
      error_json text,
      result_json text,
      created_at ${int} not null,
      started_at ${int},
      ended_at ${int},
      cancel_requested_at ${int}
    )${strict}`,
    // A project has one deployment at a time.
    `create unique index deployments_in_progress on deployments (account_id, logical_id)
      where ended_at is null`,
    `create index deployments_by_end on deployments (ended_at) where ended_at is not null`,
    `create table import_plans (
      id text primary key,
      ${ofAccount},
      project_id text not null references projects (id) on delete cascade${later},
      resources_json text not null,
      created_at ${int} not null,
      applied_at ${int},
      committed_at ${int}
    )${strict}`,
    `create index import_plans_of_project on import_plans (project_id)`,
    `create index import_plans_of_account on import_plans (account_id)`,
    `create index deployments_of_account on deployments (account_id, logical_id, created_at)`,
  ];
}

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statementsOf(engine)) await sql.raw(statement).execute(db);
}
