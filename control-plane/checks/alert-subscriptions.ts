/** Subscriptions of checks and groups to alert channels. */
import type { z } from 'zod';
import type { alertChannels } from '@monitor/shared/contract/check.ts';
import { invalidField } from '../errors/api-error.ts';
import { fromFlag, fromJson, toFlag } from '../db/columns.ts';
import { deleteOwnRows } from '../db/own-rows.ts';
import { eachTextIn } from '../db/expressions.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db } from '../db/tables.ts';
import type { Services } from '../core/services.ts';

export interface Subscription {
  alertChannelId: number;
  activated: boolean;
}

/** The subscriber: one check or one group. */
export type Subscriber = { checkId: string } | { groupId: number };

const channelsOfAccount = prepareQuery<{ accountId: string }, { id: number }>((db, argument) =>
  db.selectFrom('alert_channels').select('id').where('account_id', '=', argument('accountId')),
);

/** Refuses channels that the account does not have. */
export async function checkChannels(
  db: Db,
  accountId: string,
  subscriptions: readonly Subscription[],
): Promise<void> {
  if (subscriptions.length === 0) return;
  const known = await channelsOfAccount.run(db, { accountId });
  const ids = new Set(known.map(({ id }) => id));
  const unknown = subscriptions.find(({ alertChannelId }) => !ids.has(alertChannelId));
  if (unknown !== undefined) {
    throw invalidField(
      'alertChannelSubscriptions',
      `has no alert channel ${unknown.alertChannelId}`,
    );
  }
}

/**
 * The subscriptions of a new check or group: the requested ones, else all channels unless that was
 * switched off. A client that names its subscriptions must read just those. Spec: Endpoints,
 * `autoAssignAlerts`.
 */
export async function initialSubscriptions(
  db: Db,
  accountId: string,
  asked: readonly Subscription[],
  autoAssignAlerts: boolean,
): Promise<readonly Subscription[]> {
  if (asked.length > 0 || !autoAssignAlerts) return asked;
  const channels = await channelsOfAccount.run(db, { accountId });
  return channels.map(({ id }) => ({ alertChannelId: id, activated: true }));
}

const subscribe = prepareQuery<{ accountId: string; checkId: string }>((db, argument) =>
  db
    .insertInto('alert_subscriptions')
    .columns(['account_id', 'channel_id', 'check_id', 'activated'])
    .expression((channels) =>
      channels
        .selectFrom('alert_channels')
        .select(({ ref, cast, val, lit }) => [
          ref('account_id').as('account_id'),
          ref('id').as('channel_id'),
          cast<string>(val(argument('checkId')), 'text').as('check_id'),
          lit(1).as('activated'),
        ])
        .where('account_id', '=', argument('accountId'))
        .orderBy('id'),
    ),
);

/** Subscribes a new check to all channels. */
export async function subscribeToAll(db: Db, accountId: string, checkId: string): Promise<void> {
  await subscribe.run(db, { accountId, checkId });
}

/** Replaces the subscriptions of one check or group. */
export async function writeSubscriptions(
  db: Db,
  accountId: string,
  subscriber: Subscriber,
  subscriptions: readonly Subscription[],
  isNew = false,
): Promise<void> {
  const isCheck = 'checkId' in subscriber;
  if (!isNew) {
    await deleteOwnRows(db, 'alert_subscriptions', accountId)
      .where(
        isCheck ? 'check_id' : 'group_id',
        '=',
        isCheck ? subscriber.checkId : subscriber.groupId,
      )
      .execute();
  }
  const last = new Map(subscriptions.map((each) => [each.alertChannelId, each]));
  if (last.size === 0) return;
  await db
    .insertInto('alert_subscriptions')
    .values(
      [...last.values()].map(({ alertChannelId, activated }) => ({
        account_id: accountId,
        channel_id: alertChannelId,
        check_id: isCheck ? subscriber.checkId : null,
        group_id: isCheck ? null : subscriber.groupId,
        activated: toFlag(activated),
      })),
    )
    .execute();
}

/** The subscriptions of groups, by group. */
export async function subscriptionsOfGroups(
  db: Db,
  accountId: string,
  groupIds: readonly number[],
): Promise<Map<number, Subscription[]>> {
  const found = new Map<number, Subscription[]>(groupIds.map((id) => [id, []]));
  if (groupIds.length === 0) return found;
  const rows = await db
    .selectFrom('alert_subscriptions')
    .select(['group_id', 'channel_id', 'activated'])
    .where('account_id', '=', accountId)
    .where('group_id', 'in', groupIds)
    .orderBy('id')
    .execute();
  for (const { group_id: groupId, channel_id: alertChannelId, activated } of rows) {
    if (groupId !== null) {
      found.get(groupId)?.push({ alertChannelId, activated: fromFlag(activated) });
    }
  }
  return found;
}

