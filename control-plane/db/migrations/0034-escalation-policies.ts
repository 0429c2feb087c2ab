/** Escalation policies, and the alerts that escalate by them. Older builds escalate nothing. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

function statementsOf(engine: Engine): string[] {
  const { int, strict } = ddl(engine);
  const later = engine === 'postgres' ? ' deferrable' : '';
  const ofAccount = `account_id text not null references accounts (id) on delete cascade${later}`;
  return [
    `create table escalation_policies (
      id text primary key,
      ${ofAccount},
      name text not null,
      body_json text not null,
      created_at ${int} not null,
      updated_at ${int}
    )${strict}`,
    `create index escalation_policies_of_account on escalation_policies (account_id, name)`,
    `create table escalations (
      check_id text not null references checks (id) on delete cascade${later},
      incident_key text not null,
      ${ofAccount},
      policy_id text not null,
      facts_json text not null,
      step ${int} not null,
      notified_json text not null,
      started_at ${int} not null,
      due_at ${int},
      primary key (check_id, incident_key)
    )${strict}`,
    `create index escalations_by_due on escalations (due_at) where due_at is not null`,
  ];
}

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statementsOf(engine)) await sql.raw(statement).execute(db);
}
