import type { Services } from '../../core/services.ts';
import { cancelRuns } from '../check-sessions.ts';
import { settleTestSession } from './settle.ts';
import type { TestSessionRow } from './store.ts';

/** Cancels runs of a test session: all, or those with the given ids. Those that have ended stay as they are. */
export async function cancelTestSession(
  services: Services,
  session: TestSessionRow,
  runIds: readonly string[] | undefined,
): Promise<void> {
  const { clock, db } = services;
  const open = await db
    .selectFrom('test_results')
    .select('run_id')
    .where('session_id', '=', session.id)
    .where('outcome', 'is', null)
    .execute();
  const cancelled = open.flatMap(({ run_id: runId }) =>
    runIds === undefined || runIds.includes(runId) ? [runId] : [],
  );
  if (cancelled.length === 0) return;
  await db
    .updateTable('test_sessions')
    .set({ cancelled_at: clock.now() })
    .where('id', '=', session.id)
    .where('cancelled_at', 'is', null)
    .execute();
  await cancelRuns(services, session.account_id, cancelled);
  services.runs.ended(await settleTestSession(services, session));
}
