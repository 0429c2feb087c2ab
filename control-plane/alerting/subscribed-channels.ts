/** The alert channels of a check, subscribed by itself or by its group; each channel once. */
import { fromFlag, fromJson } from '../db/columns.ts';
import { eachNumberOf } from '../db/expressions.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db } from '../db/tables.ts';
import type { WatchingChannel } from './decide/certificate.ts';
import type { SubscribedChannel } from './decide/channels.ts';
import type { Grouping } from './decide/group-alerts.ts';

export interface AlertChannel extends SubscribedChannel, WatchingChannel {
  configJson: string;
  /** Null when each alert is a notification of its own. */
  grouping: Grouping | null;
}

interface Row {
  id: number;
  type: string;
  config_json: string;
  send_failure: number;
  send_degraded: number;
  send_recovery: number;
  ssl_expiry: number;
  ssl_expiry_threshold: number;
  grouping_json: string | null;
  activated: number;
}

const columns = [
  'alert_channels.id',
  'alert_channels.type',
  'alert_channels.config_json',
  'alert_channels.send_failure',
  'alert_channels.send_degraded',
  'alert_channels.send_recovery',
  'alert_channels.ssl_expiry',
  'alert_channels.ssl_expiry_threshold',
  'alert_channels.grouping_json',
] as const;

function toChannel(row: Row): AlertChannel {
  return {
    id: row.id,
    type: row.type,
    configJson: row.config_json,
    activated: fromFlag(row.activated),
    sendFailure: fromFlag(row.send_failure),
    sendDegraded: fromFlag(row.send_degraded),
    sendRecovery: fromFlag(row.send_recovery),
    sslExpiry: fromFlag(row.ssl_expiry),
    sslExpiryThreshold: row.ssl_expiry_threshold,
    grouping: row.grouping_json === null ? null : fromJson<Grouping>(row.grouping_json),
  };
}

const channelsOf = prepareQuery<{ accountId: string; checkId: string; groupId: number }, Row>(
  (db, argument) =>
    db
      .selectFrom('alert_subscriptions')
      .innerJoin('alert_channels', 'alert_channels.id', 'alert_subscriptions.channel_id')
      .select(columns)
      .select((select) => select.fn.max('alert_subscriptions.activated').as('activated'))
      .where('alert_subscriptions.account_id', '=', argument('accountId'))
      .where((where) =>
        where.or([
          where('alert_subscriptions.check_id', '=', argument('checkId')),
          where('alert_subscriptions.group_id', '=', argument('groupId')),
        ]),
      )
      .groupBy('alert_channels.id')
      .orderBy('alert_channels.id'),
);

/** An id that no group has. */
const noGroup = -1;

export async function subscribedChannels(
  db: Db,
  check: { account_id: string; id: string; group_id: number | null },
): Promise<AlertChannel[]> {
  const rows = await channelsOf.run(db, {
    accountId: check.account_id,
    checkId: check.id,
    groupId: check.group_id ?? noGroup,
  });
  return rows.map(toChannel);
}

/** These channels of an account, as far as they exist, whatever they subscribe to. */
export async function channelsById(
  db: Db,
  accountId: string,
  ids: readonly number[],
): Promise<AlertChannel[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('alert_channels')
    .select(columns)
    .where('account_id', '=', accountId)
    .where('id', 'in', eachNumberOf(ids))
    .orderBy('id')
    .execute();
  return rows.map((row) => toChannel({ ...row, activated: 1 }));
}
