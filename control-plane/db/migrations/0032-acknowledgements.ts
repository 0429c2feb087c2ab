/** Who has acknowledged or snoozed which outage. Older builds send the reminders all the same. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

function statementsOf(engine: Engine): string[] {
  const { int, strict } = ddl(engine);
  const later = engine === 'postgres' ? ' deferrable' : '';
  return [
    `alter table check_alerts add column incident_key text`,
    `create table alert_acknowledgements (
      id text primary key,
      account_id text not null references accounts (id) on delete cascade${later},
      check_id text not null references checks (id) on delete cascade${later},
      incident_key text not null,
      kind text not null,
      made_by text not null,
      created_at ${int} not null,
      until_at ${int}
    )${strict}`,
    `create index alert_acknowledgements_by_key
      on alert_acknowledgements (check_id, incident_key, created_at)`,
    `create index alert_acknowledgements_by_age on alert_acknowledgements (created_at)`,
  ];
}

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statementsOf(engine)) await sql.raw(statement).execute(db);
}
