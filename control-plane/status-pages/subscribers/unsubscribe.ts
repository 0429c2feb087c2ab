/** Ends subscriptions: pending mails are deleted, and the address too. */
import type { Db, RowOf } from '../../db/tables.ts';
import { deleteOwnRows } from '../../db/own-rows.ts';
import type { Services } from '../../core/services.ts';
import { dropSubscriberMessages } from '../../notifications/index.ts';
import { SubscriberKeys } from './subscriber-keys.ts';

interface Ended {
  accountId: string;
  pageId: string;
  subscriptionId: string;
}

/** False for an unknown subscription. */
export async function endSubscription(
  db: Db,
  { accountId, pageId, subscriptionId }: Ended,
): Promise<boolean> {
  const { numDeletedRows } = await deleteOwnRows(db, 'status_page_subscriptions', accountId)
    .where('status_page_id', '=', pageId)
    .where('id', '=', subscriptionId)
    .executeTakeFirst();
  if (numDeletedRows === 0n) return false;
  await dropSubscriberMessages(db, subscriptionId);
  return true;
}

/**
 * Ends a subscription with the token of any of its mails; doing it twice is fine. Null for an
 * invalid token, or when the page was deleted.
 */
export async function unsubscribe(
  services: Services,
  token: string,
): Promise<{ page: RowOf<'status_pages'> } | null> {
  const read = new SubscriberKeys(services.secrets).readUnsubscribeToken(token);
  if (read === null) return null;
  return services.commits.run(async (db) => {
    const page = await db
      .selectFrom('status_pages')
      .selectAll()
      .where('id', '=', read.pageId)
      .executeTakeFirst();
    if (page === undefined) return null;
    await endSubscription(db, { accountId: page.account_id, ...read });
    // Recorded as well when the owner has removed the subscription before.
    await db
      .insertInto('ended_subscriptions')
      .values({ subscription_id: read.subscriptionId, status_page_id: page.id })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return { page };
  });
}
