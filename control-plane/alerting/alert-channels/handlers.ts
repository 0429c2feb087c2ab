/** Alert channels and their subscriptions. */
import type { Kysely } from 'kysely';
import type { z } from 'zod';
import {
  channelConfigs,
  type alertChannelRoutes,
  type AlertChannelType,
  type channelSubscription,
} from '@monitor/shared/contract/alert-channel.ts';
import { invalidField, notFound } from '../../errors/api-error.ts';
import { dropSubscriptionsOf, hasCheck, writeSubscription } from '../../checks/index.ts';
import { readPage } from '../../db/page.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../../db/own-rows.ts';
import type { Database } from '../../db/tables.ts';
import type { ApiPrincipal } from '../../http/authenticate.ts';
import type { Handlers } from '../../http/implement.ts';
import { bodyFields, refuseMisspelt, validate } from '../../http/validate.ts';
import {
  abandonNotifications,
  brokenTemplate,
  keepsOpen,
  withoutSlackApp,
} from '../../notifications/index.ts';
import type { Services } from '../../core/services.ts';
import {
  findChannel,
  preferencesOf,
  presentChannels,
  toPreferenceColumns,
  type ChannelRow,
} from './store.ts';

type Subscription = z.output<typeof channelSubscription>;

/** Refuses a check or a group that the account does not have. */
async function checkSubscriber(
  db: Kysely<Database>,
  accountId: string,
  { checkId, groupId }: Subscription,
): Promise<void> {
  if (checkId !== null) {
    if (!(await hasCheck(db, accountId, checkId))) {
      throw invalidField('checkId', `has no check ${checkId}`);
    }
    return;
  }
  await db
    .selectFrom('check_groups')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '=', groupId ?? -1)
    .executeTakeFirstOrThrow(() =>
      invalidField('groupId', `has no check group ${groupId ?? 'null'}`),
    );
}

async function subscribe(
  db: Kysely<Database>,
  accountId: string,
  channelId: number,
  subscription: Subscription,
): Promise<void> {
  await checkSubscriber(db, accountId, subscription);
  await writeSubscription(db, accountId, channelId, subscription);
}

/** Refuses templates that could not be rendered later. */
function checkTemplates(type: string, config: unknown): void {
  if (type !== 'WEBHOOK') return;
  const broken = brokenTemplate(config as Parameters<typeof brokenTemplate>[0]);
  if (broken !== null) {
    throw invalidField(`config.${broken.field}`, `cannot be completed: ${broken.problem}`);
  }
}

/** Paging systems close what they opened by its key, and group by themselves. */
function checkGrouping(type: string, grouping: unknown): void {
  if (grouping != null && keepsOpen(type)) {
    throw invalidField('grouping', `is not for ${type}, which groups and closes alerts by itself`);
  }
}

export function alertChannelHandlers(
  services: Services,
  hasSlackApp: boolean,
): Handlers<typeof alertChannelRoutes> {
  const { db, clock, commits, secrets } = services;

  const get = async (unit: Kysely<Database>, accountId: string, id: number) => {
    const row = await findChannel(unit, accountId, id);
    if (row === undefined) throw notFound('alert channel', String(id));
    return row;
  };
  const present = async ({ accountId, role }: ApiPrincipal, row: ChannelRow) => {
    const [wire] = await presentChannels(services, accountId, [row], role);
    if (wire === undefined) throw notFound('alert channel', String(row.id));
    const isMute = row.type === 'SLACK_APP' && !hasSlackApp;
    return isMute ? { ...wire, warnings: [withoutSlackApp] } : wire;
  };

  return {
    listAlertChannels: async ({ query }, { principal, setTotal }) => {
      const { accountId, role } = principal;
      const channels = ownRows(db, 'alert_channels', accountId).orderBy('id');
      const { rows, total, offset } = await readPage(channels, query);
      setTotal(total, offset, rows.length);
      return presentChannels(services, accountId, rows, role);
    },

    createAlertChannel: async ({ body }, { principal }) => {
      const { accountId } = principal;
      checkTemplates(body.type, body.config);
      checkGrouping(body.type, body.grouping);
      const row = await commits.run(async (unit) => {
        const inserted = await unit
          .insertInto('alert_channels')
          .values({
            account_id: accountId,
            type: body.type,
            config_json: secrets.encrypt(JSON.stringify(body.config), accountId),
            ...toPreferenceColumns(body),
            created_at: clock.now(),
            updated_at: null,
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        for (const subscription of body.subscriptions ?? []) {
          await subscribe(unit, accountId, inserted.id, subscription);
        }
        return inserted;
      });
      return present(principal, row);
    },

    getAlertChannel: async ({ params }, { principal }) =>
      present(principal, await get(db, principal.accountId, params.id)),

    updateAlertChannel: async ({ params, body }, { principal, ignored }) => {
      const { accountId } = principal;
      const row = await commits.run(async (unit) => {
        const before = await get(unit, accountId, params.id);
        const { type, config, subscriptions, ...preferences } = body;
        if (type !== undefined && type !== before.type) {
          throw invalidField('type', `cannot change; it is ${before.type}`);
        }
        checkGrouping(before.type, preferences.grouping);
        const schema = channelConfigs[before.type as AlertChannelType];
        let configJson = before.config_json;
        if (config !== undefined) {
          const valid = validate(schema, config, 'payload', ['config']);
          ignored.push(...refuseMisspelt(bodyFields(schema, []), config, ['config']));
          checkTemplates(before.type, valid);
          configJson = secrets.encrypt(JSON.stringify(valid), accountId);
        }
        const after: ChannelRow = {
          ...before,
          ...toPreferenceColumns({ ...preferencesOf(before), ...preferences }),
          config_json: configJson,
          updated_at: clock.now(),
        };
        await updateOwnRows(unit, 'alert_channels', accountId)
          .set(after)
          .where('id', '=', params.id)
          .execute();
        if (subscriptions !== undefined) {
          await dropSubscriptionsOf(unit, accountId, params.id);
          for (const each of subscriptions) await subscribe(unit, accountId, params.id, each);
        }
        return after;
      });
      return present(principal, row);
    },

    deleteAlertChannel: async ({ params }, { principal }) => {
      const { accountId } = principal;
      await commits.run(async (unit) => {
        await get(unit, accountId, params.id);
        await abandonNotifications(unit, accountId, params.id);
        await deleteOwnRows(unit, 'alert_channels', accountId)
          .where('id', '=', params.id)
          .execute();
      });
      return undefined;
    },

    subscribeAlertChannel: async ({ params, body }, { principal }) => {
      const row = await commits.run(async (unit) => {
        const channel = await get(unit, principal.accountId, params.id);
        await subscribe(unit, principal.accountId, params.id, body);
        return channel;
      });
      return present(principal, row);
    },
  };
}
