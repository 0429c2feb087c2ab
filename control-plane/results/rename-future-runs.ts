/**
 * Runs of slots that are yet to come were made under a clock that was ahead. Their results stay, under
 * other ids, for the slots are run and recorded when they come. What was merely missed there is forgotten.
 */
import { sql, type Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import type { Services } from '../core/services.ts';

/** The clocks of agents differ by less. */
const toleranceMs = 30_000;
/**
 * Only what is about to come, where nothing is known against the clock of then: a clock that is wrong now
 * makes all that is known seem to be of the future.
 */
const aheadMs = 10 * 60_000;
const runsAtOnce = 200;

async function rename(services: Services, db: Kysely<Database>, runId: number): Promise<void> {
  const { newId } = services;
  const results = await db
    .selectFrom('check_results')
    .select('id')
    .where('check_run_id', '=', runId)
    .execute();
  for (const { id: before } of results) {
    const id = newId();
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
  // It belongs to no slot any more.
  await db
    .updateTable('check_runs')
    .set({ run_id: newId(), scheduled_for: null })
    .where('id', '=', runId)
    .execute();
}

/** One pass. Gives true when there may be more. */
export async function renameFutureRuns(services: Services): Promise<boolean> {
  const { clock, reception } = services;
  const now = clock.now();
  const until = reception.wasAhead ? Number.MAX_SAFE_INTEGER : now + aheadMs;
  const window = (db: Kysely<Database>) =>
    db
      .selectFrom('check_runs')
      .select(['id', 'state'])
      .where('scheduled_for', '>', now + toleranceMs)
      .where('scheduled_for', '<=', until)
      .limit(runsAtOnce);
  // Asked again and again, and mostly in vain: no transaction for that.
  if ((await window(services.db).execute()).length === 0) {
    reception.noteFutureCleared();
    return false;
  }
  return services.db.transaction().execute(async (db) => {
    await sql`pragma defer_foreign_keys = on`.execute(db);
    const runs = await window(db).execute();
    for (const { id, state } of runs) {
      if (state === 'MISSED') await db.deleteFrom('check_runs').where('id', '=', id).execute();
      else await rename(services, db, id);
    }
    return runs.length === runsAtOnce;
  });
}
