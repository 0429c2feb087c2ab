/** Locations whose checks wait for an agent: one alert per location, not per check. */
import type { Db } from '../db/tables.ts';
import type { Services } from '../core/services.ts';
import { channelsToNotify, checksWaitingIn, type WaitingCheck } from '../scheduling/index.ts';
import { privateLocationName } from '../checks/index.ts';
import {
  type Finding,
  type HealthCondition,
  keyOfPlace,
  noAgentCode,
  type Place,
} from './agent-health.ts';
import { neverServedForMs, unservedForMs, waitingSince } from './decide/unserved.ts';

/** Locations of all accounts with checks and without a recorded agent. */
async function candidatesOf(db: Db): Promise<Place[]> {
  return db
    .selectFrom('check_locations')
    .leftJoin('location_states', (join) =>
      join
        .onRef('location_states.account_id', '=', 'check_locations.account_id')
        .onRef('location_states.location', '=', 'check_locations.location'),
    )
    .select(['check_locations.account_id as accountId', 'check_locations.location as location'])
    .distinct()
    .where((where) =>
      where.or([
        where('location_states.location', 'is', null),
        where('location_states.unserved_since', 'is not', null),
      ]),
    )
    .execute();
}

/** Checks of a location without any served location; each is listed in its first location. */
async function checksNowhere(
  { hub }: Services,
  db: Db,
  { accountId, location }: Place,
  checks: readonly WaitingCheck[],
): Promise<WaitingCheck[]> {
  const ids = checks.map(({ id }) => id);
  const rows = await db
    .selectFrom('check_locations')
    .select(['check_id', 'location'])
    .where('check_id', 'in', ids)
    .orderBy('position')
    .execute();
  const places = Map.groupBy(rows, (row) => row.check_id);
  return checks.filter(({ id }) => {
    const all = (places.get(id) ?? []).map((row) => row.location);
    return all[0] === location && all.every((each) => !hub.isServed(accountId, each));
  });
}

async function findingsAt(services: Services, db: Db, place: Place): Promise<Finding[]> {
  const { hub, reception } = services;
  const { accountId, location } = place;
  const presence = await db
    .selectFrom('location_states')
    .select(['served_since as servedSince', 'unserved_since as unservedSince'])
    .where('account_id', '=', accountId)
    .where('location', '=', location)
    .executeTakeFirst();
  const isForeign =
    presence === undefined && (await privateLocationName(db, accountId, location)) === undefined;
  const waiting = await checksWaitingIn(db, place);
  const checks = isForeign ? await checksNowhere(services, db, place, waiting) : waiting;
  const since = waitingSince({
    isServed: hub.isServed(accountId, location),
    presence,
    assignedAt: checks.length === 0 ? null : Math.min(...checks.map((each) => each.assignedAt)),
  });
  const afterMs = isForeign ? neverServedForMs : unservedForMs;
  if (since === null || reception.since(since) < afterMs) return [];
  // People who subscribe later are notified then.
  if ((await channelsToNotify(db, accountId, checks)).length === 0) return [];
  const unservedSince = presence?.unservedSince ?? since;
  return [{ code: noAgentCode, since: unservedSince, runs: 0, kind: null, checks }];
}

/** Remembers when this process began to receive check-ins. */
export function unservedLocations(services: Services): HealthCondition {
  const { db, reception, replicas, hub } = services;
  const startedAt = reception.receivableMs();
  return {
    name: 'watch-locations',
    everyMs: 10_000,
    owns: (code) => code === noAgentCode,
    look: async (open) => {
      const notified = new Set(open.map(keyOfPlace));
      // Before that, an agent may just not have come back after the restart. Other replicas would
      // have been there for it.
      const isSettled =
        !replicas.isColdStart || reception.receivableMs() - startedAt >= unservedForMs;
      const places = isSettled ? await candidatesOf(db) : [];
      return {
        suspects: places
          .filter(({ accountId, location }) => !hub.isServed(accountId, location))
          .filter((place) => !notified.has(keyOfPlace(place)))
          .map((place) => ({
            ...place,
            findings: async (unit, codes) =>
              codes.has(noAgentCode) ? [] : findingsAt(services, unit, place),
          })),
        endOf: async (unit, alert) =>
          hub.isServed(alert.accountId, alert.location)
            ? { isConclusive: true, checks: await checksWaitingIn(unit, alert) }
            : null,
      };
    },
  };
}
