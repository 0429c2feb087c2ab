/** Where messages of the Slack app stand, so that a recovery changes them. Older builds post a new one. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

function statementsOf(engine: Engine): string[] {
  const { int, strict } = ddl(engine);
  const later = engine === 'postgres' ? ' deferrable' : '';
  return [
    `create table slack_messages (
      notification_id text not null,
      entry text not null,
      account_id text not null references accounts (id) on delete cascade${later},
      alert_channel_id ${int} not null references alert_channels (id) on delete cascade${later},
      incident_key text not null,
      conversation text not null,
      ts text not null,
      posted_at ${int} not null,
      closed_at ${int},
      primary key (notification_id, entry)
    )${strict}`,
    `create index slack_messages_by_key
      on slack_messages (alert_channel_id, incident_key, posted_at)`,
    `create index slack_messages_by_age on slack_messages (posted_at)`,
  ];
}

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statementsOf(engine)) await sql.raw(statement).execute(db);
}
