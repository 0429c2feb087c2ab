import { sql } from 'kysely';
import { unconfirmedKeptMs, verificationMs } from '../decide/subscription-limits.ts';
import type { Services } from '../../core/services.ts';

/** Deletes mail addresses that were not confirmed within a month, and webhooks when their link has expired. */
export async function forgetUnconfirmed({ db, clock }: Services): Promise<void> {
  await db
    .deleteFrom('status_page_subscriptions')
    .where('status', '=', sql.lit('PENDING'))
    .where(({ and, or, eb }) =>
      or([
        eb('token_sent_at', '<', clock.now() - unconfirmedKeptMs),
        and([eb('type', '=', 'WEBHOOK'), eb('token_sent_at', '<', clock.now() - verificationMs)]),
      ]),
    )
    .execute();
}
