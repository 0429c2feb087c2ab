/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    check_triggers: CheckTriggersTable;
    check_sessions: CheckSessionsTable;
    check_session_runs: CheckSessionRunsTable;
  }
}

/** The target is either a check or a group. */
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
  /** A session that has not ended by then has timed out. */
  deadline: number;
  cancelled_at: number | null;
}

export interface CheckSessionRunsTable {
  session_id: string;
  /** `check_runs.run_id`, once the run has begun. */
  run_id: string;
  location: string;
  cancelled: number;
}
