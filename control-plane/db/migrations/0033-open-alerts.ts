/**
 * Finds open alerts and what began to fail together; a channel may have a time zone; a group keeps
 * what its next notification has to know. Older builds leave these columns as they are.
 */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

function statementsOf(engine: Engine): string[] {
  const { int } = ddl(engine);
  return [
    `alter table alert_channels add column timezone text`,
    `alter table alert_states add column failing_since ${int}`,
    `create index alert_states_of_account on alert_states (account_id)`,
    `create index alert_states_by_beginning on alert_states (account_id, failing_since)
      where failing_since is not null`,
    `create index check_alerts_by_key on check_alerts (check_id, incident_key)`,
    `alter table alert_groups add column state_json text`,
  ];
}

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statementsOf(engine)) await sql.raw(statement).execute(db);
}
