import type { Selectable } from 'kysely';
import type { StatusPagesTable } from '../tables.ts';
import { isTokenValid } from '../decide/subscription-limits.ts';
import { sha256Hex } from '../../core/keys.ts';
import { fromJson } from '../../db/columns.ts';
import { lockRows } from '../../db/lock.ts';
import type { Services } from '../../core/services.ts';

interface Confirmed {
  page: Selectable<StatusPagesTable>;
  address: string;
  /** Services that it is limited to; none for all of them. */
  serviceIds: string[];
}

/**
 * Confirms a subscription, or other services of one, with the token of the confirmation mail; doing it twice is fine. Null for
 * a token that is unknown, older than a day, or replaced by a newer mail.
 */
export async function verify(services: Services, token: string): Promise<Confirmed | null> {
  const { clock, commits } = services;
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
    if (subscription.status === 'PENDING' || subscription.asked_services_json !== null) {
      if (!isTokenValid(subscription.token_sent_at, now)) return null;
      await db
        .updateTable('status_page_subscriptions')
        .set({
          status: 'VERIFIED',
          services_json: services,
          asked_services_json: null,
          updated_at: now,
        })
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
    return { page, address: subscription.address, serviceIds: fromJson<string[]>(services) };
  });
}
