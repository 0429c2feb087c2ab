/** Subscriptions by visitors and by owners of a page. */
import { emailAddress } from '@monitor/shared/contract/status-page.ts';
import { eachOf } from '../../db/expressions.ts';
import { lockKeys, lockRows } from '../../db/lock.ts';
import { deleteOwnRows } from '../../db/own-rows.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import {
  addressCountMs,
  hostMustWait,
  mustWait,
  requestsCountMs,
  webhooksOfPage,
} from '../decide/subscription-limits.ts';
import type { Services } from '../../core/services.ts';
import { askToConfirm, type ChosenService } from './ask-to-confirm.ts';
import { SubscriberKeys } from './subscriber-keys.ts';
import { webhookAddress } from './webhook-address.ts';

/**
 * SENT does not depend on whether the address is subscribed, so that it reveals nothing. TOO_MANY:
 * the visitor, or all visitors of the page together, reached the hourly limit, or the host of a webhook that of
 * a day. FULL: the page takes no more webhooks.
 */
export type SubscribeOutcome = 'SENT' | 'INVALID_ADDRESS' | 'TOO_MANY' | 'FULL';

export interface SubscribeRequest {
  pageId: string;
  type: RowOf<'status_page_subscriptions'>['type'];
  address: string;
  /** Services of the page that the visitor chose; none for all of them. */
  services: readonly ChosenService[];
  /** Network address of the visitor. */
  visitor: string;
}

function readAddress({ type, address }: SubscribeRequest): string | null {
  if (type === 'WEBHOOK') return webhookAddress(address);
  return emailAddress.safeParse(address.trim().toLowerCase()).data ?? null;
}

/** True when no further webhook of the page may be confirmed. */
export async function isFull(db: Db, pageId: string): Promise<boolean> {
  const { count } = await db
    .selectFrom('status_page_subscriptions')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('status_page_id', '=', pageId)
    .where('type', '=', 'WEBHOOK')
    .where('status', '=', 'VERIFIED')
    .executeTakeFirstOrThrow();
  return count >= webhooksOfPage;
}

async function countRequests(
  db: Db,
  column: 'status_page_id' | 'visitor_hash' | 'address_hash',
  value: string,
  since: number,
): Promise<number> {
  const { count } = await db
    .selectFrom('subscription_requests')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where(column, '=', value)
    .where('visitor_hash', 'is not', null)
    .where('requested_at', '>', since)
    .executeTakeFirstOrThrow();
  return count;
}

/** Whatever limits count requests: pages, visitors and addresses, the last two in the installation. */
function lockLimits(db: Db, counted: readonly string[]): Promise<void> {
  return lockKeys(
    db,
    counted.map((value) => `subscription requests of ${value}`),
  );
}

/** Subscribes a visitor; mails are sent after the address is confirmed. */
export async function subscribe(
  services: Services,
  request: SubscribeRequest,
): Promise<SubscribeOutcome> {
  const { clock, commits, secrets, outbox } = services;
  const { pageId, type, services: chosen, visitor } = request;
  const address = readAddress(request);
  if (address === null) return 'INVALID_ADDRESS';
  const keys = new SubscriberKeys(secrets);
  const visitorHash = keys.visitorHash(visitor);
  const outcome = await commits.run(async (db): Promise<SubscribeOutcome> => {
    const now = clock.now();
    const page = await db
      .selectFrom('status_pages')
      .selectAll()
      .where('id', '=', pageId)
      .executeTakeFirst();
    if (page === undefined) return 'SENT';
    const isWebhook = type === 'WEBHOOK';
    const addressHash = isWebhook ? keys.hostHash(address) : keys.addressHash(address);
    await lockLimits(db, [pageId, visitorHash, addressHash]);
    const since = now - requestsCountMs;
    const recent = {
      ofPage: await countRequests(db, 'status_page_id', pageId, since),
      ofVisitor: await countRequests(db, 'visitor_hash', visitorHash, since),
    };
    if (mustWait(recent)) return 'TOO_MANY';
    if (isWebhook) {
      const today = await countRequests(db, 'address_hash', addressHash, now - addressCountMs);
      if (hostMustWait(today)) return 'TOO_MANY';
      if (await isFull(db, pageId)) return 'FULL';
    }
    const added = { type, addresses: [address], status: 'PENDING' as const, now };
    await insertSubscriptions(db, keys, page, added);
    const subscription = await lockRows(
      db
        .selectFrom('status_page_subscriptions')
        .select(['id', 'type', 'address', 'status', 'token_sent_at', 'services_json'])
        .where('account_id', '=', page.account_id)
        .where('status_page_id', '=', page.id)
        .where('address', '=', address),
    ).executeTakeFirstOrThrow();
    await askToConfirm(services, db, keys, { page, subscription, services: chosen, visitorHash });
    return 'SENT';
  });
  outbox.wake();
  return outcome;
}

interface NewSubscriptions {
  type: RowOf<'status_page_subscriptions'>['type'];
  addresses: readonly string[];
  status: 'PENDING' | 'VERIFIED';
  now: number;
}

/** Gives the new subscriptions. */
function insertSubscriptions(
  db: Db,
  keys: SubscriberKeys,
  page: RowOf<'status_pages'>,
  { type, addresses, status, now }: NewSubscriptions,
) {
  return db
    .insertInto('status_page_subscriptions')
    .values(
      addresses.map((address) => ({
        id: keys.subscriptionId(page.id, address),
        account_id: page.account_id,
        status_page_id: page.id,
        type,
        address,
        status,
        token_hash: null,
        token_sent_at: null,
        created_at: now,
        updated_at: now,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning(['id', 'type', 'address', 'status', 'token_sent_at', 'services_json'])
    .execute();
}

/**
 * Subscribes addresses for the owner of a page; with `autoVerify` without confirmation, but for those who have
 * unsubscribed by themselves. Gives the number of new subscriptions. Call `services.outbox.wake()` after the commit.
 */
export async function subscribeAll(
  services: Services,
  db: Db,
  page: RowOf<'status_pages'>,
  { addresses, autoVerify }: { addresses: readonly string[]; autoVerify: boolean },
): Promise<number> {
  const keys = new SubscriberKeys(services.secrets);
  if (!autoVerify) {
    await lockLimits(
      db,
      addresses.map((address) => keys.addressHash(address.toLowerCase())),
    );
  }
  const created = await insertSubscriptions(db, keys, page, {
    type: 'EMAIL',
    addresses: addresses.map((address) => address.toLowerCase()),
    status: autoVerify ? 'VERIFIED' : 'PENDING',
    now: services.clock.now(),
  });
  if (autoVerify) {
    // The insert waits for a concurrent unsubscription to commit, so this statement sees it.
    const { numDeletedRows } = await deleteOwnRows(db, 'status_page_subscriptions', page.account_id)
      .where('id', 'in', eachOf(created.map(({ id }) => id)))
      .where('id', 'in', (ended) =>
        ended
          .selectFrom('ended_subscriptions')
          .select('subscription_id')
          .where('status_page_id', '=', page.id),
      )
      .executeTakeFirst();
    return created.length - Number(numDeletedRows);
  }
  for (const subscription of created) {
    await askToConfirm(services, db, keys, {
      ...{ page, subscription, services: [], visitorHash: null },
    });
  }
  return created.length;
}
