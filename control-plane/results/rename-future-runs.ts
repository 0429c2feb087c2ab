/**
 * Runs of future slots were made while a clock was ahead: the slots are released. After most steps of the
 * clock `move-runs.ts` has done so at once; this is for large ones, which may be wrong, and for results
 * that arrive afterwards, or from an agent whose own clock is ahead.
 */
import { isOfWindow, runDayIn } from '../db/run-days.ts';
import type { Db } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import type { Services } from '../core/services.ts';
import { stepBackOver } from '../reception/index.ts';
import { releaseRuns, type StepBack } from './release-runs.ts';

/** Clocks of agents differ by less. */
const toleranceMs = 30_000;
/**
 * Only the near future, where nothing is known against the clock at the time: a clock that is wrong
 * now makes everything look like the future.
 */
const aheadMs = 10 * 60_000;
const runsAtOnce = 200;

/** One pass. True when there may be more. */
export async function renameFutureRuns(services: Services): Promise<boolean> {
  const { clock, reception } = services;
  if (reception.mayBeBehind) return false;
  const now = clock.now();
  const until = reception.wasAhead ? Number.MAX_SAFE_INTEGER : now + aheadMs;
  const window = (db: Db) =>
    db
      .selectFrom('check_runs')
      .select(['id', 'check_id', 'scheduled_for'])
      .select(runDayIn('check_runs').as('run_day'))
      .where('scheduled_for', '>', now + toleranceMs)
      .where('scheduled_for', '<=', until)
      .where(isOfWindow('check_runs', now, until))
      .limit(runsAtOnce);
  // It runs often and usually finds nothing, so it needs no transaction.
  if ((await window(services.db).execute()).length === 0) {
    reception.noteFutureCleared();
    return false;
  }
  return inTransaction(services.db, async (db) => {
    const runs = await window(db).execute();
    const unknown: StepBack = { to: now, stepMs: 0 };
    const { stepsBack } = reception;
    const bySteps = Map.groupBy(
      runs,
      (run) => stepBackOver(run.scheduled_for ?? 0, stepsBack) ?? unknown,
    );
    for (const [step, ofStep] of bySteps) await releaseRuns(db, ofStep, step);
    return runs.length === runsAtOnce;
  });
}
