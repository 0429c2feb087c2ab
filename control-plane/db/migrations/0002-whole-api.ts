/** Groups, snippets, variables, alerting, sessions, status pages, dashboards, roles of keys. */
import { sql, type Kysely } from 'kysely';

const accountId = 'account_id text not null references accounts (id) on delete cascade';
const times = 'created_at integer not null, updated_at integer';

const statements = [
  // Keys made before there were roles could do everything.
  `alter table api_keys add column role text not null default 'OWNER'`,
  `create index api_keys_of_account on api_keys (account_id, created_at)`,
  `alter table accounts add column plan text not null default 'enterprise'`,
  `alter table accounts add column settings_json text not null default '{}'`,
  `alter table accounts add column runtime_id text`,
  `alter table accounts add column alert_settings_json text`,

  `create table check_groups (
    id integer primary key autoincrement, ${accountId},
    name text not null, activated integer not null, concurrency integer not null,
    body_json text not null, ${times}
  ) strict`,
  `create index check_groups_of_account on check_groups (account_id, id)`,
  `create table check_group_tags (
    group_id integer not null references check_groups (id) on delete cascade,
    account_id text not null, tag text not null,
    primary key (group_id, tag)
  ) strict, without rowid`,
  `create index check_group_tags_by_tag on check_group_tags (account_id, tag)`,
  `alter table checks add column group_id integer references check_groups (id)`,
  `alter table checks add column group_order integer`,
  `create index checks_of_group on checks (group_id) where group_id is not null`,

  `create table snippets (
    id integer primary key autoincrement, ${accountId},
    name text not null, script text not null, ${times}
  ) strict`,
  `create index snippets_of_account on snippets (account_id, id)`,
  `create table variables (
    ${accountId}, key text not null, value text not null,
    locked integer not null, secret integer not null, ${times},
    primary key (account_id, key)
  ) strict, without rowid`,

  `create table alert_channels (
    id integer primary key autoincrement, ${accountId},
    type text not null, config_json text not null,
    send_recovery integer not null, send_failure integer not null, send_degraded integer not null,
    ssl_expiry integer not null, ssl_expiry_threshold integer not null,
    auto_subscribe integer not null, ${times}
  ) strict`,
  `create index alert_channels_of_account on alert_channels (account_id, id)`,
  `create table alert_subscriptions (
    id integer primary key autoincrement, account_id text not null,
    channel_id integer not null references alert_channels (id) on delete cascade,
    check_id text references checks (id) on delete cascade,
    group_id integer references check_groups (id) on delete cascade,
    activated integer not null
  ) strict`,
  `create unique index alert_subscriptions_of_check on alert_subscriptions (check_id, channel_id)
    where check_id is not null`,
  `create unique index alert_subscriptions_of_group on alert_subscriptions (group_id, channel_id)
    where group_id is not null`,
  `create index alert_subscriptions_of_channel on alert_subscriptions (channel_id)`,
  `create table check_alerts (
    seq integer primary key autoincrement, id text not null unique, account_id text not null,
    check_id text not null references checks (id) on delete cascade,
    name text not null, check_type text not null, alert_type text not null,
    run_location text, response_time_ms real, error text, status_code text,
    created_at integer not null, started_at integer
  ) strict`,
  `create index check_alerts_of_account on check_alerts (account_id, created_at)`,
  `create index check_alerts_of_check on check_alerts (check_id, created_at)`,
  `create table alert_notifications (
    seq integer primary key autoincrement, id text not null unique, account_id text not null,
    type text not null, status text not null, config_json text not null, result text,
    sent_at integer not null, check_type text not null, check_id text not null,
    check_alert_id text, alert_channel_id integer not null, check_result_id text
  ) strict`,
  `create index alert_notifications_of_account on alert_notifications (account_id, sent_at)`,

  `create table check_triggers (
    id integer primary key autoincrement, account_id text not null,
    check_id text unique references checks (id) on delete cascade,
    group_id integer unique references check_groups (id) on delete cascade,
    token text not null unique,
    created_at integer not null, called_at integer, updated_at integer
  ) strict`,
  `create table check_sessions (
    id text primary key, account_id text not null,
    check_id text not null references checks (id) on delete cascade,
    check_type text not null, name text not null, run_source text not null,
    started_at integer not null, deadline integer not null, cancelled_at integer
  ) strict, without rowid`,
  `create index check_sessions_by_deadline on check_sessions (deadline)`,
  `create table check_session_runs (
    session_id text not null references check_sessions (id) on delete cascade,
    run_id text not null, location text not null, cancelled integer not null,
    primary key (session_id, run_id)
  ) strict, without rowid`,

  `create table error_groups (
    id text primary key, account_id text not null,
    check_id text not null references checks (id) on delete cascade,
    error_hash text not null, raw_message text, cleaned_message text not null,
    first_seen_at integer not null, last_seen_at integer not null,
    archived_until_next_event integer not null, archived_for_ever integer not null,
    unique (check_id, error_hash)
  ) strict`,
  `create index error_groups_of_account on error_groups (account_id, last_seen_at)`,

  `create table client_certificates (
    id text primary key, ${accountId}, host text not null, cert text not null, ca text,
    key_sealed text not null, passphrase_sealed text, created_at integer not null
  ) strict`,
  `create index client_certificates_of_account on client_certificates (account_id, created_at)`,

  `create table maintenance_windows (
    id integer primary key autoincrement, ${accountId}, name text not null,
    starts_at integer not null, ends_at integer not null, repeat_unit text,
    repeat_interval integer, repeat_ends_at integer, tags_json text not null, ${times}
  ) strict`,
  `create index maintenance_windows_of_account on maintenance_windows (account_id, starts_at)`,

  `create table services (
    seq integer primary key autoincrement, id text not null unique, ${accountId},
    name text not null, ${times}
  ) strict`,
  `create index services_of_account on services (account_id, seq)`,
  `create table status_pages (
    seq integer primary key autoincrement, id text not null unique, ${accountId},
    name text not null, url text not null unique, custom_domain text unique,
    body_json text not null, is_private integer not null, ${times}
  ) strict`,
  `create index status_pages_of_account on status_pages (account_id, seq)`,
  `create table status_page_cards (
    id text primary key,
    status_page_id text not null references status_pages (id) on delete cascade,
    account_id text not null, name text not null, position integer not null, ${times}
  ) strict`,
  `create index status_page_cards_of_page on status_page_cards (status_page_id, position)`,
  `create table card_services (
    card_id text not null references status_page_cards (id) on delete cascade,
    service_id text not null references services (id) on delete cascade,
    position integer not null,
    primary key (card_id, service_id)
  ) strict, without rowid`,
  `create table status_page_subscriptions (
    id text primary key, account_id text not null,
    status_page_id text not null references status_pages (id) on delete cascade,
    type text not null, address text not null, status text not null, token_hash text,
    created_at integer not null, updated_at integer not null,
    unique (status_page_id, address)
  ) strict`,
  `create table incidents (
    seq integer primary key autoincrement, id text not null unique, ${accountId},
    name text not null, severity text not null, check_id text, ${times}
  ) strict`,
  `create index incidents_of_account on incidents (account_id, seq)`,
  `create table incident_services (
    incident_id text not null references incidents (id) on delete cascade,
    service_id text not null references services (id) on delete cascade,
    primary key (incident_id, service_id)
  ) strict, without rowid`,
  `create table incident_updates (
    seq integer primary key autoincrement, id text not null unique, account_id text not null,
    incident_id text not null references incidents (id) on delete cascade,
    description text not null, status text not null, public_at integer not null,
    notify_subscribers integer not null, created_at integer not null
  ) strict`,
  `create index incident_updates_of_incident on incident_updates (incident_id, public_at, seq)`,

  `create table dashboards (
    id integer primary key autoincrement, dashboard_id text not null unique, ${accountId},
    custom_url text unique, custom_domain text unique, body_json text not null, ${times}
  ) strict`,
  `create index dashboards_of_account on dashboards (account_id, id)`,
  `create table dashboard_incidents (
    id text primary key, account_id text not null,
    dashboard_id integer not null references dashboards (id) on delete cascade,
    name text not null, impact text not null,
    started_at integer not null, stopped_at integer, ${times}
  ) strict`,
  `create table dashboard_incident_updates (
    seq integer primary key autoincrement, id text not null unique, account_id text not null,
    incident_id text not null references dashboard_incidents (id) on delete cascade,
    status text not null, description text not null, ${times}
  ) strict`,
  `create index dashboard_updates_of_incident on dashboard_incident_updates (incident_id, seq)`,

  // Lists of results count what matches; with all of it in the index no row is touched for that.
  `drop index check_results_of_check`,
  `create index check_results_of_check on check_results (check_id, started_at, seq, account_id,
    result_type, has_failures, run_location, check_type)`,

  `create table queue_samples (
    account_id text not null, location text not null, sampled_at integer not null,
    queue_size integer not null, oldest_ms integer not null,
    primary key (account_id, location, sampled_at)
  ) strict, without rowid`,
  `create index queue_samples_by_time on queue_samples (sampled_at)`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
