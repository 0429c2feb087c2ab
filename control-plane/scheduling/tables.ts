/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    private_locations: PrivateLocationsTable;
    check_locations: CheckLocationsTable;
    check_tags: CheckTagsTable;
    schedule_periods: SchedulePeriodsTable;
    agents: AgentsTable;
    location_states: LocationStatesTable;
    jobs: JobsTable;
    job_leases: JobLeasesTable;
    agent_reports: AgentReportsTable;
    queue_samples: QueueSamplesTable;
  }
}

export interface PrivateLocationsTable {
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

/** The locations of a check in the order round robin follows. */
export interface CheckLocationsTable {
  check_id: string;
  account_id: string;
  location: string;
  position: number;
}

export interface CheckTagsTable {
  check_id: string;
  account_id: string;
  tag: string;
}

/** When a check was due, over its history: slots in `(starts_at, ends_at]` follow this row. */
export interface SchedulePeriodsTable {
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

export interface AgentsTable {
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

export interface LocationStatesTable {
  account_id: string;
  location: string;
  epoch: number;
  /** Start of the present stretch with at least one agent, or null. */
  served_since: number | null;
  /** Start of the present stretch without an agent, or null. */
  unserved_since: number | null;
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

/** What agents report about themselves; see `EXTERNAL_OBSERVABILITY`. */
export interface AgentReportsTable {
  account_id: string;
  location: string;
  agent_id: string;
  code: string;
  count: number;
  reported_at: number;
}

/** How many runs waited in a location at an instant. */
export interface QueueSamplesTable {
  account_id: string;
  location: string;
  sampled_at: number;
  queue_size: number;
  oldest_ms: number;
}
