/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    private_locations: {
      id: string;
      account_id: string;
      name: string;
      slug_name: string;
      icon: string;
      /** Encrypted. */
      proxy_url: string | null;
      /** Public keys for results: a JSON list of `StoredResultKey`. */
      result_keys_json: string;
      /** Since when content is stored only when it is encrypted; null without keys. */
      encrypted_since: number | null;
      created_at: number;
      updated_at: number | null;
    };
    /** The locations of a check in round-robin order. */
    check_locations: {
      check_id: string;
      account_id: string;
      location: string;
      position: number;
    };
    check_tags: {
      check_id: string;
      account_id: string;
      tag: string;
    };
    /** The schedules of a check over time: slots in `(starts_at, ends_at]` follow this row. */
    schedule_periods: {
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
      /** When the first slot after `swept_until` must be accounted for; 0 means as soon as possible. */
      sweep_at: Generated<number>;
    };
    agents: {
      id: string;
      account_id: string;
      location: string;
      version: string;
      /** It is as long as the agent runs. */
      host_name: Generated<string | null>;
      capabilities_json: string;
      capacity_light: number;
      capacity_heavy: number;
      running: number;
      outbox_depth: number;
      outbox_oldest_at: number | null;
      outbox_dropped: number;
      /** Clock of the control plane minus clock of the agent. */
      clock_offset_ms: number | null;
      clock_uncertainty_ms: Generated<number | null>;
      /** It left by itself. */
      said_goodbye: Generated<number>;
      started_at: number;
      last_seen_at: number;
      /** When the agent left or was given up. */
      gone_at: number | null;
      /** The last reported load, see `checkInRequest`; null for agents that report none. */
      load_json: string | null;
      /** Since when it has been overloaded; null when it is not. */
      overloaded_since: number | null;
      /** When it last stopped being overloaded. */
      overload_ended_at: number | null;
      /** The replica that answered its last check-in; it alone may decide that the agent is gone. */
      replica_id: Generated<string | null>;
      /** The runs in progress that it reported; null without any. */
      open_runs_json: Generated<string | null>;
      /** Ids of those that are cancelled; null without any. */
      cancelled_runs_json: Generated<string | null>;
      /** The answer that it held at its last check-in; null before the first. */
      held_snapshot: Generated<string | null>;
    };
    location_states: {
      account_id: string;
      location: string;
      epoch: number;
      /** Start of the present time with at least one agent; null without agents. */
      served_since: number | null;
      /** Start of the present time without agents; null while one serves. */
      unserved_since: number | null;
    };
    /** Queued and leased runs outside of the schedule. */
    jobs: {
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
      /** What its script prints is sent while it runs. */
      streams_logs: Generated<number>;
      /** It makes its snapshots anew, for a client that stores them. */
      updates_snapshots: Generated<number>;
      cancel_requested_at: Generated<number | null>;
    };
    /** Parts of a run that agents of its location share, until the run has its result. */
    run_shards: {
      id: string;
      account_id: string;
      location: string;
      run_id: string;
      attempt: number;
      /** From 1 to `total`. */
      shard: number;
      total: number;
      check_id: string;
      /** All parts are of this revision of the check. */
      check_revision: number;
      /** Empty for a scheduled run. */
      source: string;
      environment_url: string | null;
      slot_location: string;
      scheduled_for: number | null;
      created_at: number;
      expires_at: number;
      agent_id: string | null;
      lease_until: number | null;
      cancel_requested_at: number | null;
      /** A `ShardOutcome`; null until it ended. */
      outcome_json: string | null;
    };
    /**
     * Records of leases, which outlive their jobs: they are kept as long as results, because a result
     * may have waited in the outbox of an agent.
     */
    job_leases: {
      account_id: string;
      location: string;
      run_id: string;
      job_id: string;
      check_id: string;
      slot_location: string;
      scheduled_for: number | null;
      /** First attempt of the run that the job was for. */
      attempt: number;
      /** Time of the last lease. */
      leased_at: number;
    };
    /** Internal errors that agents report; see `EXTERNAL_OBSERVABILITY`. */
    agent_reports: {
      account_id: string;
      location: string;
      agent_id: string;
      code: string;
      count: number;
      reported_at: number;
    };
    /** Queue length of a location at an instant. */
    queue_samples: {
      account_id: string;
      location: string;
      sampled_at: number;
      queue_size: number;
      oldest_ms: number;
    };
  }
}
