/** How locations stand with their agents: connected, refused, stopped, lost, or never connected. */
import type { LocationStand } from '@monitor/shared/contract/private-location.ts';
import { toTimestamp } from '../db/columns.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { keyOfPlace, type Place } from './serving-agents.ts';

type KeyRow = Pick<
  RowOf<'location_keys'>,
  'masked_key' | 'refused_at' | 'refused_because' | 'refused_from'
>;

export function refusalToWire(key: KeyRow): LocationStand['lastRefusal'] {
  if (key.refused_at === null) return null;
  return {
    at: toTimestamp(key.refused_at),
    because: key.refused_because ?? '',
    from: key.refused_from,
    maskedKey: key.masked_key,
  };
}

export const noStand: LocationStand = { state: 'NEVER_CONNECTED', lastRefusal: null };

interface Seen {
  at: number;
  hasLeft: boolean;
}

/** The newest of what is known decides. */
function stateOf(
  agents: number,
  seen: Seen | undefined,
  refusedAt: number,
): LocationStand['state'] {
  if (agents > 0) return 'CONNECTED';
  if (refusedAt > (seen?.at ?? 0)) return 'REFUSED';
  if (seen === undefined) return 'NEVER_CONNECTED';
  return seen.hasLeft ? 'STOPPED' : 'LOST';
}

/** Of all private locations, and all that ever had an agent, by `keyOfPlace`; of an account, or of one. */
export async function standsOf(
  db: Db,
  agentCount: (place: Place) => number,
  within: { accountId?: string; location?: string | undefined } = {},
): Promise<Map<string, LocationStand>> {
  const { accountId, location } = within;
  const refused = await db
    .selectFrom('location_keys')
    .select(['account_id', 'location', 'masked_key', 'refused_at', 'refused_because'])
    .select('refused_from')
    .where('refused_at', 'is not', null)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .$if(location !== undefined, (query) => query.where('location', '=', location ?? ''))
    .orderBy('refused_at')
    .execute();
  const agents = await db
    .selectFrom('agents')
    .select(['account_id', 'location', 'last_seen_at', 'said_goodbye', 'gone_at'])
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .$if(location !== undefined, (query) => query.where('location', '=', location ?? ''))
    .orderBy('last_seen_at')
    .execute();
  const owned = await db
    .selectFrom('private_locations')
    .select(['account_id', 'slug_name as location'])
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .$if(location !== undefined, (query) => query.where('slug_name', '=', location ?? ''))
    .execute();
  const placeOf = (row: { account_id: string; location: string }): Place => ({
    accountId: row.account_id,
    location: row.location,
  });
  const places = new Map(
    [...owned, ...refused, ...agents].map((row) => [keyOfPlace(placeOf(row)), placeOf(row)]),
  );
  const refusals = new Map(refused.map((row) => [keyOfPlace(placeOf(row)), row]));
  const seen = new Map(
    agents.map((row) => [
      keyOfPlace(placeOf(row)),
      { at: row.last_seen_at, hasLeft: row.gone_at !== null && row.said_goodbye === 1 },
    ]),
  );
  return new Map(
    [...places].map(([key, place]) => {
      const refusal = refusals.get(key);
      const state = stateOf(agentCount(place), seen.get(key), refusal?.refused_at ?? 0);
      return [key, { state, lastRefusal: refusal === undefined ? null : refusalToWire(refusal) }];
    }),
  );
}
