/**
 * Every table. Instants (`*_at`, `*_for`, `*_until`, `*_before`) are integer milliseconds since the
 * epoch, `*_ms` durations in milliseconds, flags 0 or 1, `*_json` JSON text, ids UUIDs unless said.
 */
import type { Generated } from 'kysely';
import type { AlertingTables } from './tables/alerting.ts';
import type { CertificateTables } from './tables/certificates.ts';
import type { FaultTables } from './tables/faults.ts';
import type { MaintenanceTables } from './tables/maintenance.ts';
import type { ReceptionTables } from './tables/reception.ts';
import type { RollUpTables } from './tables/roll-ups.ts';
import type { StatusPageTables } from './tables/status-pages.ts';

interface AccountsTable {
  id: string;
  name: string;
  created_at: number;
  plan: Generated<string>;
  settings_json: Generated<string>;
  runtime_id: Generated<string | null>;
  /** Alert settings of checks that use the global ones; null for the defaults. */
  alert_settings_json: Generated<string | null>;
  /** Grows with every change of what checks inherit from their account. */
  environment_revision: Generated<number>;
}

interface ApiKeysTable {
  id: string;
  account_id: string;
  name: string;
  role: Generated<string>;
  /** SHA-256 of the raw key, hex. */
  key_hash: string;
  masked_key: string;
  created_at: number;
  last_used_at: number | null;
  expires_at: number | null;
  revoked_at: number | null;
}

/** Who is signed in to the console. A session has the account and the role of its key, and ends with it. */
interface ConsoleSessionsTable {
  id: string;
  account_id: string;
  api_key_id: string;
  /** SHA-256 of the token in the cookie, as hex. */
  token_hash: string;
  /** Of the token before it, which is accepted for a moment after `rotated_at`. */
  previous_hash: string | null;
  rotated_at: number;
  created_at: number;
  expires_at: number;
}

interface PrivateLocationsTable {
  id: string;
  account_id: string;
  name: string;
  slug_name: string;
  icon: string;
  /** Encrypted. */
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
  group_id: number | null;
  group_order: number | null;
  /** All wire fields that have no column of their own; credentials in it are encrypted. */
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
  /** When the first slot behind `swept_until` is to be accounted for; 0 as soon as possible. */
  sweep_at: Generated<number>;
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
  /** What it last said of its load, see `checkInRequest`; null for agents that do not. */
  load_json: string | null;
  /** Since when it has been overloaded; null when it is not. */
  overloaded_since: number | null;
  /** When it last stopped being overloaded. */
  overload_ended_at: number | null;
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
  /** Derived from the slot, or version 7 for a run of no slot; `sequenceId` on the wire. */
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
  /** Milliseconds in which the agent itself waited or was stopped; null when it did not say. */
  agent_wait_ms: number | null;
  run_location: string;
  scheduled_for: number | null;
  started_at: number;
  stopped_at: number;
  created_at: number;
  response_time_ms: number;
  epoch: number;
  is_cancelled: Generated<number>;
  /** The agent had no room for what the run saw. */
  is_payload_dropped: Generated<number>;
}

/** The large part of a result: JSON, deflated when that makes it smaller. */
export interface ResultPayloadsTable {
  result_seq: number;
  encoding: 'json' | 'deflate';
  payload: Buffer;
  /** CRC-32 of `payload`; null for those from before there was one. */
  checksum: Generated<number | null>;
}

/** Results that agents know to be stored, and that the database does not hold any more. */
interface RecordLossesTable {
  id: Generated<number>;
  noticed_at: number;
  /** When the newest result was stored that is still there. */
  since: number;
  /** When the newest one was stored that is missing. */
  until: number;
  /** How many are missing: at most. */
  results: number;
}

export interface CheckStatusesTable {
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
  environment_url: Generated<string | null>;
  cancel_requested_at: Generated<number | null>;
}

/**
 * Which jobs were handed out in a location, also when they are over: for as long as results are kept, since
 * what an agent handed in may have waited in its outbox.
 */
export interface JobLeasesTable {
  account_id: string;
  location: string;
  run_id: string;
  job_id: string;
  check_id: string;
  slot_location: string;
  scheduled_for: number | null;
  /** The first attempt of the run that the job was for. */
  attempt: number;
  /** When it was leased last. */
  leased_at: number;
}

