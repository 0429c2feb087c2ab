/** What the alert machine knows, why it decided, and what is to be sent. */
import { sql, type Kysely } from 'kysely';

const accountId = 'account_id text not null references accounts (id) on delete cascade';
const checkId = 'check_id text not null references checks (id) on delete cascade';

const statements = [
  `create table alert_states (
    check_id text primary key references checks (id) on delete cascade, ${accountId},
    state_json text not null, wake_at integer, updated_at integer not null
  ) strict, without rowid`,
  `create index alert_states_to_wake on alert_states (wake_at) where wake_at is not null`,

  `create table alert_decisions (
    seq integer primary key autoincrement, id text not null unique, ${accountId}, ${checkId},
    decided_at integer not null, check_result_id text, cause text not null,
    alert_type text not null, outcome text not null, reason text not null,
    details_json text not null, check_alert_id text
  ) strict`,
  `create index alert_decisions_of_check on alert_decisions (account_id, check_id, decided_at)`,
  `create index alert_decisions_by_age on alert_decisions (decided_at)`,
  `create index alert_decisions_of_result on alert_decisions (check_result_id)
    where check_result_id is not null`,

  `create table certificate_notices (
    check_id text not null references checks (id) on delete cascade, ${accountId},
    alert_channel_id integer not null references alert_channels (id) on delete cascade,
    expires_at integer not null, stage text not null, noticed_at integer not null,
    primary key (check_id, alert_channel_id)
  ) strict, without rowid`,

  `create table outbox (
    seq integer primary key autoincrement, id text not null unique, ${accountId},
    kind text not null,
    alert_channel_id integer references alert_channels (id) on delete cascade,
    ordering_key text, content_json text not null, attempts integer not null default 0,
    next_attempt_at integer not null, created_at integer not null
  ) strict`,
  `create index outbox_by_due on outbox (next_attempt_at)`,
  `create index outbox_in_order on outbox (ordering_key, seq)`,

  `create index check_alerts_by_age on check_alerts (created_at)`,
  `create index alert_notifications_by_age on alert_notifications (sent_at)`,
  `alter table alert_notifications add column attempts integer not null default 0`,
  `alter table alert_notifications add column facts_json text`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
