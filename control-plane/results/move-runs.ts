import { sql } from 'kysely';
import { clampInstants, type GapConsumer, shiftOf } from '../reception/index.ts';

/** Moves open runs and statuses after a gap. */
export const moveRuns: GapConsumer = async (db, gap) => {
  const shift = shiftOf(gap);
  await db
    .updateTable('check_runs')
    .set((set) => ({ created_at: set('created_at', '+', shift) }))
    .where('state', '=', sql.lit('RUNNING'))
    .execute();
  await clampInstants(db, gap, 'check_statuses', ['last_started_at', 'updated_at']);
};
