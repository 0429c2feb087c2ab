import type { Db } from '../db/tables.ts';
import type { AlertState } from './decide/state.ts';
import type { TickEvent } from './decide/step.ts';
import type { Services } from '../core/services.ts';
import type { AlertedCheck } from './alerted-checks.ts';
import type { Mutes } from './mutes.ts';
import { readTick } from './tick-results.ts';

/** A tick whose first result arrives late still waits this long: the other results may be delayed too. */
const minWaitMs = 60_000;

interface TickSources {
  services: Services;
  db: Db;
  mutes: Mutes;
}

/** Collects the results of a tick so far. Locations without an agent are not waited for. */
export async function tickEventOf(
  { services, db, mutes }: TickSources,
  check: AlertedCheck,
  state: AlertState,
  scheduledFor: number,
  newest: TickEvent['newest'],
): Promise<TickEvent> {
  const { account_id: accountId, id: checkId } = check.row;
  const known = state.openTicks.find((open) => open.scheduledFor === scheduledFor);
  const soonest = services.clock.now() + minWaitMs;
  return {
    kind: 'tick',
    scheduledFor,
    results: await readTick(db, { accountId, checkId, scheduledFor }),
    expected: check.locations.filter(
      (location) => services.hub.members(accountId, location).length > 0,
    ),
    closesAt: known?.closesAt ?? Math.max(scheduledFor + check.tickLastsMs, soonest),
    isInMaintenance: await mutes.wasInMaintenance(accountId, checkId, scheduledFor),
    newest,
  };
}
