import { deleteCheck } from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import { ApiError } from '../../errors/api-error.ts';

/** As long as other sessions. */
const keptMs = 7 * 86_400_000;
const atOnce = 20;
/** Long after the run has ended, and its result holds all that was printed. */
const logsKeptMs = 3_600_000;

/** Deletes old test sessions with their results, and what was printed in runs that have ended. */
export async function forgetTestSessions(services: Services): Promise<void> {
  const { clock, db } = services;
  await db
    .deleteFrom('test_logs')
    .where('created_at', '<', clock.now() - logsKeptMs)
    .execute();
  const old = await db
    .selectFrom('test_sessions')
    .select(['id', 'account_id'])
    .where('started_at', '<', clock.now() - keptMs)
    .where('stopped_at', 'is not', null)
    .orderBy('started_at')
    .limit(atOnce)
    .execute();
  for (const { id, account_id: accountId } of old) {
    const results = await db
      .selectFrom('test_results')
      .select('trial_id')
      .where('session_id', '=', id)
      .where('trial_id', 'is not', null)
      .execute();
    for (const { trial_id: trialId } of results) {
      await deleteCheck(services, accountId, trialId ?? '').catch((error: unknown) => {
        // An earlier attempt has deleted it.
        if (!(error instanceof ApiError)) throw error;
      });
    }
    await db.deleteFrom('test_sessions').where('id', '=', id).execute();
  }
  if (old.length === atOnce) await forgetTestSessions(services);
}
