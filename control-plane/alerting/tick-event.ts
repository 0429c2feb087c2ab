import type { Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import type { AlertState } from './decide/state.ts';
import type { TickEvent } from './decide/step.ts';
import type { Services } from '../core/services.ts';
import type { AlertedCheck } from './alerted-checks.ts';
import type { Silences } from './silences.ts';
import { readTick } from './tick-results.ts';

/** A tick that is heard of late is still waited for so long: the others may be on their way too. */
const leastWaitMs = 60_000;

interface TickSources {
  services: Services;
  db: Kysely<Database>;
  silences: Silences;
}

/** What is known of a tick by now. Nobody waits for a location that no agent serves. */
export async function tickEventOf(
  { services, db, silences }: TickSources,
  check: AlertedCheck,
  state: AlertState,
  scheduledFor: number,
  news: TickEvent['news'],
): Promise<TickEvent> {
  const { account_id: accountId, id: checkId } = check.row;
  const known = state.openTicks.find((open) => open.scheduledFor === scheduledFor);
  const soonest = services.clock.now() + leastWaitMs;
  return {
    kind: 'tick',
    scheduledFor,
    results: await readTick(db, { accountId, checkId, scheduledFor }),
    expected: check.locations.filter((location) => services.hub.isServed(accountId, location)),
    closesAt: known?.closesAt ?? Math.max(scheduledFor + check.tickLastsMs, soonest),
    isInMaintenance: await silences.wasInMaintenance(accountId, checkId, scheduledFor),
    news,
  };
}
