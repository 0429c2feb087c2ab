import { sql } from 'kysely';
import { runDayIn, isOfWindow } from '../db/run-days.ts';
import { clampInstants, type GapConsumer, shiftOf } from '../reception/index.ts';
import { earlyMs } from './decide/admission.ts';
import { releaseRuns } from './release-runs.ts';

/** After a larger step back the clock may be behind: `rename-future-runs.ts` waits for what agents say. */
const maxStepMs = 3_600_000;

/** Moves open runs and statuses after a gap. Slots that come again after a step back are free. */
export const moveRuns: GapConsumer = async (db, gap) => {
  const shift = shiftOf(gap);
  // First, since it locks the checks.
  if (gap.stepMs < 0 && gap.stepMs > -maxStepMs) {
    const { to, from } = gap;
    const runs = await db
      .selectFrom('check_runs')
      .select(['id', 'check_id'])
      .select(runDayIn('check_runs').as('run_day'))
      .where('scheduled_for', '>', to)
      .where('scheduled_for', '<=', from + earlyMs)
      .where(isOfWindow('check_runs', to, from))
      // One that is not over yet goes on; the run that comes again takes its place.
      .where('state', '!=', 'RUNNING')
      .execute();
    await releaseRuns(db, runs, gap);
  }
  await db
    .updateTable('check_runs')
    .set((set) => ({ created_at: set('created_at', '+', shift) }))
    .where('state', '=', sql.lit('RUNNING'))
    .execute();
  await clampInstants(db, gap, 'check_statuses', ['last_started_at', 'updated_at']);
};
