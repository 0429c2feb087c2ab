/** The tables that this module alone writes. Units of columns: `db/tables.ts`. */
import type { Generated } from 'kysely';

declare module '../db/tables.ts' {
  interface Database {
    /**
     * A time in which nothing could be received, or a step of the clock; see
     * `reception/decide/receivable-time.ts`.
     */
    reception_gaps: {
      /** Ascending in time. */
      id: Generated<number>;
      cause: string;
      from_at: number;
      /** Before `from_at` when the clock was set back. */
      to_at: number;
      lost_ms: number;
      step_ms: number;
    };
  }
}
