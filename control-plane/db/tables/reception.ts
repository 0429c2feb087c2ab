/** Tables of receivable time. See `tables.ts` for the units. */
import type { Generated } from 'kysely';

/** A stretch in which nothing could be received, or a step of the clock; see `domain/receivable-time.ts`. */
export interface ReceptionGapsTable {
  /** In the order in which they happened. */
  id: Generated<number>;
  cause: string;
  from_at: number;
  /** Before `from_at` when the clock was set back. */
  to_at: number;
  lost_ms: number;
  step_ms: number;
}

export interface ReceptionTables {
  reception_gaps: ReceptionGapsTable;
}
