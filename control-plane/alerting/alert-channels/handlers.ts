/** Alert channels and their subscriptions. */
import type { z } from 'zod';
import {
  channelConfigs,
  configProblem,
  type alertChannelRoutes,
  type AlertChannelType,
  type channelSubscription,
} from '@monitor/shared/contract/alert-channel.ts';
import { invalidField } from '../../errors/api-error.ts';
import { dropSubscriptionsOf, hasCheck, writeSubscription } from '../../checks/index.ts';
import { fromJson } from '../../db/columns.ts';
import type { Db } from '../../db/tables.ts';
import type { Handlers } from '../../http/handlers.ts';
import { bodyFields, refuseMisspelt, validate } from '../../http/validate.ts';
import {
  abandonNotifications,
  brokenField,
  keepsOpen,
  problemOfAgents,
  withoutSlackApp,
} from '../../notifications/index.ts';
import { type Caller, entryHandlers, listPages, resourceOf } from '../../resources/index.ts';
import type { Config } from '../../core/config.ts';
import type { Services } from '../../core/services.ts';
import { type ChannelRow, preferencesOf, presentChannels, toPreferenceColumns } from './store.ts';

type ChannelFields = Omit<z.output<typeof alertChannelRoutes.createAlertChannel.body>, 'config'> & {
  config: unknown;
};
type Values = Readonly<Record<string, unknown>>;
type Subscription = z.output<typeof channelSubscription>;

/** Refuses a check or a group that the account does not have. */
async function checkSubscriber(
  db: Db,
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
  db: Db,
  accountId: string,
  channelId: number,
  subscription: Subscription,
): Promise<void> {
  await checkSubscriber(db, accountId, subscription);
  await writeSubscription(db, accountId, channelId, subscription);
}

/** Refuses what could not be sent later. */
function checkSendable(type: string, config: unknown, before: unknown): void {
  const found = configProblem(config as Values, (before ?? {}) as Values);
  if (found !== null) throw invalidField(found.field, found.problem);
  if (type !== 'WEBHOOK') return;
  const broken = brokenField(config as Parameters<typeof brokenField>[0]);
  if (broken !== null) {
    throw invalidField(`config.${broken.field}`, broken.problem);
  }
}

/** Paging systems close what they opened by its key, and group by themselves. */
function checkGrouping(type: string, grouping: unknown): void {
  if (grouping != null && keepsOpen(type)) {
    throw invalidField('grouping', `is not for ${type}, which groups and closes alerts by itself`);
  }
}

export function alertChannelsOf(services: Services) {
  const { commits, secrets } = services;
  const configOf = (row: ChannelRow): unknown =>
    fromJson(secrets.decryptStored(row.config_json, row.account_id));
  const channels = resourceOf(services, {
    ...({ table: 'alert_channels', noun: 'alert channel', key: 'id', isNumbered: true } as const),
    fieldsOf(row, changes): ChannelFields {
      const config = changes?.config ?? configOf(row);
      return { type: row.type as AlertChannelType, config, ...preferencesOf(row) };
    },
    toColumns({ type, config, ...fields }: ChannelFields, { accountId, changes, before }) {
      if (changes.config !== undefined) checkSendable(type, config, before && configOf(before));
      checkGrouping(type, fields.grouping);
      const config_json = secrets.encrypt(JSON.stringify(config), accountId);
      return { type, config_json, ...toPreferenceColumns(fields) };
    },
    present: (rows, { accountId, role }) => presentChannels(services, accountId, rows, role),
    async saved(unit, { id, account_id: accountId, updated_at: changed }, { subscriptions }) {
      if (subscriptions === undefined) return;
      if (changed !== null) await dropSubscriptionsOf(unit, accountId, id);
      for (const each of subscriptions) await subscribe(unit, accountId, id, each);
    },
    async removing(unit, { account_id: accountId, id }) {
      await services.dropReferences(unit, accountId, 'alert_channels', id);
      await abandonNotifications(unit, accountId, id);
    },
  });
  return {
    ...channels,
    subscribe: (accountId: string, id: number, subscription: Subscription) =>
      commits.run(async (unit) => {
        const row = await channels.get(accountId, id, { unit });
        await subscribe(unit, accountId, id, subscription);
        return row;
      }),
  };
}

export function alertChannelHandlers(
  services: Services,
  settings: Pick<Config, 'SLACK_APP_TOKEN' | 'AGENT_SMTP_URL'>,
): Handlers<typeof alertChannelRoutes> {
  const channels = alertChannelsOf(services);
  const presentOne = async (row: ChannelRow, caller: Caller) => {
    const wire = await channels.presentOne(row, caller);
    const type = row.type as AlertChannelType;
    const isMute = type === 'SLACK_APP' && settings.SLACK_APP_TOKEN === undefined;
    const ofAgents = wire.sentByAgents ? problemOfAgents(type, settings) : null;
    const warnings = [isMute ? withoutSlackApp : null, ofAgents].filter((one) => one !== null);
    return warnings.length > 0 ? { ...wire, warnings } : wire;
  };
  return {
    listAlertChannels: listPages(channels),
    ...entryHandlers('AlertChannel', 'id', { ...channels, presentOne }),

    async updateAlertChannel({ params, body: { config, ...changes } }, { principal, ignored }) {
      const { accountId } = principal;
      const type = (await channels.get(accountId, params.id)).type as AlertChannelType;
      if (changes.type !== undefined && changes.type !== type) {
        throw invalidField('type', `cannot change; it is ${type}`);
      }
      const change: Partial<ChannelFields> = { ...changes };
      if (config !== undefined) {
        checkGrouping(type, changes.grouping);
        const schema = channelConfigs[type];
        change.config = validate(schema, config, 'payload', ['config']);
        ignored.push(...refuseMisspelt(bodyFields(schema, []), config, ['config']));
      }
      return presentOne(await channels.update(accountId, params.id, change), principal);
    },

    subscribeAlertChannel: async ({ params, body }, { principal }) => ({
      ...(await presentOne(
        await channels.subscribe(principal.accountId, params.id, body),
        principal,
      )),
      ...body,
    }),
  };
}
