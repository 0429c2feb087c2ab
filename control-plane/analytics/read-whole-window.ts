/** Tallies of a window with the availability of reports: for heartbeats the share of time, not of pings. */
import { isPinged } from '@monitor/shared/contract/checks/index.ts';
import type { Db } from '../db/tables.ts';
import { availabilityWithin, readHeartbeatTimes } from '../heartbeats/index.ts';
import type { Window } from '../core/decide/results-window.ts';
import { wholeWindow } from './decide/roll-ups/spans.ts';
import { Tally } from './decide/roll-ups/tally.ts';
import { readTallies, type TallyRequest } from './read-tallies.ts';

type Found = Awaited<ReturnType<typeof readTallies>>;

/**
 * Like `readTallies` for a whole window, including a heartbeat without any ping in it. With a
 * filter on ping states, the availability is the share of pings, as for other checks.
 */
export async function readWholeWindow(
  db: Db,
  { window, ...request }: Omit<TallyRequest, 'spans'> & { window: Window },
  now: number,
): Promise<Found> {
  const found = await readTallies(db, { ...request, spans: wholeWindow(window) });
  const { accountId, checkId, checkType, bases, statuses } = request;
  const isTimed = isPinged(checkType) && statuses.length === 0;
  if (!isTimed || !bases.includes('availability')) return found;
  const times = await readHeartbeatTimes(db, accountId, checkId, window.from);
  if (times === null) return found;
  const tally = found.tallies.get(0)?.get(null) ?? new Tally();
  tally.timeUp = availabilityWithin(times, [window], now);
  return { ...found, tallies: new Map([[0, new Map([[null, tally]])]]) };
}
