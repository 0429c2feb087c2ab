import type { Selectable } from 'kysely';
import type { StatusPagesTable } from '../tables.ts';
import { isTokenValid } from '../decide/subscription-limits.ts';
import { sha256Hex } from '../../core/keys.ts';
import type { Services } from '../../core/services.ts';

/**
 * Confirms a subscription with the token of the confirmation mail; doing it twice is fine. Null for
 * a token that is unknown, older than a day, or replaced by a newer mail.
 */
export async function verify(
  services: Services,
  token: string,
): Promise<{ page: Selectable<StatusPagesTable>; address: string } | null> {
  const { clock, commits } = services;
  return commits.run(async (db) => {
    const subscription = await db
      .selectFrom('status_page_subscriptions')
      .selectAll()
      .where('token_hash', '=', sha256Hex(token))
      .executeTakeFirst();
    if (subscription === undefined) return null;
    const now = clock.now();
    if (subscription.status === 'PENDING') {
      if (!isTokenValid(subscription.token_sent_at, now)) return null;
      await db
        .updateTable('status_page_subscriptions')
        .set({ status: 'VERIFIED', updated_at: now })
        .where('account_id', '=', subscription.account_id)
        .where('id', '=', subscription.id)
        .execute();
    }
    const page = await db
      .selectFrom('status_pages')
      .selectAll()
      .where('account_id', '=', subscription.account_id)
      .where('id', '=', subscription.status_page_id)
      .executeTakeFirstOrThrow();
    return { page, address: subscription.address };
  });
}
