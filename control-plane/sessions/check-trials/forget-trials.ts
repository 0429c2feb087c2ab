import { deleteCheck } from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import { ApiError } from '../../errors/api-error.ts';

/** A suite may take three quarters of it. */
const keptMs = 3_600_000;
const atOnce = 100;

/** Deletes trials that nobody has ended. */
export async function forgetTrials(services: Services): Promise<void> {
  const rows = await services.db
    .selectFrom('checks')
    .select(['id', 'account_id'])
    .where('is_trial', '=', 1)
    .where('created_at', '<', services.clock.now() - keptMs)
    // Those of test sessions stay with them.
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('test_results')
            .select('id')
            .whereRef('test_results.trial_id', '=', 'checks.id'),
        ),
      ),
    )
    .orderBy('created_at')
    .limit(atOnce)
    .execute();
  for (const { id, account_id: accountId } of rows) {
    await deleteCheck(services, accountId, id).catch((error: unknown) => {
      // Somebody has just ended it.
      if (!(error instanceof ApiError)) throw error;
    });
  }
  if (rows.length === atOnce) await forgetTrials(services);
}
