/**
 * Notifications are written to the outbox in the transaction that causes them. Call
 * `services.outbox.wake()` after the commit.
 */
import { deleteOldest } from '../db/delete-oldest.ts';
import { deleteOwnRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import type { AlertFacts, Mail, NotificationFacts, SubscriberRequest } from './facts.ts';
import { comesNext, lockOrderingKeys } from './outbox-heads.ts';

interface Envelope {
  id: string;
  accountId: string;
  now: number;
  /** The replica whose sender takes it first, because a request there waits for the outcome. */
  forReplica?: string;
  /** What it is sent in order with; by default the check, or the kind of message. */
  orderedWith?: string;
}

/** Other replicas leave it to the one that was asked for this long. */
const reservedMs = 40_000;

/** Adds a message to an alert channel. Alerts of a check are sent to each channel in order. */
export async function enqueueForChannel(
  db: Db,
  channelId: number,
  facts: NotificationFacts,
  { id, accountId, now, forReplica, orderedWith }: Envelope,
): Promise<void> {
  const about = orderedWith ?? (facts.kind === 'alert' ? facts.check.id : facts.kind);
  const orderingKey = facts.kind === 'test' ? null : `${channelId}/${about}`;
  if (orderingKey !== null) await lockOrderingKeys(db, [orderingKey]);
  await db
    .insertInto('outbox')
    .values({
      id,
      account_id: accountId,
      kind: 'CHANNEL',
      alert_channel_id: channelId,
      ordering_key: orderingKey,
      comes_next: comesNext(orderingKey),
      content_json: JSON.stringify(facts),
      attempts: 0,
      next_attempt_at: now,
      created_at: now,
      ...(forReplica === undefined
        ? {}
        : { claimed_by: forReplica, claimed_until: now + reservedMs }),
    })
    .execute();
}

/** A mail or a push to somebody who is no channel, or a request to a subscriber; `id` as in the outbox. */
export type QueuedMessage = {
  id: string;
  /** Those with the same key are sent one after the other: the subscription, or the person. */
  orderingKey: string;
} & (
  { mail: Mail } | { request: SubscriberRequest } | { deviceId: number; facts: NotificationFacts }
);

/** The kind of a row, and what goes into it. */
function rowOf(message: QueuedMessage) {
  if ('mail' in message) return ['MAIL', message.mail] as const;
  return 'request' in message
    ? (['WEBHOOK', message.request] as const)
    : (['PUSH', message.facts] as const);
}

/** Adds messages in one statement. */
export async function enqueueMessages(
  db: Db,
  accountId: string,
  messages: readonly QueuedMessage[],
  now: number,
  forReplica: string | null = null,
): Promise<void> {
  if (messages.length === 0) return;
  await lockOrderingKeys(
    db,
    messages.map(({ orderingKey }) => orderingKey),
  );
  await db
    .insertInto('outbox')
    .values(
      messages.map((message) => {
        const [kind, content] = rowOf(message);
        return {
          ...{ id: message.id, account_id: accountId, kind, alert_channel_id: null },
          device_id: 'deviceId' in message ? message.deviceId : null,
          ordering_key: message.orderingKey,
          comes_next: comesNext(message.orderingKey),
          content_json: JSON.stringify(content),
          ...{ attempts: 0, next_attempt_at: now, created_at: now },
          claimed_by: forReplica,
          claimed_until: forReplica === null ? 0 : now + reservedMs,
        };
      }),
    )
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

/** Deletes what waits for a subscriber. */
export async function dropSubscriberMessages(db: Db, subscriptionId: string): Promise<void> {
  await lockOrderingKeys(db, [subscriptionId]);
  await db.deleteFrom('outbox').where('ordering_key', '=', subscriptionId).execute();
}

interface AlertedChannel {
  id: number;
  type: string;
  /** Encrypted; hidden fields are removed when it is read. */
  configJson: string;
}

/** Adds the record of an alert for one channel to the log. Spec: Alert notification record. */
export async function recordAlert(
  db: Db,
  channel: AlertedChannel,
  facts: AlertFacts,
  { id, accountId, now }: Envelope,
): Promise<void> {
  await db
    .insertInto('alert_notifications')
    .values({
      id,
      account_id: accountId,
      type: channel.type,
      status: 'IN_PROGRESS',
      config_json: channel.configJson,
      result: null,
      sent_at: now,
      check_type: facts.check.type,
      check_id: facts.check.id,
      check_alert_id: facts.alertId,
      alert_channel_id: channel.id,
      check_result_id: facts.result?.id ?? null,
      facts_json: JSON.stringify(facts),
    })
    .execute();
}

/** Facts: alerts about certificates are not in the log. */
export function isRecorded({ alertType }: AlertFacts): boolean {
  return alertType !== 'ALERT_SSL';
}

/** Adds an alert for one channel, with its record in the log. */
export async function enqueueAlert(
  db: Db,
  channel: AlertedChannel,
  facts: AlertFacts,
  envelope: Envelope,
): Promise<void> {
  if (isRecorded(facts)) await recordAlert(db, channel, facts, envelope);
  await enqueueForChannel(db, channel.id, facts, envelope);
}

/** Deletes records of notifications sent before an instant. True when there may be more. */
export const pruneAlertNotifications = (db: Db, before: number, atOnce: number): Promise<boolean> =>
  deleteOldest(db, 'alert_notifications', { column: 'sent_at' }, before, atOnce);

/** Deletes what waits for the subscribers of a page that is about to be deleted. */
export async function dropMessagesOfPage(db: Db, accountId: string, pageId: string): Promise<void> {
  await deleteOwnRows(db, 'outbox', accountId)
    .where('ordering_key', 'in', (from) =>
      from
        .selectFrom('status_page_subscriptions')
        .select('id')
        .where('account_id', '=', accountId)
        .where('status_page_id', '=', pageId),
    )
    .execute();
}
