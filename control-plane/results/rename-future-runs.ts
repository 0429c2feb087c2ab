/**
 * Runs of future slots were made while a clock was ahead. Their results are kept under other ids,
 * so that the slots are run and recorded when they are due. Missed records of future slots are
 * deleted.
 */
import { sql, type Kysely } from 'kysely';
import { engineOf } from '../db/engine.ts';
import { isOfWindow } from '../db/run-days.ts';
import type { Database } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import type { Services } from '../core/services.ts';

/** Clocks of agents differ by less. */
const toleranceMs = 30_000;
/**
 * Only the near future, where nothing is known against the clock at the time: a clock that is wrong
 * now makes everything look like the future.
 */
const aheadMs = 10 * 60_000;
const runsAtOnce = 200;

async function rename(services: Services, db: Kysely<Database>, runId: number): Promise<void> {
  const { newRunId } = services;
  const results = await db
    .selectFrom('check_results')
    .select('id')
    .where('check_run_id', '=', runId)
    .execute();
  for (const { id: before } of results) {
    const id = newRunId();
    await db
      .updateTable('check_results')
      .set({ id, scheduled_for: null })
      .where('id', '=', before)
      .execute();
    for (const table of ['artifacts', 'check_result_error_groups'] as const) {
      await db.updateTable(table).set({ result_id: id }).where('result_id', '=', before).execute();
    }
    for (const table of ['alert_decisions', 'alert_notifications'] as const) {
      await db
        .updateTable(table)
        .set({ check_result_id: id })
        .where('check_result_id', '=', before)
        .execute();
    }
    await db
      .updateTable('check_runs')
      .set({ result_id: id })
      .where('id', '=', runId)
      .where('result_id', '=', before)
      .execute();
  }
  // It does not belong to a slot any more. It stays on its day: nobody looks for its new id there.
  await db
    .updateTable('check_runs')
    .set({ run_id: newRunId(), scheduled_for: null })
    .where('id', '=', runId)
    .execute();
}

/** One pass. True when there may be more. */
export async function renameFutureRuns(services: Services): Promise<boolean> {
  const { clock, reception } = services;
  if (reception.mayBeBehind) return false;
  const now = clock.now();
  const until = reception.wasAhead ? Number.MAX_SAFE_INTEGER : now + aheadMs;
  const window = (db: Kysely<Database>) =>
    db
      .selectFrom('check_runs')
      .select(['id', 'state'])
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
    if (engineOf(db) === 'sqlite') await sql`pragma defer_foreign_keys = on`.execute(db);
    const runs = await window(db).execute();
    for (const { id, state } of runs) {
      if (state === 'MISSED') await db.deleteFrom('check_runs').where('id', '=', id).execute();
      else await rename(services, db, id);
    }
    return runs.length === runsAtOnce;
  });
}
