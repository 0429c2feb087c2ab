/** Handlers of private locations. */
import type { z } from 'zod';
import {
  maxKeysPerLocation,
  type privateLocationRoutes,
} from '@monitor/shared/contract/private-location.ts';
import { ApiError, invalidQuery, notFound, takenField } from '../../errors/api-error.ts';
import { toTimestamp } from '../../db/columns.ts';
import type { Db } from '../../db/tables.ts';
import { presentUrl } from '../../core/decide/hidden-values.ts';
import type { Handlers } from '../../http/handlers.ts';
import { revokeLocationKey, type LocationKeys, type NewKey } from '../../accounts/index.ts';
import { metricsKeptMs } from '../sample-queues.ts';
import { raiseLocations } from '../../core/location-versions.ts';
import { noteHeld } from '../../checks/index.ts';
import { type Caller, entryHandlers, resourceOf } from '../../resources/index.ts';
import type { Services } from '../../core/services.ts';
import { givenKeysOf, noResultKeys, withResultKeys } from './result-keys.ts';
import { keysOf, type LocationRow, toWire, usesOf } from './store.ts';

async function refuseUsed(unit: Db, row: LocationRow): Promise<void> {
  const { checks, groups } = await usesOf(unit, row);
  if (groups > 0) {
    throw new ApiError(
      'CONFLICT',
      `${groups} ${groups === 1 ? 'group uses' : 'groups use'} ${row.slug_name}; change them first`,
    );
  }
  if (checks.length > 0) {
    throw new ApiError(
      'CONFLICT',
      `${checks.length} ${checks.length === 1 ? 'check runs' : 'checks run'} in ${row.slug_name}${noteHeld(checks)}; move them first`,
    );
  }
}

async function refuseFull(unit: Db, row: LocationRow): Promise<void> {
  if ((await keysOf(unit, row)).length < maxKeysPerLocation) return;
  throw new ApiError(
    'CONFLICT',
    `${row.slug_name} has ${maxKeysPerLocation} keys already; delete one first`,
  );
}

const keyToWire = ({ id, rawKey, maskedKey, createdAt }: NewKey) => ({
  ...{ id, rawKey, maskedKey },
  created_at: toTimestamp(createdAt),
  updated_at: null,
});

type LocationFields = z.output<typeof privateLocationRoutes.createPrivateLocation.body>;

/** What is done with the keys of locations: a new one gets its first, those of a deleted one are gone. */
export interface KeysOfLocations {
  created?: (unit: Db, row: LocationRow) => Promise<void>;
  forget(): void;
}

export function privateLocationsOf(services: Services, keys: KeysOfLocations) {
  const { db, clock, hub, newId, secrets } = services;
  const readProxy = ({ proxy_url: stored, account_id: accountId }: LocationRow) =>
    stored && secrets.decryptStored(stored, accountId);
  const presentAll = (
    rows: readonly LocationRow[],
    { accountId, role }: Caller,
    withVersions = false,
  ) => {
    const servingOf = (location: string) =>
      new Set(hub.members(accountId, location).map(({ id }) => id));
    const shown = rows.map((row) => ({ ...row, proxy_url: presentUrl(readProxy(row), role) }));
    return toWire(db, shown, servingOf, withVersions);
  };
  const locations = resourceOf(services, {
    ...({ table: 'private_locations', noun: 'private location', key: 'id' } as const),
    order: ['created_at'],
    fresh: (now) => ({ id: newId(), created_at: now, updated_at: null }),
    taken: ({ slugName }: LocationFields) => takenField('slugName', slugName),
    fieldsOf: (row, changes?: Partial<LocationFields>): LocationFields => ({
      ...{ name: row.name, slugName: row.slug_name, icon: row.icon },
      proxyUrl: changes?.proxyUrl === undefined ? readProxy(row) : changes.proxyUrl,
      resultEncryptionKeys: givenKeysOf(row.result_keys_json),
    }),
    toColumns: ({ slugName, proxyUrl, ...fields }: LocationFields, { accountId, before }) => ({
      ...{ name: fields.name, slug_name: slugName, icon: fields.icon },
      proxy_url: proxyUrl === null ? null : secrets.encrypt(proxyUrl, accountId),
      ...withResultKeys(before ?? noResultKeys, fields.resultEncryptionKeys, clock.now()),
    }),
    present: (rows, caller) => presentAll(rows, caller),
    async saved(unit, row) {
      if (row.updated_at === null) await keys.created?.(unit, row);
      else await raiseLocations(unit, row.account_id, [row.slug_name]);
    },
    async removing(unit, row) {
      await refuseUsed(unit, row);
      await raiseLocations(unit, row.account_id, [row.slug_name]);
    },
    done({ account_id: accountId, slug_name: slug }, isDeleted) {
      if (isDeleted) keys.forget();
      hub.notify(accountId, slug);
    },
  });
  return { ...locations, presentAll };
}

