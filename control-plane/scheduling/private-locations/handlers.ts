/** Handlers of private locations. */
import type { Kysely } from 'kysely';
import {
  maxKeysPerLocation,
  type privateLocationRoutes,
} from '@monitor/shared/contract/private-location.ts';
import { ApiError, invalidQuery, notFound, takenField } from '../../errors/api-error.ts';
import { toTimestamp } from '../../db/columns.ts';
import type { Database } from '../../db/tables.ts';
import { presentUrl } from '../../core/decide/hidden-values.ts';
import type { ApiPrincipal } from '../../http/authenticate.ts';
import type { Handlers } from '../../http/implement.ts';
import { revokeLocationKey, type LocationKeys, type NewKey } from '../../accounts/index.ts';
import { metricsKeptMs } from '../sample-queues.ts';
import { raiseLocations } from '../../core/location-versions.ts';
import { noteHeld } from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import { noResultKeys, withResultKeys } from './result-keys.ts';
import {
  findLocation,
  keysOf,
  listLocations,
  lockLocation,
  toWire,
  usesOf,
  type LocationRow,
} from './store.ts';

/** The location, locked until the transaction ends: neither its keys nor its users become more. */
async function lockOwn(
  unit: Kysely<Database>,
  accountId: string,
  id: string,
): Promise<LocationRow> {
  const row = await lockLocation(unit, accountId, id);
  if (row === undefined) throw notFound('private location', id);
  return row;
}

async function refuseUsed(unit: Kysely<Database>, row: LocationRow): Promise<void> {
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

async function refuseFull(unit: Kysely<Database>, row: LocationRow): Promise<void> {
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

export function privateLocationHandlers(
  services: Services,
  keys: LocationKeys,
): Handlers<typeof privateLocationRoutes> {
  const { db, clock, commits, hub, newId, secrets } = services;

  const toStore = (accountId: string, proxyUrl: string | null): string | null =>
    proxyUrl === null ? null : secrets.encrypt(proxyUrl, accountId);
  const readProxy = ({ proxy_url: stored, account_id: accountId }: LocationRow): string | null =>
    stored === null ? null : secrets.decryptStored(stored, accountId);

  const get = async (accountId: string, id: string): Promise<LocationRow> => {
    const row = await findLocation(db, accountId, id);
    if (row === undefined) throw notFound('private location', id);
    return row;
  };
  const wireAll = async (rows: LocationRow[], principal: ApiPrincipal, withVersions = false) => {
    const servingOf = (location: string) =>
      new Set(hub.members(principal.accountId, location).map(({ id }) => id));
    const shown = rows.map((row) => ({
      ...row,
      proxy_url: presentUrl(readProxy(row), principal.role),
    }));
    return toWire(db, shown, servingOf, withVersions);
  };
  const wire = async (row: LocationRow, principal: ApiPrincipal, withVersions = false) => {
    const [shown] = await wireAll([row], principal, withVersions);
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

    listPrivateLocations: async ({ query }, { principal }) => {
      const rows = await listLocations(db, principal.accountId);
      return wireAll(rows, principal, query.versions);
    },

    createPrivateLocation: async ({ body }, { principal }) => {
      const row: LocationRow = {
        id: newId(),
        account_id: principal.accountId,
        name: body.name,
        slug_name: body.slugName,
        icon: body.icon,
        proxy_url: toStore(principal.accountId, body.proxyUrl),
        ...withResultKeys(noResultKeys, body.resultEncryptionKeys, clock.now()),
        created_at: clock.now(),
        updated_at: null,
      };
      const key = await commits.run(async (unit) => {
        const { numInsertedOrUpdatedRows: inserted } = await unit
          .insertInto('private_locations')
          .values(row)
          .onConflict((conflict) => conflict.columns(['account_id', 'slug_name']).doNothing())
          .executeTakeFirstOrThrow();
        if (inserted === 0n) throw takenField('slugName', body.slugName);
        return keys.create(unit, row.account_id, row.slug_name, row.id);
      });
      return { ...(await wire(row, principal)), keys: [{ ...keyToWire(key), lastRefusal: null }] };
    },

    getPrivateLocation: async ({ params }, { principal }) =>
      wire(await get(principal.accountId, params.id), principal, true),

    updatePrivateLocation: async ({ params, body }, { principal }) => {
      const { resultEncryptionKeys: keysGiven } = body;
      const after = await commits.run(async (unit) => {
        const before = await lockOwn(unit, principal.accountId, params.id);
        const changed: LocationRow = {
          ...before,
          name: body.name,
          icon: body.icon ?? before.icon,
          proxy_url:
            body.proxyUrl === undefined
              ? before.proxy_url
              : toStore(principal.accountId, body.proxyUrl),
          ...(keysGiven === undefined ? {} : withResultKeys(before, keysGiven, clock.now())),
          updated_at: clock.now(),
        };
        await unit
          .updateTable('private_locations')
          .set(changed)
          .where('account_id', '=', principal.accountId)
          .where('id', '=', params.id)
          .execute();
        await raiseLocations(unit, principal.accountId, [changed.slug_name]);
        return changed;
      });
      commits.after([
        () => {
          hub.notify(principal.accountId, after.slug_name);
        },
      ]);
      return wire(after, principal);
    },

    deletePrivateLocation: async ({ params }, { principal }) => {
      const { accountId } = principal;
      const row = await commits.run(async (unit) => {
        const found = await lockOwn(unit, accountId, params.id);
        await refuseUsed(unit, found);
        await unit
          .deleteFrom('private_locations')
          .where('account_id', '=', accountId)
          .where('id', '=', params.id)
          .execute();
        await raiseLocations(unit, accountId, [found.slug_name]);
        return found;
      });
      // Its keys are gone with it.
      commits.after([
        () => {
          keys.forget();
        },
        () => {
          hub.notify(accountId, row.slug_name);
        },
      ]);
      return undefined;
    },

    createPrivateLocationKey: async ({ params }, { principal }) => {
      const { accountId } = principal;
      const key = await commits.run(async (unit) => {
        const row = await lockOwn(unit, accountId, params.id);
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
