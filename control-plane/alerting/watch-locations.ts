/**
 * Tells people when checks wait for an agent, and when they no longer do: one notice for a location,
 * not one alert for each check. What was said stands in `location_notices`, written in the transaction
 * that fills the outbox, so that a restart neither repeats nor loses it.
 */
import type { Kysely, Selectable } from 'kysely';
import type { Database } from '../db/tables.ts';
import type { LocationNoticesTable } from './tables.ts';
import {
  isNoticeDue,
  neverServedForMs,
  unservedForMs,
  waitingSince,
} from './decide/location-notice.ts';
import { enqueueForChannel, type LocationFacts, locationName } from '../notifications/index.ts';
import type { Services } from '../core/services.ts';
import {
  channelsToRecover,
  channelsToTell,
  checksWaitingIn,
  type WaitingCheck,
} from '../scheduling/index.ts';
import { privateLocationName } from '../checks/index.ts';

interface Place {
  accountId: string;
  location: string;
}

interface Candidate extends Place {
  presence: { servedSince: number | null; unservedSince: number | null } | undefined;
}

/** Locations that may have been without an agent for long enough, of all accounts. */
async function candidatesOf(db: Kysely<Database>): Promise<Candidate[]> {
  const left = await db
    .selectFrom('location_states')
    .selectAll()
    .where('unserved_since', 'is not', null)
    .execute();
  const neverServed = await db
    .selectFrom('private_locations')
    .leftJoin('location_states', (join) =>
      join
        .onRef('location_states.account_id', '=', 'private_locations.account_id')
        .onRef('location_states.location', '=', 'private_locations.slug_name'),
    )
    .select([
      'private_locations.account_id as accountId',
      'private_locations.slug_name as location',
    ])
    .where('location_states.location', 'is', null)
    .execute();
  const owned = new Set(neverServed.map(({ accountId, location }) => `${accountId}/${location}`));
  const unknown = await db
    .selectFrom('check_locations')
    .select(['account_id as accountId', 'location'])
    .distinct()
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('location_states')
            .select('location_states.location')
            .whereRef('location_states.account_id', '=', 'check_locations.account_id')
            .whereRef('location_states.location', '=', 'check_locations.location'),
        ),
      ),
    )
    .execute();
  return [
    ...left.map((state) => ({
      accountId: state.account_id,
      location: state.location,
      presence: { servedSince: state.served_since, unservedSince: state.unserved_since },
    })),
    ...neverServed.map((place) => ({ ...place, presence: undefined })),
    ...unknown
      .filter(({ accountId, location }) => !owned.has(`${accountId}/${location}`))
      .map((place) => ({ ...place, presence: undefined })),
  ];
}

async function tell(
  { clock, newId }: Services,
  db: Kysely<Database>,
  accountId: string,
  channels: readonly number[],
  facts: LocationFacts,
): Promise<void> {
  for (const channelId of channels) {
    const envelope = { id: newId(), accountId, now: clock.now() };
    await enqueueForChannel(db, channelId, facts, envelope);
  }
}

/** Of the checks of a location, those that run nowhere at all; each in the first of its locations. */
async function checksNowhere(
  { hub }: Services,
  db: Kysely<Database>,
  { accountId, location }: Place,
  checks: readonly WaitingCheck[],
): Promise<WaitingCheck[]> {
  if (checks.length === 0) return [];
  const rows = await db
    .selectFrom('check_locations')
    .select(['check_id', 'location'])
    .where(
      'check_id',
      'in',
      checks.map(({ id }) => id),
    )
    .orderBy('position')
    .execute();
  const places = Map.groupBy(rows, (row) => row.check_id);
  return checks.filter(({ id }) => {
    const all = (places.get(id) ?? []).map((row) => row.location);
    return all[0] === location && all.every((each) => !hub.isServed(accountId, each));
  });
}

