/** Devices of people that get notifications, each with a queue of its own in the outbox. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

const statements = [
  // It ends with the membership, and with the session that added it.
  `create table push_devices (id COUNTED, account_id text not null, person_id text not null,
    session_id text not null references console_sessions (id) CASCADE, name text not null,
    endpoint_hash text not null, subscription_encrypted text not null, created_at INT not null,
    last_success_at INT, unique (account_id, person_id, endpoint_hash),
    foreign key (account_id, person_id) references memberships (account_id, person_id) CASCADE)
    STRICT`,
  'create index push_devices_by_session on push_devices (session_id)',
  'create index push_devices_by_endpoint on push_devices (endpoint_hash)',
  'alter table outbox add column device_id INT references push_devices (id) CASCADE',
  'create index outbox_of_device on outbox (device_id) where device_id is not null',
  'drop index outbox_lanes',
  'alter table outbox drop column lane',
  `alter table outbox add column lane text not null generated always as (account_id || '/' || case kind when 'WEBHOOK' then 'webhook' when 'PUSH' then 'device ' || cast(device_id as text) else coalesce(cast(alert_channel_id as text), 'mail') end) DERIVED`,
  'create index outbox_lanes on outbox (lane, next_attempt_at, seq) where comes_next = 1',
];

/** It sends nothing to devices: the mails to the same people go out. */
export const oldestBuild = '0050-baseline';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statements) await sql.raw(ddl(statement, engine)).execute(db);
}
