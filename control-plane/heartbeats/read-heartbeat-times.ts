import type { HeartbeatState } from '@monitor/shared/contract/check-routes.ts';
import type { Db } from '../db/tables.ts';
import type { HeartbeatTimes } from './decide/heartbeat-times.ts';

/** States of events that change nothing about the monitor. */
export const quietStates: HeartbeatState[] = ['STARTED', 'LOGGED'];

/** Of events that are no pings and that nobody is shown: the monitor was deactivated, or activated again. */
export const pauseStates = ['PAUSED', 'RESUMED'] as const;

/**
 * The times since an instant in which a heartbeat monitor failed or was deactivated, as far as its events are
 * stored; null without pings.
 */
export async function readHeartbeatTimes(
  db: Db,
  accountId: string,
  checkId: string,
  since: number,
): Promise<HeartbeatTimes | null> {
  const events = db
    .selectFrom('heartbeat_events')
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .where('state', 'not in', quietStates);
  const first = await events
    .where('state', 'not in', pauseStates)
    .select('happened_at')
    .orderBy('happened_at')
    .limit(1)
    .executeTakeFirst();
  if (first === undefined) return null;
  // The state at that instant began with an earlier event.
  const before = await events
    .where('happened_at', '<=', since)
    .select('happened_at')
    .orderBy('happened_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  const rows = await events
    .where('happened_at', '>=', before?.happened_at ?? since)
    .where('state', 'in', ['FAILING', 'PAUSED'])
    .select(['state', 'happened_at as from'])
    .select((select) =>
      select
        .selectFrom('heartbeat_events as next')
        .select((of) => of.fn.min('next.happened_at').as('at'))
        .whereRef('next.check_id', '=', 'heartbeat_events.check_id')
        .where('next.state', 'not in', quietStates)
        .whereRef('next.happened_at', '>', 'heartbeat_events.happened_at')
        .as('to'),
    )
    .orderBy('happened_at')
    .execute();
  const timesIn = (wanted: string) =>
    rows.flatMap(({ state, from, to }) => (state === wanted ? [{ from, to: to ?? Infinity }] : []));
  return {
    firstAt: first.happened_at,
    failing: timesIn('FAILING'),
    paused: timesIn('PAUSED'),
  };
}

/** Which of these monitors were activated since an instant, after a pause. */
export async function resumedSince(
  db: Db,
  accountId: string,
  given: readonly { checkId: string; since: number }[],
): Promise<Set<string>> {
  if (given.length === 0) return new Set();
  const rows = await db
    .selectFrom('heartbeat_events')
    .select('check_id')
    .distinct()
    .where('account_id', '=', accountId)
    .where('state', '=', 'RESUMED')
    .where((where) =>
      where.or(
        given.map(({ checkId, since }) =>
          where.and([where('check_id', '=', checkId), where('happened_at', '>', since)]),
        ),
      ),
    )
    .execute();
  return new Set(rows.map((row) => row.check_id));
}
