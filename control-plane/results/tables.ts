/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    check_runs: {
      /** `checkRunId` on the wire. */
      id: Generated<number>;
      /** On PostgreSQL alone, like that of other tables: `db/run-days.ts`. */
      run_day: Generated<number>;
      account_id: string;
      check_id: string;
      /** Derived from the slot, or UUID version 7 without one; `sequenceId` on the wire. */
      run_id: string;
      location: string;
      scheduled_for: number | null;
      state: 'RUNNING' | 'FINAL' | 'MISSED';
      missed_reason: string | null;
      result_id: string | null;
      late_results: number;
      created_at: number;
    };
    check_results: {
      seq: Generated<number>;
      /** That of its run. */
      run_day: Generated<number>;
      id: string;
      account_id: string;
      check_id: string;
      /** `check_runs.id`. */
      check_run_id: number;
      check_type: string;
      name: string;
      /** LATE: it arrived after the FINAL result of its run. */
      result_type: 'FINAL' | 'ATTEMPT' | 'LATE';
      attempt: number;
      has_failures: number;
      has_errors: number;
      is_degraded: number;
      over_max_response_time: number;
      under_load: number;
      /** Milliseconds in which the agent waited or was stopped; null when it did not report it. */
      agent_wait_ms: number | null;
      run_location: string;
      scheduled_for: number | null;
      started_at: number;
      stopped_at: number;
      created_at: number;
      response_time_ms: number;
      epoch: number;
      is_cancelled: Generated<number>;
      /** The agent had no room for the details. */
      is_payload_dropped: Generated<number>;
      /** This and the next two on PostgreSQL alone, where `result_payloads` is a view of them. */
      encoding: Generated<'json' | 'deflate' | null>;
      payload: Generated<Buffer | null>;
      checksum: Generated<number | null>;
    };
    /**
     * The details of a result: JSON, deflated when that is smaller. On PostgreSQL they are in the row of
     * their result; an insert updates it.
     */
    result_payloads: {
      result_seq: number;
      run_day: Generated<number>;
      encoding: 'json' | 'deflate';
      payload: Buffer;
      /** CRC-32 of `payload`; null for older rows. */
      checksum: Generated<number | null>;
    };
    /** Every check has a row, which is the lock of the check: `checks/lock-checks.ts`. */
    check_statuses: {
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
      /** Start of the newest result; older ones that arrive later do not replace it. 0 without a result. */
      last_started_at: number;
      created_at: number;
      updated_at: number | null;
    };
    error_groups: {
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
    };
    /** Why its errors occurred: the newest few of each group. */
    root_cause_analyses: {
      id: string;
      account_id: string;
      check_id: string;
      check_type: string;
      error_group_id: string;
      created_at: number;
      duration_ms: number;
      user_context: string | null;
      /** `RootCause` of the contract. */
      analysis_json: string;
    };
    check_result_error_groups: {
      result_id: string;
      run_day: Generated<number>;
      error_group_id: string;
      account_id: string;
    };
    artifacts: {
      id: Generated<number>;
      account_id: string;
      result_id: string;
      run_day: Generated<number>;
      /** Location of the result; only it may upload the file. */
      location: string;
      name: string;
      type: string;
      content_type: string;
      /** Announced size of the uncompressed file. */
      size_bytes: number;
      state: 'PENDING' | 'STORED' | 'WITHHELD' | 'EXPIRED';
      /** Why the file was withheld. */
      reason: string | null;
      /** Stored bytes; fewer than `size_bytes` when compressed. */
      stored_bytes: number | null;
      encoding: 'gzip' | null;
      /** SHA-256 of the uncompressed file, in hex. */
      digest: string | null;
      /** Key in the store; null unless STORED. */
      object_key: string | null;
      created_at: number;
      stored_at: number | null;
    };
    /** Objects without a row. Objects of running uploads are listed too, with a much later due time. */
    artifact_garbage: {
      object_key: string;
      due_at: number;
    };
    /** Results that were acknowledged to agents and that the database lost. */
    record_losses: {
      id: Generated<number>;
      noticed_at: number;
      /** When the newest remaining result was stored. */
      since: number;
      /** When the newest missing result was stored. */
      until: number;
      /** Upper bound of the number of missing results. */
      results: number;
    };
    /** Results that wait for the sums; see `results/roll-up-inbox.ts`. */
    roll_up_inbox: {
      id: Generated<number>;
      /** Of the checks of these results: `db/shard.ts`. */
      shard: number;
      /** The lowest of the numbers in `results_json`. */
      first_seq: number;
      /** How many numbers there are. */
      result_count: number;
      /** Numbers (`seq`) of results, by what became of them. */
      results_json: string;
      created_at: number;
    };
    /** On PostgreSQL alone: deleted checks whose results are still stored. A trigger writes it. */
    deleted_checks: {
      check_id: string;
      account_id: string;
      deleted_at: number;
    };
  }
}
