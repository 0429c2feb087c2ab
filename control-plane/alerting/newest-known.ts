/** What is known of a check that has no alert state: whether its newest results are newer than one. */
import type { Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import { initialState, type AlertState } from './decide/state.ts';
import type { RunVerdict } from '../results/index.ts';

/**
 * The state to begin with: a run that both began and ended after this one makes this one old. The newest
 * of them, since this one may be the first of a backlog. What came with an instant that has not come
 * yet is not newer than anything: a clock was wrong.
 */
export async function stateBefore(
  db: Kysely<Database>,
  run: RunVerdict,
  beside: readonly string[],
  now: number,
): Promise<AlertState> {
  const newer = await db
    .selectFrom('check_results')
    .select(['started_at', 'stopped_at'])
    .where('account_id', '=', run.accountId)
    .where('check_id', '=', run.checkId)
    .where('started_at', '>', run.startedAt)
    .where('started_at', '<=', now)
    .where('stopped_at', '>', run.stoppedAt)
    .where('result_type', '=', 'FINAL')
    .where('has_errors', '=', 0)
    .where('is_cancelled', '=', 0)
    .where('id', 'not in', beside)
    .orderBy('started_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (newer === undefined) return initialState;
  return {
    ...initialState,
    newestStartedAt: newer.started_at,
    newestStoppedAt: newer.stopped_at,
  };
}

/** The state to begin with for a tick: newer ones that are complete make it old. */
export async function stateBeforeTick(
  db: Kysely<Database>,
  {
    accountId,
    checkId,
    scheduledFor,
  }: { accountId: string; checkId: string; scheduledFor: number },
  locations: number,
  beside: readonly number[],
  now: number,
): Promise<AlertState> {
  const newer = await db
    .selectFrom('check_runs')
    .select('scheduled_for')
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .where('scheduled_for', '>', scheduledFor)
    .where('scheduled_for', '<=', now)
    .where('scheduled_for', 'not in', beside)
    .where('state', '=', 'FINAL')
    .groupBy('scheduled_for')
    .having((having) => having.fn.countAll(), '>=', locations)
    .orderBy('scheduled_for', 'desc')
    .limit(1)
    .executeTakeFirst();
  return { ...initialState, decidedTick: newer?.scheduled_for ?? null };
}