export function privateLocationHandlers(
  services: Services,
  keys: LocationKeys,
): Handlers<typeof privateLocationRoutes> {
  const { db, clock, commits, hub } = services;
  const locations = privateLocationsOf(services, keys);
  const { get } = locations;
  const presentOne = async (row: LocationRow, caller: Caller) => {
    const [shown] = await locations.presentAll([row], caller, true);
    if (shown === undefined) throw notFound('private location', row.id);
    return shown;
  };

  return {
    getPrivateLocationMetrics: async ({ params, query }, { principal }) => {
      const row = await get(principal.accountId, params.id);
      const earliest = clock.now() - metricsKeptMs;
      if (query.from < earliest) {
        throw invalidQuery('from', 'must be at most 15 days ago');
      }
      if (query.to < query.from) throw invalidQuery('to', 'must not be before "from"');
      const samples = await db
        .selectFrom('queue_samples')
        .selectAll()
        .where('account_id', '=', principal.accountId)
        .where('location', '=', row.slug_name)
        .where('sampled_at', '>=', query.from)
        .where('sampled_at', '<', query.to)
        .orderBy('sampled_at')
        .execute();
      return {
        timestamps: samples.map((sample) => Math.floor(sample.sampled_at / 1000)),
        queueSize: samples.map((sample) => sample.queue_size),
        oldestScheduledCheckRun: samples.map((sample) => sample.oldest_ms / 1000),
      };
    },

    ...entryHandlers('PrivateLocation', 'id', locations),

    listPrivateLocations: async ({ query }, { principal }) => {
      const rows = await locations.rowsOf(principal.accountId).execute();
      return locations.presentAll(rows.map(locations.asRow), principal, query.versions);
    },

    getPrivateLocation: async ({ params }, { principal }) =>
      presentOne(await get(principal.accountId, params.id), principal),

    createPrivateLocation: async ({ body }, { principal }) => {
      const made: NewKey[] = [];
      const created = async (unit: Db, row: LocationRow) => {
        made.push(await keys.create(unit, row.account_id, row.slug_name, row.id));
      };
      const withKey = privateLocationsOf(services, { created, forget: () => undefined });
      const row = await withKey.create(principal.accountId, body);
      const shown = await locations.presentOne(row, principal);
      return { ...shown, keys: made.map((key) => ({ ...keyToWire(key), lastRefusal: null })) };
    },

    createPrivateLocationKey: async ({ params }, { principal }) => {
      const { accountId } = principal;
      const key = await commits.run(async (unit) => {
        const row = await locations.lock(unit, accountId, params.id);
        await refuseFull(unit, row);
        return keys.create(unit, accountId, row.slug_name, row.id);
      });
      return keyToWire(key);
    },

    deletePrivateLocationKey: async ({ params }, { principal }) => {
      const row = await get(principal.accountId, params.id);
      const location = { accountId: principal.accountId, privateLocationId: row.id };
      const isDeleted = await commits.run(async (unit) => {
        const hadKey = await revokeLocationKey({ db: unit, clock }, location, params.keyId);
        if (hadKey) await raiseLocations(unit, principal.accountId, [row.slug_name]);
        return hadKey;
      });
      if (!isDeleted) throw notFound('key', params.keyId);
      keys.forget();
      // Agents in a long poll reconnect at once and are refused.
      hub.notify(principal.accountId, row.slug_name);
      return undefined;
    },
  };
}
