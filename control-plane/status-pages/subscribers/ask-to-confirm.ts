/** Confirmation mails (double opt-in). */
import { randomBytes } from 'node:crypto';
import type { Kysely, Selectable } from 'kysely';
import { toFlag } from '../../db/columns.ts';
import type { Database } from '../../db/tables.ts';
import type { StatusPagesTable } from '../tables.ts';
import { addressCountMs, mayAskAgain, requestsKeptMs } from '../decide/subscription-limits.ts';
import { sha256Hex } from '../../core/keys.ts';
import { dropSubscriberMails, enqueueMails } from '../../notifications/index.ts';
import type { Services } from '../../core/services.ts';
import { localeOfPage } from '../languages/locale.ts';
import { localeFieldsOf } from '../read-page.ts';
import { addressOf, verifyLink } from './links.ts';
import type { SubscriberKeys } from './subscriber-keys.ts';
import { verificationMail } from './verification-mail.ts';

export interface Asked {
  page: Selectable<StatusPagesTable>;
  subscription: { id: string; address: string; status: string; lastAskedAt: number | null };
  /** Hash of the visitor's address; null for the API. */
  visitorHash: string | null;
}

/**
 * Sends a confirmation mail, unless the subscription is confirmed or the address got too many of
 * these mails. The request is recorded in any case, so that the response time reveals nothing. Call
 * `services.outbox.wake()` after the commit.
 */
export async function askToConfirm(
  services: Services,
  db: Kysely<Database>,
  keys: SubscriberKeys,
  { page, subscription, visitorHash }: Asked,
): Promise<void> {
  const now = services.clock.now();
  const addressHash = keys.addressHash(subscription.address);
  const { mailsToday } = await db
    .selectFrom('subscription_requests')
    .select((select) => select.fn.countAll<number>().as('mailsToday'))
    .where('address_hash', '=', addressHash)
    .where('has_mail', '=', 1)
    .where('requested_at', '>', now - addressCountMs)
    .executeTakeFirstOrThrow();
  const asks =
    subscription.status === 'PENDING' &&
    mayAskAgain({ lastAt: subscription.lastAskedAt, mailsToday }, now);
  await db
    .deleteFrom('subscription_requests')
    .where('requested_at', '<=', now - requestsKeptMs)
    .execute();
  await db
    .insertInto('subscription_requests')
    .values({
      status_page_id: page.id,
      address_hash: addressHash,
      visitor_hash: visitorHash,
      has_mail: toFlag(asks),
      requested_at: now,
    })
    .execute();
  if (!asks) return;

  const token = randomBytes(32).toString('base64url');
  await db
    .updateTable('status_page_subscriptions')
    .set({ token_hash: sha256Hex(token), token_sent_at: now })
    .where('account_id', '=', page.account_id)
    .where('id', '=', subscription.id)
    .execute();
  // Invalidates the link of an earlier mail.
  await dropSubscriberMails(db, subscription.id);
  const address = addressOf(page, services.publicUrl);
  const mail = verificationMail({
    to: subscription.address,
    locale: localeOfPage(localeFieldsOf(page)),
    page: { name: page.name, address },
    link: verifyLink(address, token),
  });
  const envelope = { id: services.newId(), orderingKey: subscription.id, mail };
  await enqueueMails(db, page.account_id, [envelope], now);
}
