import type { WebhookConsumer } from '../../notifications/index.ts';
import { webhookFailsMs } from '../decide/subscription-limits.ts';
import { endSubscription } from './unsubscribe.ts';
import { updateOwnRows } from '../../db/own-rows.ts';

/** Ends a webhook to which nothing could be delivered for days. */
export const noteWebhook: WebhookConsumer = async (
  db,
  { accountId, subscriptionId, isDelivered, now },
) => {
  const subscription = await db
    .selectFrom('status_page_subscriptions')
    .select(['status_page_id', 'failing_since'])
    .where('account_id', '=', accountId)
    .where('id', '=', subscriptionId)
    .executeTakeFirst();
  if (subscription === undefined) return;
  const { status_page_id: pageId, failing_since: since } = subscription;
  if (!isDelivered && since !== null && now - since >= webhookFailsMs) {
    await endSubscription(db, { accountId, pageId, subscriptionId });
    return;
  }
  const failingSince = isDelivered ? null : (since ?? now);
  if (failingSince === since) return;
  await updateOwnRows(db, 'status_page_subscriptions', accountId)
    .set({ failing_since: failingSince })
    .where('id', '=', subscriptionId)
    .execute();
};
