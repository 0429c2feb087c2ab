import { sql } from 'kysely';
import { runDayIn, isOfWindow } from '../db/run-days.ts';
import { clampInstants, type Gap, type GapConsumer, shiftOf } from '../reception/index.ts';
import type { Db } from '../db/tables.ts';
import { earlyMs } from './decide/admission.ts';
import { releaseRuns } from './release-runs.ts';

/** After a larger step back the clock may be behind: `rename-future-runs.ts` waits for what agents say. */
const maxStepMs = 3_600_000;

/** The number of the last result that was stored before the clock was ahead; 0 for none. */
async function lastBefore(db: Db, to: number): Promise<number> {
  const row = await db
    .selectFrom('check_results')
    .select('seq')
    .where('created_at', '<=', to)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.seq ?? 0;
}

/** What was stamped with a clock that was ahead moves with it, also where its slot does not come again. */
async function moveResults(db: Db, after: number, gap: Gap): Promise<void> {
  const moved = (by: 'started_at' | 'created_at', column: string) => sql<number>`case
    when ${sql.ref(by)} > ${gap.to} then ${sql.ref(column)} + ${gap.stepMs}
    else ${sql.ref(column)} end`;
  await db
    .updateTable('check_results')
    .set({
      started_at: moved('started_at', 'started_at'),
      stopped_at: moved('started_at', 'stopped_at'),
      created_at: moved('created_at', 'created_at'),
    })
    .where('seq', '>', after)
    .execute();
}

/** Moves open runs, results and statuses after a gap. Slots that come again after a step back are free. */
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
    const before = await lastBefore(db, to);
    await releaseRuns(db, runs, gap);
    await moveResults(db, before, gap);
  }
  await db
    .updateTable('check_runs')
    .set((set) => ({ created_at: set('created_at', '+', shift) }))
    .where('state', '=', sql.lit('RUNNING'))
    .execute();
  await clampInstants(db, gap, 'check_statuses', ['last_started_at', 'updated_at']);
};