export interface HeartbeatsTable {
  check_id: string;
  account_id: string;
  /** SHA-256 of the token, in hex. */
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

export interface CheckGroupsTable {
  id: Generated<number>;
  account_id: string;
  name: string;
  activated: number;
  concurrency: number;
  /** All wire fields that have no column of their own. */
  body_json: string;
  /** Part of the address of its badge. */
  badge_token: Generated<string | null>;
  created_at: number;
  updated_at: number | null;
}

interface CheckGroupTagsTable {
  group_id: number;
  account_id: string;
  tag: string;
}

export interface SnippetsTable {
  id: Generated<number>;
  account_id: string;
  name: string;
  script: string;
  created_at: number;
  updated_at: number | null;
}

export interface VariablesTable {
  account_id: string;
  key: string;
  /** Encrypted when `secret` or `locked`. */
  value: string;
  locked: number;
  secret: number;
  created_at: number;
  updated_at: number | null;
}

export interface AlertChannelsTable {
  id: Generated<number>;
  account_id: string;
  type: string;
  /** Encrypted. */
  config_json: string;
  send_recovery: number;
  send_failure: number;
  send_degraded: number;
  ssl_expiry: number;
  /** Days. */
  ssl_expiry_threshold: number;
  auto_subscribe: number;
  created_at: number;
  updated_at: number | null;
}

/** Either of a check or of a group. */
export interface AlertSubscriptionsTable {
  id: Generated<number>;
  account_id: string;
  channel_id: number;
  check_id: string | null;
  group_id: number | null;
  activated: number;
}

export interface CheckAlertsTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  check_id: string;
  name: string;
  check_type: string;
  alert_type: string;
  run_location: string | null;
  response_time_ms: number | null;
  error: string | null;
  status_code: string | null;
  created_at: number;
  started_at: number | null;
}

export interface AlertNotificationsTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  type: string;
  status: string;
  /** Encrypted, as that of the channel. */
  config_json: string;
  result: string | null;
  sent_at: number;
  check_type: string;
  check_id: string;
  check_alert_id: string | null;
  alert_channel_id: number;
  check_result_id: string | null;
  /** How often it was tried. */
  attempts: Generated<number>;
  /** What was said, to send it again; see `notify/facts.ts`. */
  facts_json: Generated<string | null>;
}

/** Either of a check or of a group. */
export interface CheckTriggersTable {
  id: Generated<number>;
  account_id: string;
  check_id: string | null;
  group_id: number | null;
  /** SHA-256 of the token, in hex. */
  token: string;
  token_encrypted: string | null;
  created_at: number;
  called_at: number | null;
  updated_at: number | null;
}

export interface CheckSessionsTable {
  id: string;
  account_id: string;
  check_id: string;
  check_type: string;
  name: string;
  run_source: string;
  started_at: number;
  /** What has not ended by then has timed out. */
  deadline: number;
  cancelled_at: number | null;
}

interface CheckSessionRunsTable {
  session_id: string;
  /** `check_runs.run_id`, once the run has begun. */
  run_id: string;
  location: string;
  cancelled: number;
}

export interface ErrorGroupsTable {
  id: string;
  account_id: string;
  check_id: string;
  error_hash: string;
  raw_message: string | null;
  cleaned_message: string;
  first_seen_at: number;
  last_seen_at: number;
  archived_until_next_event: number;
  archived_for_ever: number;
}

export interface CheckResultErrorGroupsTable {
  result_id: string;
  error_group_id: string;
  account_id: string;
}

export interface ArtifactsTable {
  id: Generated<number>;
  account_id: string;
  result_id: string;
  /** Where it comes from; only that location may upload it. */
  location: string;
  name: string;
  type: string;
  content_type: string;
  /** As announced; bytes of the file itself. */
  size_bytes: number;
  state: 'PENDING' | 'STORED' | 'WITHHELD' | 'EXPIRED';
  /** Why it was withheld. */
  reason: string | null;
  /** Bytes in the store; fewer than `size_bytes` when compressed. */
  stored_bytes: number | null;
  encoding: 'gzip' | null;
  /** SHA-256 of the file itself, in hex. */
  digest: string | null;
  /** Where it is in the store; null unless STORED. */
  object_key: string | null;
  created_at: number;
  stored_at: number | null;
}

/** Objects that no row refers to. Those of uploads in progress stand here too, due much later. */
export interface ArtifactGarbageTable {
  object_key: string;
  due_at: number;
}

export interface CodeBundlesTable {
  account_id: string;
  path: string;
  /** SHA-256 in hex. */
  digest: string;
  size_bytes: number;
  created_at: number;
  last_used_at: number;
}

export interface LearnedScriptsTable {
  check_id: string;
  /** Where it was learned; agents of other locations are not given it. */
  location: string;
  account_id: string;
  prompt_hash: string;
  script: string;
  learned_at: number;
}

export interface ClientCertificatesTable {
  id: string;
  account_id: string;
  host: string;
  cert: string;
  ca: string | null;
  /** See `secret-box.ts`. */
  key_sealed: string;
  passphrase_sealed: string | null;
  created_at: number;
}

export interface MaintenanceWindowsTable {
  id: Generated<number>;
  account_id: string;
  name: string;
  starts_at: number;
  ends_at: number;
  repeat_unit: string | null;
  repeat_interval: number | null;
  repeat_ends_at: number | null;
  tags_json: string;
  created_at: number;
  updated_at: number | null;
  /** IANA name; null for UTC. */
  timezone: string | null;
  description: string | null;
  pause_all_checks: Generated<number>;
}

