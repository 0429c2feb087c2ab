/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    /** The other side of an account whose verdicts are compared. */
    shadows: {
      id: Generated<number>;
      /** Unique. */
      account_id: string;
      base_url: string;
      other_account_id: string | null;
      key_encrypted: string;
      project_logical_id: string;
      created_at: number;
      /** Nothing is read before. */
      next_at: number;
      problem: string | null;
      channel_ids_json: Generated<string>;
      /** Until when it is reported; null before the first report. */
      reported_at: number | null;
      /** How many days before a check was made here are read; null for none. */
      history_days: number | null;
    };
    /** How far a check is compared. */
    shadow_checks: {
      id: Generated<number>;
      account_id: string;
      /** Unique. */
      check_id: string;
      read_until: number;
      compared: number;
      undecided: number;
      /** What both were at the last report. */
      reported_compared: Generated<number>;
      reported_undecided: Generated<number>;
      /** Why it could not be compared; null where it could. */
      problem: string | null;
      /** When it is tried again after a problem. */
      retry_at: number | null;
    };
    shadow_differences: {
      id: Generated<number>;
      account_id: string;
      check_id: string;
      side: 'THEIRS' | 'OURS';
      first_at: number;
      last_at: number;
      results: number;
      fits_between_runs: number;
      /** The first failing result, then those of the other side before and after it. */
      evidence_json: string;
      created_at: number;
      /** 0 again when failing results are added. */
      is_reported: Generated<number>;
    };
  }
}
