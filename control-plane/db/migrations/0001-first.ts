/** The first schema. Forward only: later changes are later files. */
import { sql, type Kysely } from 'kysely';

const statements = [
  `create table accounts (
    id text primary key, name text not null, created_at integer not null
  ) strict`,
  `create table api_keys (
    id text primary key,
    account_id text not null references accounts (id) on delete cascade,
    name text not null, key_hash text not null unique, masked_key text not null,
    created_at integer not null, last_used_at integer, expires_at integer, revoked_at integer
  ) strict`,
  `create table private_locations (
    id text primary key,
    account_id text not null references accounts (id) on delete cascade,
    name text not null, slug_name text not null, icon text not null, proxy_url text,
    created_at integer not null, updated_at integer,
    unique (account_id, slug_name)
  ) strict`,
  `create table location_keys (
    id text primary key,
    account_id text not null references accounts (id) on delete cascade,
    location text not null,
    private_location_id text references private_locations (id) on delete cascade,
    key_hash text not null unique, masked_key text not null,
    created_at integer not null, updated_at integer
  ) strict`,
  `create index location_keys_by_location on location_keys (account_id, location)`,
  `create table checks (
    id text primary key,
    account_id text not null references accounts (id) on delete cascade,
    type text not null, name text not null, activated integer not null,
    frequency integer not null, frequency_offset integer not null, run_parallel integer not null,
    body_json text not null, revision integer not null,
    created_at integer not null, updated_at integer
  ) strict`,
  `create index checks_by_age on checks (account_id, created_at)`,
  `create table check_locations (
    check_id text not null references checks (id) on delete cascade,
    account_id text not null, location text not null, position integer not null,
    primary key (check_id, location)
  ) strict, without rowid`,
  `create index check_locations_by_location on check_locations (account_id, location)`,
  `create table check_tags (
    check_id text not null references checks (id) on delete cascade,
    account_id text not null, tag text not null,
    primary key (check_id, tag)
  ) strict, without rowid`,
  `create index check_tags_by_tag on check_tags (account_id, tag)`,
  `create table schedule_periods (
    id integer primary key autoincrement,
    account_id text not null,
    check_id text not null references checks (id) on delete cascade,
    frequency integer not null, frequency_offset integer not null, run_parallel integer not null,
    locations_json text not null,
    starts_at integer not null, ends_at integer, swept_until integer not null
  ) strict`,
  `create index schedule_periods_of_check on schedule_periods (check_id, ends_at)`,
  `create index schedule_periods_to_sweep on schedule_periods (swept_until)
    where ends_at is null or swept_until < ends_at`,
  `create table agents (
    id text not null, account_id text not null, location text not null,
    version text not null, capabilities_json text not null,
    capacity_light integer not null, capacity_heavy integer not null, running integer not null,
    outbox_depth integer not null, outbox_oldest_at integer, outbox_dropped integer not null,
    clock_offset_ms real, started_at integer not null, last_seen_at integer not null,
    gone_at integer,
    primary key (account_id, location, id)
  ) strict, without rowid`,
  `create table location_states (
    account_id text not null, location text not null, epoch integer not null,
    served_since integer, unserved_since integer,
    primary key (account_id, location)
  ) strict, without rowid`,
  `create table check_runs (
    id integer primary key autoincrement,
    account_id text not null,
    check_id text not null references checks (id) on delete cascade,
    run_id text not null unique, location text not null, scheduled_for integer,
    state text not null, missed_reason text, result_id text,
    late_results integer not null default 0, created_at integer not null
  ) strict`,
  `create index check_runs_of_check on check_runs (check_id, scheduled_for)`,
  `create index check_runs_by_slot on check_runs (scheduled_for, check_id, location)`,
  `create index check_runs_open on check_runs (created_at) where state = 'RUNNING'`,
  `create table check_results (
    seq integer primary key autoincrement,
    id text not null unique,
    account_id text not null,
    check_id text not null references checks (id) on delete cascade,
    check_run_id integer not null references check_runs (id) on delete cascade,
    check_type text not null, name text not null, result_type text not null,
    attempt integer not null, has_failures integer not null, has_errors integer not null,
    is_degraded integer not null, over_max_response_time integer not null,
    under_load integer not null, run_location text not null, scheduled_for integer,
    started_at integer not null, stopped_at integer not null, created_at integer not null,
    response_time_ms integer not null, epoch integer not null
  ) strict`,
  `create index check_results_of_check on check_results (check_id, started_at, seq)`,
  `create index check_results_of_run on check_results (check_run_id)`,
  `create table result_payloads (
    result_seq integer primary key references check_results (seq) on delete cascade,
    encoding text not null, payload blob not null
  ) strict`,
  `create table check_statuses (
    check_id text primary key references checks (id) on delete cascade,
    account_id text not null,
    has_failures integer not null, has_errors integer not null, is_degraded integer not null,
    longest_run_ms integer, shortest_run_ms integer, last_run_location text,
    last_check_run_id integer, ssl_days_remaining integer,
    last_started_at integer not null, created_at integer not null, updated_at integer
  ) strict, without rowid`,
  `create index check_statuses_of_account on check_statuses (account_id)`,
  `create table jobs (
    id text primary key,
    account_id text not null,
    check_id text not null references checks (id) on delete cascade,
    location text not null, run_id text not null, source text not null,
    slot_location text not null, scheduled_for integer, attempt integer not null,
    sequence_started_at integer, not_before integer not null, expires_at integer not null,
    agent_id text, lease_until integer, created_at integer not null
  ) strict, without rowid`,
  `create index jobs_of_location on jobs (account_id, location, not_before)`,
  `create index jobs_by_expiry on jobs (expires_at)`,
  `create table heartbeats (
    check_id text primary key references checks (id) on delete cascade,
    account_id text not null, ping_token text not null unique,
    period_ms integer not null, grace_ms integer not null,
    last_ping_at integer, expected_at integer, fails_at integer
  ) strict, without rowid`,
  `create index heartbeats_by_deadline on heartbeats (fails_at) where fails_at is not null`,
  `create table heartbeat_events (
    seq integer primary key autoincrement, id text not null unique, account_id text not null,
    check_id text not null references checks (id) on delete cascade,
    state text not null, happened_at integer not null, source text, user_agent text
  ) strict`,
  `create index heartbeat_events_of_check on heartbeat_events (check_id, happened_at, seq)`,
  `create table installation (name text primary key, value text not null) strict, without rowid`,
  `create table agent_reports (
    account_id text not null, location text not null, agent_id text not null,
    code text not null, count integer not null, reported_at integer not null
  ) strict`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
