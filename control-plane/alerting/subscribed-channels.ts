/** The alert channels of a check, subscribed by itself or by its group; each channel once. */
import type { Kysely } from 'kysely';
import { fromFlag } from '../db/columns.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Database } from '../db/tables.ts';
import type { WatchingChannel } from './decide/certificate.ts';
import type { SubscribedChannel } from './decide/channels.ts';

export interface AlertChannel extends SubscribedChannel, WatchingChannel {
  configJson: string;
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
  activated: number;
}

const channelsOf = prepareQuery<{ accountId: string; checkId: string; groupId: number }, Row>(
  (db, argument) =>
    db
      .selectFrom('alert_subscriptions')
      .innerJoin('alert_channels', 'alert_channels.id', 'alert_subscriptions.channel_id')
      .select([
        'alert_channels.id',
        'alert_channels.type',
        'alert_channels.config_json',
        'alert_channels.send_failure',
        'alert_channels.send_degraded',
        'alert_channels.send_recovery',
        'alert_channels.ssl_expiry',
        'alert_channels.ssl_expiry_threshold',
      ])
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
  db: Kysely<Database>,
  check: { account_id: string; id: string; group_id: number | null },
): Promise<AlertChannel[]> {
  const rows = await channelsOf.run(db, {
    accountId: check.account_id,
    checkId: check.id,
    groupId: check.group_id ?? noGroup,
  });
  return rows.map((row) => ({
    id: row.id,
    type: row.type,
    configJson: row.config_json,
    activated: fromFlag(row.activated),
    sendFailure: fromFlag(row.send_failure),
    sendDegraded: fromFlag(row.send_degraded),
    sendRecovery: fromFlag(row.send_recovery),
    sslExpiry: fromFlag(row.ssl_expiry),
    sslExpiryThreshold: row.ssl_expiry_threshold,
  }));
}
