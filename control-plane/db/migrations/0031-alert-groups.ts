/**
 * Alerts of one cause become one notification of a channel that groups. Older builds do not group:
 * they send each alert by itself, and fail to send a group that waits in the outbox.
 */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

function statementsOf(engine: Engine): string[] {
  const { int, identity, strict } = ddl(engine);
  const later = engine === 'postgres' ? ' deferrable' : '';
  const ofAccount = `account_id text not null references accounts (id) on delete cascade${later}`;
  const ofChannel = `alert_channel_id ${int} not null references alert_channels (id) on delete cascade${later}`;
  return [
    `alter table alert_channels add column grouping_json text`,
    `create table alert_groups (
      id text primary key,
      ${ofAccount},
      ${ofChannel},
      cause_kind text,
      cause_name text,
      incident_key text not null,
      opened_at ${int} not null,
      last_sent_at ${int} not null,
      messages ${int} not null
    )${strict}`,
    `create index alert_groups_by_account on alert_groups (account_id, opened_at)`,
    `create index alert_groups_by_channel on alert_groups (alert_channel_id, last_sent_at)`,
    `create index alert_groups_by_age on alert_groups (last_sent_at)`,
    `create table grouped_alerts (
      seq ${identity},
      id text not null unique,
      ${ofAccount},
      ${ofChannel},
      alert_id text not null,
      check_id text not null,
      check_name text not null,
      alert_type text not null,
      incident_key text not null,
      effect text not null,
      causes_json text not null,
      error text,
      began_at ${int} not null,
      facts_json text,
      joined_at ${int} not null,
      due_at ${int} not null,
      group_id text references alert_groups (id) on delete cascade${later},
      message_id text,
      sent_at ${int}
    )${strict}`,
    `create index grouped_alerts_waiting on grouped_alerts (due_at) where message_id is null`,
    `create index grouped_alerts_of_channel on grouped_alerts (alert_channel_id, seq)
      where message_id is null`,
    `create index grouped_alerts_by_message on grouped_alerts (message_id)`,
    `create index grouped_alerts_by_group on grouped_alerts (group_id, seq)`,
    `create index grouped_alerts_by_key on grouped_alerts (alert_channel_id, incident_key, seq)`,
    `create index grouped_alerts_by_sending on grouped_alerts (alert_channel_id, sent_at)`,
    `create index grouped_alerts_by_alert on grouped_alerts (alert_id)`,
    `create index grouped_alerts_by_age on grouped_alerts (joined_at)`,
  ];
}

export const oldestBuild = { sqlite: '0023-open-runs', postgres: '0025-days-of-runs' };

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statementsOf(engine)) await sql.raw(statement).execute(db);
}
