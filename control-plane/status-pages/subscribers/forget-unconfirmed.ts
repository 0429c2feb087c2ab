import { unconfirmedKeptMs } from '../decide/subscription-limits.ts';
import type { Services } from '../../core/services.ts';

/** Deletes subscriptions that were not confirmed within a month. */
export async function forgetUnconfirmed({ db, clock }: Services): Promise<void> {
  await db
    .deleteFrom('status_page_subscriptions')
    .where('status', '=', 'PENDING')
    .where('token_sent_at', '<', clock.now() - unconfirmedKeptMs)
    .execute();
}
