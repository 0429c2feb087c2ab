/** Who changed what, from where. Older builds write nothing into it. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

function statementsOf(engine: Engine): string[] {
  const { int, identity, strict } = ddl(engine);
  const later = engine === 'postgres' ? ' deferrable' : '';
  return [
    `create table audit_log (
      seq ${identity},
      id text not null unique,
      account_id text not null references accounts (id) on delete cascade${later},
      at ${int} not null,
      actor_kind text not null,
      actor_id text,
      actor_name text not null,
      address text,
      operation text not null,
      outcome text not null,
      resource_type text,
      resource_id text,
      resource_name text,
      before_json text,
      after_json text
    )${strict}`,
    `create index audit_log_by_account on audit_log (account_id, at)`,
    `create index audit_log_by_time on audit_log (at)`,
  ];
}

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statementsOf(engine)) await sql.raw(statement).execute(db);
}
