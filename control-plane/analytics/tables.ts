/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    /** Results of a check that began in the same hour (or day) of UTC and share the other columns. */
    roll_ups: {
      id: Generated<number>;
      account_id: string;
      check_id: string;
      /** 1 or 24. */
      hours: number;
      starts_at: number;
      location: string;
      /** Status code, page number, or empty; see `analytics/decide/roll-ups/cell.ts`. */
      part: string;
      outcome: string;
      finals: number;
      failures: number;
      degraded: number;
      retries: number;
      /** Start of the first and of the last result of the row. */
      first_at: number;
      last_at: number;
      /** Distributions of the metrics; see `analytics/decide/roll-ups/packing.ts`. */
      metrics: Buffer;
    };
    /** A single row. */
    roll_up_progress: {
      id: 1;
      /** All single results since this instant are still stored. */
      raw_from: number;
    };
    /** Sums of results that another installation measured before a check was made here. */
    imported_history: {
      check_id: string;
      account_id: string;
      host: string;
      /** Whole hours; what was measured in between is in `roll_ups`. */
      from_at: number;
      until_at: number;
      results: number;
      /** Results that say nothing about the target. */
      left_out: Generated<number>;
      /** Start of the oldest result; null without any. */
      oldest_at: number | null;
      /** Why nothing more was read at the last try. */
      problem: string | null;
      /** When it is tried again after a problem. */
      retry_at: number | null;
      /** How many hours are read at once, where those of its frequency were too many; else null. */
      part_hours: number | null;
    };
    /** Days of checks whose hours are to be summed up into one row per cell. */
    roll_up_days: {
      account_id: string;
      check_id: string;
      starts_at: number;
      due_at: number;
    };
  }
}
