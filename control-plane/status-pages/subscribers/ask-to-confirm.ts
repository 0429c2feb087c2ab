/** Mails and requests that ask for confirmation (double opt-in). */
import { randomBytes } from 'node:crypto';
import { toFlag } from '../../db/columns.ts';
import { updateOwnRows } from '../../db/own-rows.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import { addressCountMs, mayAskAgain, requestsKeptMs } from '../decide/subscription-limits.ts';
import { sha256Hex } from '../../core/keys.ts';
import { dropSubscriberMessages, enqueueMessages } from '../../notifications/index.ts';
import type { Services } from '../../core/services.ts';
import { localeOfPage } from '../languages/locale.ts';
import { localeFieldsOf } from '../read-page.ts';
import { addressOf, unsubscribeLink, verifyLink } from './links.ts';
import type { SubscriberKeys } from './subscriber-keys.ts';
import { confirmationBody } from './subscriber-request.ts';
import { verificationMail } from './verification-mail.ts';

export interface ChosenService {
  id: string;
  name: string;
}

export interface Asked {
  page: RowOf<'status_pages'>;
  subscription: Pick<
    RowOf<'status_page_subscriptions'>,
    'id' | 'type' | 'address' | 'status' | 'token_sent_at' | 'services_json'
  >;
  /** Services that it shall be limited to; none for all of them. */
  services: readonly ChosenService[];
  /** Hash of the visitor's address; null for the API. */
  visitorHash: string | null;
}

/**
 * Sends a mail or a request that asks for confirmation, unless the subscription is confirmed with these services
 * or the address got too many of them. A webhook that is confirmed is asked again for a new secret. The request is recorded in any case, so that the response time reveals
 * nothing. The subscription is locked. Call `services.outbox.wake()` after the commit.
 */
export async function askToConfirm(
  services: Services,
  db: Db,
  keys: SubscriberKeys,
  { page, subscription, services: chosen, visitorHash }: Asked,
): Promise<void> {
  const now = services.clock.now();
  const isWebhook = subscription.type === 'WEBHOOK';
  const addressHash = isWebhook
    ? keys.hostHash(subscription.address)
    : keys.addressHash(subscription.address);
  const { mailsToday } = await db
    .selectFrom('subscription_requests')
    .select((select) => select.fn.countAll<number>().as('mailsToday'))
    .where('address_hash', '=', addressHash)
    .where('has_mail', '=', 1)
    .where('requested_at', '>', now - addressCountMs)
    .executeTakeFirstOrThrow();
  const isPending = subscription.status === 'PENDING';
  const servicesJson = JSON.stringify(chosen.map(({ id }) => id).toSorted());
  const asks =
    (isPending || isWebhook || servicesJson !== subscription.services_json) &&
    // The requests to a host were counted before.
    mayAskAgain(
      { lastAt: subscription.token_sent_at, mailsToday: isWebhook ? 0 : mailsToday },
      now,
    );
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
  await updateOwnRows(db, 'status_page_subscriptions', page.account_id)
    .set({
      token_hash: sha256Hex(token),
      token_sent_at: now,
      // The choice of the newest mail, which names it: a stranger who asks for this address changes
      // nothing that its owner has not read.
      ...(isPending ? { services_json: servicesJson } : { asked_services_json: servicesJson }),
    })
    .where('id', '=', subscription.id)
    .execute();
  // The link of an earlier mail is no longer valid. Confirmed subscribers may have other mails waiting.
  if (isPending) await dropSubscriberMessages(db, subscription.id);
  const address = addressOf(page, services.publicUrl);
  const link = verifyLink(address, token);
  const content = isWebhook
    ? {
        request: {
          subscriptionId: subscription.id,
          body: confirmationBody({
            at: now,
            page: { name: page.name, address },
            services: chosen,
            unsubscribeLink: unsubscribeLink(
              address,
              keys.unsubscribeToken(page.id, subscription.id),
            ),
            confirmLink: link,
          }),
        },
      }
    : {
        mail: verificationMail({
          to: subscription.address,
          locale: localeOfPage(localeFieldsOf(page)),
          page: { name: page.name, address },
          services: chosen.map(({ name }) => name),
          isChange: !isPending,
          link,
        }),
      };
  const envelope = { id: services.newId(), orderingKey: subscription.id, ...content };
  await enqueueMessages(db, page.account_id, [envelope], now);
}
