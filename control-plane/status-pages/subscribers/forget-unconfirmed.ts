import { unconfirmedKeptMs } from '../decide/subscription-limits.ts';
import type { Services } from '../../core/services.ts';

/** Forgets addresses whose owners were asked to confirm a month ago and never did. */
export async function forgetUnconfirmed({ db, clock }: Services): Promise<void> {
  await db
    .deleteFrom('status_page_subscriptions')
    .where('status', '=', 'PENDING')
    .where('token_sent_at', '<', clock.now() - unconfirmedKeptMs)
    .execute();
}