/** Sends the notice if it is due and somebody wants it. Gives whether anything was put into the outbox. */
async function notice(
  services: Services,
  { presence, ...place }: Candidate,
  runningMs: number,
): Promise<boolean> {
  const { hub, clock, reception } = services;
  const { accountId, location } = place;
  return services.db.transaction().execute(async (db) => {
    const privateName = await privateLocationName(db, accountId, location);
    const isForeign = presence === undefined && privateName === undefined;
    const waiting = await checksWaitingIn(db, place);
    const checks = isForeign ? await checksNowhere(services, db, place, waiting) : waiting;
    const now = clock.now();
    const since = waitingSince({
      isServed: hub.isServed(accountId, location),
      presence,
      assignedAt: checks.reduce<number | null>(
        (least, { assignedAt }) => Math.min(least ?? assignedAt, assignedAt),
        null,
      ),
    });
    const afterMs = isForeign ? neverServedForMs : unservedForMs;
    if (since === null || !isNoticeDue(reception.since(since), runningMs, afterMs)) return false;
    const channels = await channelsToTell(db, accountId, checks);
    if (channels.length === 0) return false;
    const unservedSince = presence?.unservedSince ?? since;
    const incidentKey = `location/${accountId}/${location}/${unservedSince}`;
    const written = await db
      .insertInto('location_notices')
      .values({
        ...{ account_id: accountId, location, unserved_since: unservedSince, sent_at: now },
        ...{ incident_key: incidentKey, channels_json: JSON.stringify(channels) },
      })
      .onConflict((conflict) => conflict.columns(['account_id', 'location']).doNothing())
      .executeTakeFirst();
    if (written.numInsertedOrUpdatedRows !== 1n) return false;
    await tell(services, db, accountId, channels, {
      ...{ kind: 'location', at: now, isServed: false, unservedSince, incidentKey, location },
      locationName: privateName ?? locationName(location),
      checks: checks.map(({ id, name }) => ({ id, name })),
    });
    return true;
  });
}

/** Says that agents are back, to those who were told that they were gone. */
async function recover(
  services: Services,
  sent: Selectable<LocationNoticesTable>,
): Promise<boolean> {
  const { account_id: accountId, location } = sent;
  const place = { accountId, location };
  return services.db.transaction().execute(async (db) => {
    const deleted = await db
      .deleteFrom('location_notices')
      .where('account_id', '=', accountId)
      .where('location', '=', location)
      .where('incident_key', '=', sent.incident_key)
      .executeTakeFirst();
    if (deleted.numDeletedRows !== 1n) return false;
    const checks = await checksWaitingIn(db, place);
    const channels = await channelsToRecover(db, sent);
    await tell(services, db, accountId, channels, {
      ...{ kind: 'location', at: services.clock.now(), isServed: true, location },
      ...{ unservedSince: sent.unserved_since, incidentKey: sent.incident_key },
      locationName: (await privateLocationName(db, accountId, location)) ?? locationName(location),
      checks: checks.map(({ id, name }) => ({ id, name })),
    });
    return channels.length > 0;
  });
}

/** Gives the operation of the timer, which remembers when this process began to listen to agents. */
export function locationWatch(services: Services): () => Promise<void> {
  const { db, reception, hub, deliveries } = services;
  const startedAt = reception.receivableMs();
  return async () => {
    const sent = await db.selectFrom('location_notices').selectAll().execute();
    let hasNews = false;
    for (const each of sent) {
      if (!hub.isServed(each.account_id, each.location)) continue;
      if (await recover(services, each)) hasNews = true;
    }
    const runningMs = reception.receivableMs() - startedAt;
    if (runningMs >= unservedForMs) {
      const noticed = new Set(sent.map((each) => `${each.account_id}/${each.location}`));
      for (const candidate of await candidatesOf(db)) {
        const { accountId, location } = candidate;
        if (noticed.has(`${accountId}/${location}`) || hub.isServed(accountId, location)) continue;
        if (await notice(services, candidate, runningMs)) hasNews = true;
      }
    }
    if (hasNews) deliveries.wake();
  };
}
