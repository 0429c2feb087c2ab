/** Requests to subscribers of status pages, who chose the address themselves: of the class of visitors. */
import type { Services } from '../core/services.ts';
import { attemptByHttp, cannotBeSent, nothingIsFinal, type Attempt } from './attempt.ts';
import type { Transports } from './channel.ts';
import { signatureHeaders } from './channels/webhook-signature.ts';
import type { SubscriberRequest } from './facts.ts';

/** Over half an hour; what comes next about the same subscription waits behind. */
export const pausesOfSubscribers: readonly number[] = [20_000, 60_000, 300_000, 1_200_000];

export async function attemptSubscriberRequest(
  { db, secrets }: Pick<Services, 'db' | 'secrets'>,
  { id, account_id: accountId }: { id: string; account_id: string },
  { subscriptionId, body }: SubscriberRequest,
  { outgoing, clock, signal }: Pick<Transports, 'outgoing' | 'clock' | 'signal'>,
): Promise<Attempt> {
  const subscription = await db
    .selectFrom('status_page_subscriptions')
    .select(['address', 'secret'])
    .where('account_id', '=', accountId)
    .where('id', '=', subscriptionId)
    .where('type', '=', 'WEBHOOK')
    .executeTakeFirst();
  if (subscription === undefined) return cannotBeSent('the subscription does not exist any more');
  const now = clock.now();
  const { address, secret: stored } = subscription;
  const secret = stored === null ? null : secrets.decryptStored(stored, accountId);
  const url = new URL(address);
  return attemptByHttp({
    send: outgoing.visitor,
    request: {
      method: 'POST',
      url,
      headers: [
        ['user-agent', 'monitor-notifications'],
        ['content-type', 'application/json'],
        // Those of Standard Webhooks alone.
        ...signatureHeaders({ id, body, secret }, now).filter(([name]) =>
          name.startsWith('webhook-'),
        ),
      ],
      body,
    },
    credentials: [address, url.pathname + url.search, ...(secret === null ? [] : [secret])],
    isFinal: nothingIsFinal,
    now,
    signal,
  });
}
