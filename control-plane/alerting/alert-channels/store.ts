/** Alert channels: rows ↔ wire. */
import type { z } from 'zod';
import type {
  alertChannel,
  AlertChannelType,
  alertGrouping,
} from '@monitor/shared/contract/alert-channel.ts';
import type { Role } from '@monitor/shared/contract/route.ts';
import { fromFlag, fromJson, stampsOf, toFlag } from '../../db/columns.ts';
import { ownRows } from '../../db/own-rows.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import { presentChannelConfig } from '../../core/decide/hidden-values.ts';
import type { SecretCipher } from '../../core/secret-cipher.ts';
import type { Services } from '../../core/services.ts';

export type ChannelRow = RowOf<'alert_channels'>;
type SubscriptionRow = RowOf<'alert_subscriptions'>;
type Wire = z.input<typeof alertChannel>;

export interface ChannelPreferences {
  sendRecovery: boolean;
  sendFailure: boolean;
  sendDegraded: boolean;
  sslExpiry: boolean;
  sslExpiryThreshold: number;
  autoSubscribe: boolean;
  grouping: z.output<typeof alertGrouping> | null;
  timezone: string | null;
  sentByAgents: boolean;
}

export function toPreferenceColumns(preferences: ChannelPreferences) {
  return {
    send_recovery: toFlag(preferences.sendRecovery),
    send_failure: toFlag(preferences.sendFailure),
    send_degraded: toFlag(preferences.sendDegraded),
    ssl_expiry: toFlag(preferences.sslExpiry),
    ssl_expiry_threshold: preferences.sslExpiryThreshold,
    auto_subscribe: toFlag(preferences.autoSubscribe),
    grouping_json: preferences.grouping === null ? null : JSON.stringify(preferences.grouping),
    timezone: preferences.timezone,
    sent_by_agents: toFlag(preferences.sentByAgents),
  };
}

export function preferencesOf(row: ChannelRow): ChannelPreferences {
  return {
    sendRecovery: fromFlag(row.send_recovery),
    sendFailure: fromFlag(row.send_failure),
    sendDegraded: fromFlag(row.send_degraded),
    sslExpiry: fromFlag(row.ssl_expiry),
    sslExpiryThreshold: row.ssl_expiry_threshold,
    autoSubscribe: fromFlag(row.auto_subscribe),
    grouping: row.grouping_json === null ? null : fromJson(row.grouping_json),
    timezone: row.timezone,
    sentByAgents: fromFlag(row.sent_by_agents),
  };
}

function toWire(
  row: ChannelRow,
  subscriptions: readonly SubscriptionRow[],
  role: Role,
  secrets: SecretCipher,
): Wire {
  const config = fromJson(secrets.decryptStored(row.config_json, row.account_id));
  return {
    id: row.id,
    type: row.type as AlertChannelType,
    config: presentChannelConfig(config, role),
    ...preferencesOf(row),
    subscriptions: subscriptions.map((each) => ({
      id: each.id,
      checkId: each.check_id,
      groupId: each.group_id,
      activated: fromFlag(each.activated),
    })),
    ...stampsOf(row),
  };
}

/** Channels with their subscriptions, in the given order. */
export async function presentChannels(
  { db, secrets }: Pick<Services, 'db' | 'secrets'>,
  accountId: string,
  rows: readonly ChannelRow[],
  role: Role,
): Promise<Wire[]> {
  if (rows.length === 0) return [];
  const subscriptions = await ownRows(db, 'alert_subscriptions', accountId)
    .where(
      'channel_id',
      'in',
      rows.map(({ id }) => id),
    )
    .orderBy('id')
    .execute();
  const byChannel = Map.groupBy(subscriptions, (each) => each.channel_id);
  return rows.map((row) => toWire(row, byChannel.get(row.id) ?? [], role, secrets));
}

export async function findChannel(
  db: Db,
  accountId: string,
  id: number,
): Promise<ChannelRow | undefined> {
  return ownRows(db, 'alert_channels', accountId).where('id', '=', id).executeTakeFirst();
}
