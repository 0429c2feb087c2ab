import type { RowOf } from '../../db/tables.ts';
import { randomBytes } from 'node:crypto';
import { isTokenValid } from '../decide/subscription-limits.ts';
import { sha256Hex } from '../../core/keys.ts';
import { fromJson } from '../../db/columns.ts';
import { ownRows, updateOwnRows } from '../../db/own-rows.ts';
import { lockKeys, lockRows } from '../../db/lock.ts';
import type { Services } from '../../core/services.ts';
import { isFull } from './subscribe.ts';

interface Confirmed {
  page: RowOf<'status_pages'>;
  address: string;
  /** The page takes no more webhooks: it is not confirmed. */
  isRefused: boolean;
  /** Of a webhook that was confirmed just now; it is shown this once. */
  secret: string | null;
  /** Services that it is limited to; none for all of them. */
  serviceIds: string[];
}

/**
 * Confirms a subscription, or other services of one, with the token of the confirmation mail; doing it twice is fine. Null for
 * a token that is unknown, older than a day, or replaced by a newer mail or request.
 */
export async function verify(services: Services, token: string): Promise<Confirmed | null> {
  const { clock, commits, secrets } = services;
  return commits.run(async (db) => {
    const subscription = await lockRows(
      db
        .selectFrom('status_page_subscriptions')
        .selectAll()
        .where('token_hash', '=', sha256Hex(token)),
    ).executeTakeFirst();
    if (subscription === undefined) return null;
    const now = clock.now();
    const services = subscription.asked_services_json ?? subscription.services_json;
    const { account_id: accountId, status_page_id: pageId, type } = subscription;
    let secret: string | null = null;
    let isRefused = false;
    if (subscription.status === 'PENDING' || subscription.asked_services_json !== null) {
      if (!isTokenValid(subscription.token_sent_at, now)) return null;
      if (type === 'WEBHOOK') {
        await lockKeys(db, [`webhooks of ${pageId}`]);
        isRefused = subscription.status === 'PENDING' && (await isFull(db, pageId));
        secret = isRefused ? null : `whsec_${randomBytes(32).toString('base64')}`;
      }
      const ofWebhook =
        secret === null ? {} : { secret: secrets.encrypt(secret, accountId), failing_since: null };
      if (!isRefused) {
        await updateOwnRows(db, 'status_page_subscriptions', accountId)
          .set({
            status: 'VERIFIED',
            services_json: services,
            asked_services_json: null,
            ...ofWebhook,
            updated_at: now,
          })
          .where('id', '=', subscription.id)
          .execute();
        await db
          .deleteFrom('ended_subscriptions')
          .where('subscription_id', '=', subscription.id)
          .execute();
      }
    }
    const page = await ownRows(db, 'status_pages', accountId)
      .where('id', '=', pageId)
      .executeTakeFirstOrThrow();
    const { address } = subscription;
    return { page, address, isRefused, secret, serviceIds: fromJson<string[]>(services) };
  });
}
