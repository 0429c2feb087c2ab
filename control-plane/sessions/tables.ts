/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';
import type {
  TestOutcome,
  TestSessionProvider,
  TestSessionStatus,
} from '@monitor/shared/contract/test-session.ts';

declare module '../db/tables.ts' {
  interface Database {
    /** The target is either a check or a group. */
    check_triggers: {
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
    };
    /** The target is either a check or a group. */
    deployment_triggers: {
      id: Generated<number>;
      account_id: string;
      check_id: string | null;
      group_id: number | null;
      /** SHA-256 of the token, in hex. */
      token: string;
      token_encrypted: string;
      repo_id: string;
      /** What it shows and filters by: the other fields of its body. */
      settings_json: string;
      created_at: number;
      called_at: number | null;
      updated_at: number | null;
    };
    check_sessions: {
      id: string;
      account_id: string;
      check_id: string;
      check_type: string;
      name: string;
      run_source: string;
      started_at: number;
      /** A session that has not ended by then has timed out. */
      deadline: number;
      cancelled_at: number | null;
    };
    check_session_runs: {
      session_id: string;
      /** `check_runs.run_id`, once the run has begun. */
      run_id: string;
      location: string;
      cancelled: number;
    };
    test_sessions: {
      id: string;
      account_id: string;
      /** How the client that waits for its results names it; null when no client does. */
      suite_id: string | null;
      name: string;
      provider: TestSessionProvider;
      /** Logical id of the project. */
      project: string | null;
      /** Where it was asked to run. */
      location: string;
      private_location_id: string | null;
      /** Id of the key or the person. */
      invoked_by: string | null;
      invoker_name: string | null;
      repo_url: string | null;
      commit_id: string | null;
      commit_owner: string | null;
      commit_message: string | null;
      branch_name: string | null;
      environment: string | null;
      /** 0: it is in no list. */
      is_recorded: number;
      streams_logs: number;
      status: TestSessionStatus;
      started_at: number;
      /** Null while a result is missing. */
      stopped_at: number | null;
      cancelled_at: number | null;
      /** Nothing is sent to its client before: it has not read the answer that starts the session. */
      publish_from: number;
    };
    test_results: {
      id: string;
      session_id: string;
      account_id: string;
      position: number;
      run_id: string;
      /** How the client names the run. */
      check_run_id: string | null;
      /** The stored check that was triggered. */
      check_id: string | null;
      /** The copy of a check that runs, in `checks`; null when no agent runs it. */
      trial_id: string | null;
      logical_id: string | null;
      name: string;
      check_type: string;
      location: string;
      /** Null until it has ended. */
      outcome: TestOutcome | null;
      /** The FINAL result, in `check_results`; null without one. */
      result_id: string | null;
      has_failures: number;
      has_errors: number;
      is_degraded: number;
      /** Why there is no result. */
      error: string | null;
      response_time_ms: number | null;
      started_at: number | null;
      stopped_at: number | null;
      /** A run that has not ended by then has timed out. */
      deadline: number;
      /** Stored characters of what its script printed. */
      log_bytes: number;
      /** What a test runner reported; null for runs of agents. */
      report_json: string | null;
    };
    /** What scripts print while they run, until the run has ended. */
    test_logs: {
      run_id: string;
      position: number;
      lines_json: string;
      created_at: number;
    };
  }
}
