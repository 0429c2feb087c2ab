/** The account of the key, and what it may use. */
import type { z } from 'zod';
import type { account, accountRoutes, entitlements } from '@monitor/shared/contract/account.ts';
import {
  dataCenterLocations,
  type DataCenterLocation,
} from '@monitor/shared/contract/primitives.ts';
import { runtimes } from '@monitor/shared/contract/runtime-catalogue.ts';
import { notFound } from '../errors/api-error.ts';
import { toTimestamp } from '../db/columns.ts';
import type { RowOf } from '../db/tables.ts';
import { entitlementsOf, planName } from './decide/entitlements.ts';
import type { Handlers } from '../http/handlers.ts';
import { accountAlertSettingsOf, accountSettingsOf, changeAccount } from './store.ts';
import type { Services } from '../core/services.ts';

const currentRuntime = runtimes.find(({ stage }) => stage === 'CURRENT')?.name ?? null;

type AccountRow = RowOf<'accounts'>;
type Wire = z.input<typeof account>;
type Entitlements = z.input<typeof entitlements>;

const tierNames = { hobby: 'Hobby', starter: 'Starter', team: 'Team' } as const;

/** Every plan includes the highest tier of each add-on. */
function addonsOf(plan: string): Wire['addons'] {
  const tier = plan in tierNames ? (plan as keyof typeof tierNames) : 'team';
  const addon = { tier, tierDisplayName: tierNames[tier] };
  return { communicate: addon, resolve: addon };
}

function toWire(row: AccountRow): Wire {
  return {
    id: row.id,
    name: row.name,
    // Existing clients take one without a word for a mistake of the project.
    runtimeId: (row.runtime_id as Wire['runtimeId']) ?? currentRuntime,
    plan: row.plan,
    planDisplayName: planName(row.plan),
    addons: addonsOf(row.plan),
    settings: accountSettingsOf(row.settings_json),
    alertSettings: accountAlertSettingsOf(row.alert_settings_json),
    features: [],
    created_at: toTimestamp(row.created_at),
  };
}

function toEntitlements(row: AccountRow, isServed: (location: string) => boolean): Entitlements {
  return {
    plan: row.plan,
    planDisplayName: planName(row.plan),
    locations: {
      all: Object.entries(dataCenterLocations).map(([id, name]) => ({
        id: id as DataCenterLocation,
        name,
        available: isServed(id),
      })),
      maxPerCheck: 100,
    },
    entitlements: entitlementsOf(),
    addons: addonsOf(row.plan),
  };
}

export function accountHandlers({
  db,
  commits,
  hub,
  clock,
  onAlertSettingsChanged,
}: Services): Handlers<typeof accountRoutes> {
  const find = async (own: string, id: string): Promise<AccountRow> => {
    // A key belongs to one account; there is no other that it could see.
    const row =
      id === own
        ? await db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst()
        : undefined;
    if (row === undefined) throw notFound('account', id);
    return row;
  };
  const entitlementsFor = (row: AccountRow) =>
    toEntitlements(row, (location) => hub.isServed(row.id, location));
  const mine = (accountId: string) => find(accountId, accountId);

  return {
    listAccounts: async (_input, { principal }) => [toWire(await mine(principal.accountId))],
    getMyAccount: async (_input, { principal }) => toWire(await mine(principal.accountId)),
    getAccount: async ({ params }, { principal }) =>
      toWire(await find(principal.accountId, params.accountId)),
    updateAccount: async ({ params: { accountId }, body }, { principal }) => {
      await find(principal.accountId, accountId);
      await commits.run(async (unit) => {
        await changeAccount(unit, accountId, body);
        if (body.alertSettings !== undefined) {
          await onAlertSettingsChanged(unit, accountId, clock.now());
        }
      });
      commits.after([
        () => {
          hub.notifyAccount(accountId);
        },
      ]);
      return toWire(await find(principal.accountId, accountId));
    },
    getMyEntitlements: async (_input, { principal }) =>
      entitlementsFor(await mine(principal.accountId)),
    getEntitlements: async ({ params }, { principal }) =>
      entitlementsFor(await find(principal.accountId, params.accountId)),
  };
}
