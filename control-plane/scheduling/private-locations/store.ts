/** Private locations: rows ↔ wire. */
import type { z } from 'zod';
import type { privateLocation } from '@monitor/shared/contract/private-location.ts';
import { stampsOf, toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { jsonListContains } from '../../db/expressions.ts';
import { lockRows } from '../../db/lock.ts';
import { ownRows } from '../../db/own-rows.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import { keyOfPlace } from '../serving-agents.ts';
import { noStand, refusalToWire, standsOf } from '../location-stands.ts';
import { resultKeysToWire } from './result-keys.ts';

export type LocationRow = RowOf<'private_locations'>;
type Wire = z.input<typeof privateLocation>;

/** The oldest agent version that supports the present protocol. */
const minAgentVersion = '7.0.2';

/** The location, locked until the transaction ends: no check or group begins to use it. */
export function lockLocation(
  db: Db,
  accountId: string,
  id: string,
): Promise<LocationRow | undefined> {
  return lockRows(
    ownRows(db, 'private_locations', accountId).where('id', '=', id),
  ).executeTakeFirst();
}

/** True for a location with keys for results. */
export async function encryptsResults(
  db: Db,
  { accountId, location }: { accountId: string; location: string },
): Promise<boolean> {
  const row = await db
    .selectFrom('private_locations')
    .select('id')
    .where('account_id', '=', accountId)
    .where('slug_name', '=', location)
    .where('encrypted_since', 'is not', null)
    .executeTakeFirst();
  return row !== undefined;
}

/** Checks, and the number of groups, that use a location. */
export async function usesOf(
  db: Db,
  { account_id: accountId, slug_name: location }: LocationRow,
): Promise<{ checks: { is_trial: number }[]; groups: number }> {
  const checks = await db
    .selectFrom('check_locations')
    .innerJoin('checks', 'checks.id', 'check_locations.check_id')
    .select('checks.is_trial')
    .where('check_locations.account_id', '=', accountId)
    .where('check_locations.location', '=', location)
    // Nobody sees a trial, and it is forgotten within the hour.
    .where('checks.is_trial', '!=', 1)
    .execute();
  const { groups } = await db
    .selectFrom('check_groups')
    .select((select) => select.fn.countAll<number>().as('groups'))
    .where('account_id', '=', accountId)
    .where(jsonListContains('body_json', '$.privateLocations', location))
    .executeTakeFirstOrThrow();
  return { checks, groups };
}

type LocationOrAll = Pick<LocationRow, 'account_id'> &
  Partial<Pick<LocationRow, 'id' | 'slug_name'>>;

/** The keys of a location, or of all of its account, oldest first. */
export function keysOf(db: Db, { account_id: accountId, id }: LocationOrAll) {
  return db
    .selectFrom('location_keys')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(id !== undefined, (query) => query.where('private_location_id', '=', id ?? ''))
    .where('revoked_at', 'is', null)
    .orderBy('created_at')
    .execute();
}

/** Agents by version, for `?versions=true`. */
function byVersion(
  agents: readonly { id: string; version: string; last_seen_at: number }[],
): NonNullable<Wire['runningAgents']> {
  const versions = Map.groupBy(agents, ({ version }) => version);
  return [...versions].map(([version, running]) => ({
    version,
    count: running.length,
    isOutdated: version.localeCompare(minAgentVersion, 'en', { numeric: true }) < 0,
    agents: running.map(({ id, last_seen_at: seen }) => ({ id, lastSeenAt: toTimestamp(seen) })),
  }));
}

/**
 * Locations of one account with their keys and agents, in as many statements as for one. `servingOf` gives the ids of
 * the agents that serve a location now.
 */
export async function toWire(
  db: Db,
  rows: readonly LocationRow[],
  servingOf: (location: string) => ReadonlySet<string>,
  withVersions: boolean,
): Promise<Wire[]> {
  const [first] = rows;
  if (first === undefined) return [];
  const only: LocationOrAll = rows.length === 1 ? first : { account_id: first.account_id };
  const within = { accountId: first.account_id, location: only.slug_name };
  const keys = Map.groupBy(await keysOf(db, only), (key) => key.private_location_id);
  const known = await db
    .selectFrom('agents')
    .select(['id', 'location', 'version', 'last_seen_at'])
    .where('account_id', '=', within.accountId)
    .$if(within.location !== undefined, (query) =>
      query.where('location', '=', within.location ?? ''),
    )
    .execute();
  const agents = Map.groupBy(known, ({ location }) => location);
  const runningIn = (location: string) =>
    (agents.get(location) ?? []).filter(({ id }) => servingOf(location).has(id));
  const stands = await standsOf(db, ({ location }) => runningIn(location).length, within);
  return rows.map((row) => {
    const running = runningIn(row.slug_name);
    const seen = (agents.get(row.slug_name) ?? []).map((agent) => agent.last_seen_at);
    const key = keyOfPlace({ accountId: row.account_id, location: row.slug_name });
    return {
      id: row.id,
      name: row.name,
      slugName: row.slug_name,
      icon: row.icon,
      proxyUrl: row.proxy_url,
      keys: (keys.get(row.id) ?? []).map((one) => ({
        id: one.id,
        maskedKey: one.masked_key,
        ...stampsOf(one),
        lastRefusal: refusalToWire(one),
      })),
      resultEncryptionKeys: resultKeysToWire(row.result_keys_json),
      ...stampsOf(row),
      lastSeen: toTimestampOrNull(seen.length === 0 ? null : Math.max(...seen)),
      agentCount: running.length,
      ...(stands.get(key) ?? noStand),
      ...(withVersions ? { minAgentVersion, runningAgents: byVersion(running) } : {}),
    };
  });
}