/** What stands on cards of status pages. */
export interface ServicesTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  name: string;
  created_at: number;
  updated_at: number | null;
}

export interface StatusPagesTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  name: string;
  /** Lower case, as the domains. */
  url: string;
  /** The domain that is served: proven, or listed by the operator. No two pages have the same. */
  custom_domain: string | null;
  /** The domain that the account asked for; other accounts may ask for it too. */
  claimed_domain: Generated<string | null>;
  /** What the DNS of the claimed domain must show. */
  domain_challenge: Generated<string | null>;
  domain_claimed_at: Generated<number | null>;
  /** When its DNS was last asked. */
  domain_checked_at: Generated<number | null>;
  body_json: string;
  is_private: number;
  /** Of a private page. */
  password_hash: Generated<string | null>;
  /** Grows with every new password: whoever got in with an older one is out. */
  password_version: Generated<number>;
  created_at: number;
  updated_at: number | null;
}

export interface StatusPageCardsTable {
  id: string;
  status_page_id: string;
  account_id: string;
  name: string;
  position: number;
  created_at: number;
  updated_at: number | null;
}

interface CardServicesTable {
  card_id: string;
  service_id: string;
  position: number;
}

export interface StatusPageSubscriptionsTable {
  id: string;
  account_id: string;
  status_page_id: string;
  type: string;
  /** Lower case. */
  address: string;
  status: string;
  /** SHA-256 of the token in the mail that verifies it. */
  token_hash: string | null;
  /** When that mail was written. */
  token_sent_at: Generated<number | null>;
  created_at: number;
  updated_at: number;
}

export interface IncidentsTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  name: string;
  severity: string;
  /** The check that opened it by itself. */
  check_id: string | null;
  created_at: number;
  updated_at: number | null;
}

interface IncidentServicesTable {
  incident_id: string;
  service_id: string;
}

export interface IncidentUpdatesTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  incident_id: string;
  description: string;
  status: string;
  public_at: number;
  notify_subscribers: number;
  created_at: number;
}

export interface DashboardsTable {
  id: Generated<number>;
  /** What its address shows. */
  dashboard_id: string;
  account_id: string;
  custom_url: string | null;
  custom_domain: string | null;
  body_json: string;
  created_at: number;
  updated_at: number | null;
}

export interface DashboardIncidentsTable {
  id: string;
  account_id: string;
  dashboard_id: number;
  name: string;
  impact: string;
  started_at: number;
  stopped_at: number | null;
  created_at: number;
  updated_at: number | null;
}

export interface DashboardIncidentUpdatesTable {
  seq: Generated<number>;
  id: string;
  account_id: string;
  incident_id: string;
  status: string;
  description: string;
  created_at: number;
  updated_at: number | null;
}

/** How many runs waited in a location at an instant. */
interface QueueSamplesTable {
  account_id: string;
  location: string;
  sampled_at: number;
  queue_size: number;
  oldest_ms: number;
}

export interface Database
  extends
    AlertingTables,
    CertificateTables,
    FaultTables,
    MaintenanceTables,
    ReceptionTables,
    RollUpTables,
    StatusPageTables {
  accounts: AccountsTable;
  api_keys: ApiKeysTable;
  console_sessions: ConsoleSessionsTable;
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
  job_leases: JobLeasesTable;
  heartbeats: HeartbeatsTable;
  heartbeat_events: HeartbeatEventsTable;
  installation: InstallationTable;
  agent_reports: AgentReportsTable;
  check_groups: CheckGroupsTable;
  check_group_tags: CheckGroupTagsTable;
  snippets: SnippetsTable;
  variables: VariablesTable;
  alert_channels: AlertChannelsTable;
  alert_subscriptions: AlertSubscriptionsTable;
  check_alerts: CheckAlertsTable;
  alert_notifications: AlertNotificationsTable;
  check_triggers: CheckTriggersTable;
  check_sessions: CheckSessionsTable;
  check_session_runs: CheckSessionRunsTable;
  error_groups: ErrorGroupsTable;
  check_result_error_groups: CheckResultErrorGroupsTable;
  artifacts: ArtifactsTable;
  artifact_garbage: ArtifactGarbageTable;
  code_bundles: CodeBundlesTable;
  learned_scripts: LearnedScriptsTable;
  client_certificates: ClientCertificatesTable;
  maintenance_windows: MaintenanceWindowsTable;
  services: ServicesTable;
  status_pages: StatusPagesTable;
  status_page_cards: StatusPageCardsTable;
  card_services: CardServicesTable;
  status_page_subscriptions: StatusPageSubscriptionsTable;
  incidents: IncidentsTable;
  incident_services: IncidentServicesTable;
  incident_updates: IncidentUpdatesTable;
  dashboards: DashboardsTable;
  dashboard_incidents: DashboardIncidentsTable;
  dashboard_incident_updates: DashboardIncidentUpdatesTable;
  queue_samples: QueueSamplesTable;
  record_losses: RecordLossesTable;
}
