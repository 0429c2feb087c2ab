/** A notification to a device: encrypted for it (RFC 8291), signed by this installation (RFC 8292). */
import { createHash } from 'node:crypto';
import { shorten } from '../core/escape.ts';
import type { Services } from '../core/services.ts';
import { attemptByHttp, type Attempt } from './attempt.ts';
import { alertActionText } from './alert-links.ts';
import type { Transports } from './channel.ts';
import { isClosing, type Message } from './message.ts';
import { pushKeys, type PushSubscription, webPush } from './push-devices.ts';

/** A phone that was off for longer learns of it in the console. */
const keptSeconds = 86_400;
/** Far below the 4 KiB that push services take, and more than a lock screen shows. */
const maxTitleLength = 120;
const maxBodyLength = 400;

/** What `console/service-worker.ts` shows. Addresses are below the public one: a device may know another. */
function payloadOf({ title, reason, link, actions, incidentKey }: Message, publicUrl: string) {
  const base = new URL(`${publicUrl}/`).href;
  const below = (url: string) => {
    const { href } = new URL(url);
    return href.startsWith(base) ? href.slice(base.length) : '';
  };
  const acknowledge = actions.find(({ text }) => text === alertActionText.acknowledge);
  return {
    title: shorten(title, maxTitleLength),
    body: shorten(reason, maxBodyLength),
    // A recovery takes the place of its failure.
    tag: incidentKey,
    open: below(link.url),
    acknowledge: acknowledge === undefined ? null : below(acknowledge.url),
  };
}

export async function attemptPush(
  services: Pick<Services, 'db' | 'secrets'>,
  subscription: PushSubscription,
  message: Message,
  {
    outgoing,
    publicUrl,
    clock,
    signal,
  }: Pick<Transports, 'outgoing' | 'publicUrl' | 'clock' | 'signal'>,
): Promise<Attempt> {
  const { generateRequestDetails } = await webPush();
  const { endpoint, body, headers } = generateRequestDetails(
    subscription,
    JSON.stringify(payloadOf(message, publicUrl)),
    {
      vapidDetails: {
        // Push services want to know whom to write to; no other one takes http.
        subject: publicUrl.startsWith('https:') ? publicUrl : 'mailto:monitor@localhost',
        ...(await pushKeys(services)),
      },
      TTL: keptSeconds,
      urgency: isClosing(message.tone) ? 'normal' : 'high',
      // What a device has not fetched is replaced at the push service.
      topic: createHash('sha256').update(message.incidentKey).digest('base64url').slice(0, 32),
    },
  );
  let status = 0;
  const url = new URL(endpoint);
  const attempt = await attemptByHttp({
    send: async (...request) => {
      const answer = await outgoing.customer(...request);
      status = answer.status;
      return answer;
    },
    request: {
      method: 'POST',
      url,
      headers: Object.entries(headers as Record<string, unknown>).map(([name, value]) => [
        name.toLowerCase(),
        String(value),
      ]),
      body,
    },
    credentials: [endpoint, url.pathname + url.search],
    now: clock.now(),
    signal,
  });
  const isGone = attempt.outcome === 'failed' && (status === 404 || status === 410);
  return isGone ? { ...attempt, goneBy: 'the push service of the device' } : attempt;
}