type AlertChannels = z.input<typeof alertChannels>;

export interface SubscribedChannels {
  subscriptions: Subscription[];
  /** Spec: alertChannels object. */
  alertChannels: AlertChannels;
}

interface ChannelRow {
  type: string;
  config_json: string;
}

type Present = (into: AlertChannels, config: never) => void;

/** How the `alertChannels` of a check shows channels of each type; other types are not shown. */
const presenters: Readonly<Record<string, Present>> = {
  EMAIL: (into, { address }: AlertChannels['email'][number]) => void into.email.push({ address }),
  SLACK: (into, { url }: AlertChannels['slack'][number]) => void into.slack.push({ url }),
  SMS: (into, { number, name }: AlertChannels['sms'][number]) =>
    void into.sms.push({ number, name }),
  WEBHOOK: (
    into,
    { url, name, method, headers, queryParameters }: AlertChannels['webhook'][number],
  ) => void into.webhook.push({ url, name, method, headers, queryParameters }),
};

function nothing(): SubscribedChannels {
  return { subscriptions: [], alertChannels: { email: [], webhook: [], slack: [], sms: [] } };
}

const subscribedChannels = prepareQuery<
  { accountId: string; checkIds: string },
  ChannelRow & { check_id: string | null; channel_id: number; activated: number }
>((db, argument) =>
  db
    .selectFrom('alert_subscriptions')
    .innerJoin('alert_channels', 'alert_channels.id', 'alert_subscriptions.channel_id')
    .select([
      'alert_subscriptions.check_id',
      'alert_subscriptions.channel_id',
      'alert_subscriptions.activated',
      'alert_channels.type',
      'alert_channels.config_json',
    ])
    .where('alert_subscriptions.account_id', '=', argument('accountId'))
    .where('alert_subscriptions.check_id', 'in', eachTextIn(argument('checkIds')))
    .orderBy('alert_subscriptions.id'),
);

/** The subscriptions of checks and their channels, by check. */
export async function channelsOfChecks(
  { db, secrets }: Pick<Services, 'db' | 'secrets'>,
  accountId: string,
  checkIds: readonly string[],
): Promise<Map<string, SubscribedChannels>> {
  const found = new Map(checkIds.map((checkId) => [checkId, nothing()]));
  const rows = await subscribedChannels.run(db, { accountId, checkIds: JSON.stringify(checkIds) });
  for (const row of rows) {
    const channels = found.get(row.check_id ?? '');
    if (channels === undefined) continue;
    const activated = fromFlag(row.activated);
    channels.subscriptions.push({ alertChannelId: row.channel_id, activated });
    if (!activated) continue;
    const config = fromJson(secrets.decryptStored(row.config_json, accountId));
    presenters[row.type]?.(channels.alertChannels, config as never);
  }
  return found;
}

/** Ends the subscription of one check or group to a channel. */
export async function dropSubscription(
  db: Db,
  accountId: string,
  {
    channelId,
    checkId,
    groupId,
  }: { channelId: number; checkId: string | null; groupId: number | null },
): Promise<void> {
  await deleteOwnRows(db, 'alert_subscriptions', accountId)
    .where('channel_id', '=', channelId)
    .where(checkId === null ? 'group_id' : 'check_id', '=', checkId ?? groupId)
    .execute();
}

/** Writes the subscription of one check or group to a channel; an earlier one is replaced. */
export async function writeSubscription(
  db: Db,
  accountId: string,
  channelId: number,
  {
    checkId,
    groupId,
    activated,
  }: { checkId: string | null; groupId: number | null; activated: boolean },
): Promise<void> {
  await dropSubscription(db, accountId, { channelId, checkId, groupId });
  await db
    .insertInto('alert_subscriptions')
    .values({
      account_id: accountId,
      channel_id: channelId,
      check_id: checkId,
      group_id: groupId,
      activated: toFlag(activated),
    })
    .execute();
}

/** Deletes the subscriptions to a channel. */
export async function dropSubscriptionsOf(
  db: Db,
  accountId: string,
  channelId: number,
): Promise<void> {
  await deleteOwnRows(db, 'alert_subscriptions', accountId)
    .where('channel_id', '=', channelId)
    .execute();
}
