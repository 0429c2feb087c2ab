/** The state of a check without a stored state: whether newer results than the given one exist. */
import { eachIdOf, eachNumberOf } from '../db/expressions.ts';
import type { Db } from '../db/tables.ts';
import { initialState, type AlertState } from './decide/state.ts';
import type { RunVerdict } from '../results/index.ts';

/**
 * The initial state for a run. The run is outdated when a stored run began and ended after it. The
 * newest such run counts, because this one may be the first of a backlog. Results that were stored
 * with a future instant came from a wrong clock and do not count.
 */
export async function stateBefore(
  db: Db,
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
    .where('id', 'not in', eachIdOf(beside))
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

/** The initial state for a tick; complete newer ticks make it outdated. */
export async function stateBeforeTick(
  db: Db,
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
    .where('scheduled_for', 'not in', eachNumberOf(beside))
    .where('state', '=', 'FINAL')
    .groupBy('scheduled_for')
    .having((having) => having.fn.countAll(), '>=', locations)
    .orderBy('scheduled_for', 'desc')
    .limit(1)
    .executeTakeFirst();
  return { ...initialState, decidedTick: newer?.scheduled_for ?? null };
}
