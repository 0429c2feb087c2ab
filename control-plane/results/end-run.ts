import { isOfSameDay } from '../db/run-days.ts';
import type { Db } from '../db/tables.ts';

/**
 * Ends a run whose next attempt was cancelled: its attempts no longer count. Does nothing for a run
 * without attempts.
 */
export async function endCancelledRun(db: Db, runId: string): Promise<void> {
  const last = await db
    .selectFrom('check_results')
    .innerJoin('check_runs', (join) =>
      join.onRef('check_runs.id', '=', 'check_results.check_run_id').on(isOfSameDay),
    )
    .select(['check_results.seq', 'check_results.id', 'check_results.check_run_id'])
    .where('check_runs.run_id', '=', runId)
    .where('check_runs.state', '=', 'RUNNING')
    .where('check_results.result_type', '=', 'ATTEMPT')
    .orderBy('check_results.attempt', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (last === undefined) return;
  await db
    .updateTable('check_results')
    .set({ result_type: 'FINAL', is_cancelled: 1, has_failures: 0, has_errors: 0, is_degraded: 0 })
    .where('seq', '=', last.seq)
    .execute();
  await db
    .updateTable('check_runs')
    .set({ state: 'FINAL', result_id: last.id })
    .where('id', '=', last.check_run_id)
    .execute();
}
