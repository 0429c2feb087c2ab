/** Ending subscriptions. What was not sent yet is taken back, and the address is forgotten. */
import type { Kysely, Selectable } from 'kysely';
import type { Database } from '../../db/tables.ts';
import type { StatusPagesTable } from '../tables.ts';
import type { Services } from '../../core/services.ts';
import { dropSubscriberMails } from '../../notifications/index.ts';
import { SubscriberKeys } from './subscriber-keys.ts';

interface Ended {
  accountId: string;
  pageId: string;
  subscriptionId: string;
}

/** False when there is no such subscription. */
export async function endSubscription(
  db: Kysely<Database>,
  { accountId, pageId, subscriptionId }: Ended,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('status_page_subscriptions')
    .where('account_id', '=', accountId)
    .where('status_page_id', '=', pageId)
    .where('id', '=', subscriptionId)
    .executeTakeFirst();
  if (numDeletedRows === 0n) return false;
  await dropSubscriberMails(db, subscriptionId);
  return true;
}

/**
 * Ends a subscription with the token of any mail that it ever got. Saying it twice is fine. Null for a
 * token that this installation has not made, or whose page is gone.
 */
export async function unsubscribe(
  services: Services,
  token: string,
): Promise<{ page: Selectable<StatusPagesTable> } | null> {
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
    return { page };
  });
}
