/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    check_runs: CheckRunsTable;
    check_results: CheckResultsTable;
    result_payloads: ResultPayloadsTable;
    check_statuses: CheckStatusesTable;
    error_groups: ErrorGroupsTable;
    check_result_error_groups: CheckResultErrorGroupsTable;
    artifacts: ArtifactsTable;
    artifact_garbage: ArtifactGarbageTable;
    record_losses: RecordLossesTable;
  }
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

/** Results that agents know to be stored, and that the database does not hold any more. */
export interface RecordLossesTable {
  id: Generated<number>;
  noticed_at: number;
  /** When the newest result was stored that is still there. */
  since: number;
  /** When the newest one was stored that is missing. */
  until: number;
  /** How many are missing: at most. */
  results: number;
}
