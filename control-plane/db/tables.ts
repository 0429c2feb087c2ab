/**
 * Every table. Instants (`*_at`, `*_for`, `*_until`, `*_before`) are integer milliseconds since the
 * epoch, `*_ms` durations in milliseconds, flags 0 or 1, `*_json` JSON text, ids UUIDs unless said.
 */
import type { Generated } from 'kysely';

interface AccountsTable {
  id: string;
  name: string;
  created_at: number;
}

interface ApiKeysTable {
  id: string;
  account_id: string;
  name: string;
  /** SHA-256 of the raw key, hex. */
  key_hash: string;
  masked_key: string;
  created_at: number;
  last_used_at: number | null;
  expires_at: number | null;
  revoked_at: number | null;
}

interface PrivateLocationsTable {
  id: string;
  account_id: string;
  name: string;
  slug_name: string;
  icon: string;
  proxy_url: string | null;
  created_at: number;
  updated_at: number | null;
}

/** Keys of agents. `location` is a slug or a data-center location; only the former has an owner. */
interface LocationKeysTable {
  id: string;
  account_id: string;
  location: string;
  private_location_id: string | null;
  key_hash: string;
  masked_key: string;
  created_at: number;
  updated_at: number | null;
}

export interface ChecksTable {
  id: string;
  account_id: string;
  type: string;
  name: string;
  activated: number;
  frequency: number;
  frequency_offset: number;
  run_parallel: number;
  /** All wire fields that have no column of their own. */
  body_json: string;
  /** Grows with every change. */
  revision: number;
  created_at: number;
  updated_at: number | null;
}

/** The locations of a check in the order round robin follows. */
interface CheckLocationsTable {
  check_id: string;
  account_id: string;
  location: string;
  position: number;
}

interface CheckTagsTable {
  check_id: string;
  account_id: string;
  tag: string;
}

/** When a check was due, over its history: slots in `(starts_at, ends_at]` follow this row. */
interface SchedulePeriodsTable {
  id: Generated<number>;
  account_id: string;
  check_id: string;
  frequency: number;
  frequency_offset: number;
  run_parallel: number;
  locations_json: string;
  starts_at: number;
  ends_at: number | null;
  /** Slots up to here are accounted for. */
  swept_until: number;
}

interface AgentsTable {
  id: string;
  account_id: string;
  location: string;
  version: string;
  capabilities_json: string;
  capacity_light: number;
  capacity_heavy: number;
  running: number;
  outbox_depth: number;
  outbox_oldest_at: number | null;
  outbox_dropped: number;
  /** Control plane minus agent. */
  clock_offset_ms: number | null;
  started_at: number;
  last_seen_at: number;
  /** Set when the agent left or was given up. */
  gone_at: number | null;
}

interface LocationStatesTable {
  account_id: string;
  location: string;
  epoch: number;
  /** Start of the present stretch with at least one agent, or null. */
  served_since: number | null;
  /** Start of the present stretch without an agent, or null. */
  unserved_since: number | null;
}

export interface CheckRunsTable {
  /** `checkRunId` on the wire. */
  id: Generated<number>;
  account_id: string;
  check_id: string;
  /** Derived from the slot, or random for a triggered run; `sequenceId` on the wire. */
  run_id: string;
  location: string;
  scheduled_for: number | null;
  state: 'RUNNING' | 'FINAL' | 'MISSED';
  missed_reason: string | null;
  result_id: string | null;
  late_results: number;
  created_at: number;
}

export interface CheckResultsTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  check_id: string;
  /** `check_runs.id`. */
  check_run_id: number;
  check_type: string;
  name: string;
  /** LATE: arrived after the FINAL of its run and kept apart. */
  result_type: 'FINAL' | 'ATTEMPT' | 'LATE';
  attempt: number;
  has_failures: number;
  has_errors: number;
  is_degraded: number;
  over_max_response_time: number;
  under_load: number;
  run_location: string;
  scheduled_for: number | null;
  started_at: number;
  stopped_at: number;
  created_at: number;
  response_time_ms: number;
  epoch: number;
}

/** The large part of a result: JSON, deflated when that makes it smaller. */
export interface ResultPayloadsTable {
  result_seq: number;
  encoding: 'json' | 'deflate';
  payload: Buffer;
}

interface CheckStatusesTable {
  check_id: string;
  account_id: string;
  has_failures: number;
  has_errors: number;
  is_degraded: number;
  longest_run_ms: number | null;
  shortest_run_ms: number | null;
  last_run_location: string | null;
  last_check_run_id: number | null;
  ssl_days_remaining: number | null;
  /** Start of the newest result that is in here; older ones that are replayed do not undo it. */
  last_started_at: number;
  created_at: number;
  updated_at: number | null;
}

/** Runs that are not on the schedule, until an agent has done them. */
export interface JobsTable {
  id: string;
  account_id: string;
  check_id: string;
  location: string;
  run_id: string;
  source: string;
  slot_location: string;
  scheduled_for: number | null;
  attempt: number;
  sequence_started_at: number | null;
  not_before: number;
  expires_at: number;
  agent_id: string | null;
  lease_until: number | null;
  created_at: number;
}

export interface HeartbeatsTable {
  check_id: string;
  account_id: string;
  ping_token: string;
  period_ms: number;
  grace_ms: number;
  last_ping_at: number | null;
  /** When the next ping is expected; null before the first one and while failing. */
  expected_at: number | null;
  /** When the monitor fails without a ping; null like `expected_at`. */
  fails_at: number | null;
}

export interface HeartbeatEventsTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  check_id: string;
  state: string;
  happened_at: number;
  source: string | null;
  user_agent: string | null;
}

/** Single facts about the installation, by name. */
interface InstallationTable {
  name: string;
  value: string;
}

/** What agents report about themselves; see `EXTERNAL_OBSERVABILITY`. */
interface AgentReportsTable {
  account_id: string;
  location: string;
  agent_id: string;
  code: string;
  count: number;
  reported_at: number;
}

export interface Database {
  accounts: AccountsTable;
  api_keys: ApiKeysTable;
  private_locations: PrivateLocationsTable;
  location_keys: LocationKeysTable;
  checks: ChecksTable;
  check_locations: CheckLocationsTable;
  check_tags: CheckTagsTable;
  schedule_periods: SchedulePeriodsTable;
  agents: AgentsTable;
  location_states: LocationStatesTable;
  check_runs: CheckRunsTable;
  check_results: CheckResultsTable;
  result_payloads: ResultPayloadsTable;
  check_statuses: CheckStatusesTable;
  jobs: JobsTable;
  heartbeats: HeartbeatsTable;
  heartbeat_events: HeartbeatEventsTable;
  installation: InstallationTable;
  agent_reports: AgentReportsTable;
}
