import { fromJson } from '../db/columns.ts';
import type { Db } from '../db/tables.ts';
import type { WaitingCheck } from './checks-of-location.ts';

/** The channels of these checks, or of their groups, that take failures. */
export async function channelsToNotify(
  db: Db,
  accountId: string,
  checks: readonly WaitingCheck[],
): Promise<number[]> {
  const rows = await db
    .selectFrom('alert_subscriptions')
    .innerJoin('alert_channels', 'alert_channels.id', 'alert_subscriptions.channel_id')
    .select(['alert_channels.id', 'alert_subscriptions.check_id', 'alert_subscriptions.group_id'])
    .where('alert_subscriptions.account_id', '=', accountId)
    .where('alert_subscriptions.activated', '=', 1)
    .where('alert_channels.send_failure', '=', 1)
    .execute();
  const subscribers = new Set<string | number>(
    checks.flatMap(({ id, groupId }) => (groupId === null ? [id] : [id, groupId])),
  );
  const subscribed = rows.filter(({ check_id: checkId, group_id: groupId }) =>
    subscribers.has(checkId ?? groupId ?? ''),
  );
  return [...new Set(subscribed.map(({ id }) => id))].sort((one, other) => one - other);
}

/** The notified channels that take recoveries. */
export async function channelsToRecover(
  db: Db,
  notice: { account_id: string; channels_json: string },
): Promise<number[]> {
  const notified = fromJson<number[]>(notice.channels_json);
  const rows = await db
    .selectFrom('alert_channels')
    .select('id')
    .where('account_id', '=', notice.account_id)
    .where('id', 'in', notified)
    .where('send_recovery', '=', 1)
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}
