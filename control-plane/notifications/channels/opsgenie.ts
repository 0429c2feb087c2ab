/** OPSGENIE: the Alert API. A recovery closes the alert by its alias. */
import { attemptByHttp } from '../attempt.ts';
import { pausesOfServices, type Channel, type Notification, type ConfigOf } from '../channel.ts';
import { shorten } from '../../core/escape.ts';
import type { OutgoingRequest } from '../outgoing.ts';
import { isClosing, sentenceOf } from '../message.ts';

const regions = { EU: 'https://api.eu.opsgenie.com', US: 'https://api.opsgenie.com' } as const;

/** The request to the Alert API. */
export function opsgenieRequest(
  { facts, message }: Pick<Notification, 'facts' | 'message'>,
  { apiKey, region, priority }: ConfigOf<'OPSGENIE'>,
  baseUrl: string | null,
): OutgoingRequest {
  const base = (baseUrl ?? regions[region]).replace(/\/+$/, '');
  const alias = shorten(message.incidentKey, 512);
  const post = (path: string, body: unknown): OutgoingRequest => ({
    method: 'POST',
    url: new URL(base + path),
    headers: [
      ['authorization', `GenieKey ${apiKey}`],
      ['content-type', 'application/json'],
    ],
    body: JSON.stringify(body),
  });
  const { title, reason, details, link, tone, subject } = message;
  if (isClosing(tone)) {
    return post(`/v2/alerts/${encodeURIComponent(alias)}/close?identifierType=alias`, {
      source: 'Monitor',
      note: shorten(sentenceOf(message), 25_000),
    });
  }
  const lines = [reason, ...details.map(({ label, value }) => `${label}: ${value}`), link.url];
  const tags = facts.kind === 'alert' ? facts.check.tags : [];
  return post('/v2/alerts', {
    message: shorten(title, 130),
    alias,
    description: shorten(lines.filter(Boolean).join('\n'), 15_000),
    entity: shorten(subject, 512),
    source: 'Monitor',
    priority,
    tags: tags.slice(0, 20).map((tag) => shorten(tag, 50)),
    details: Object.fromEntries(
      details.map(({ label, value }) => [label, shorten(value, 1000)]),
    ) as unknown,
    note: shorten(sentenceOf(message), 25_000),
  });
}

export const opsgenieChannel: Channel<ConfigOf<'OPSGENIE'>> = {
  pausesMs: pausesOfServices,
  keepsOpen: true,
  destination: () => 'OPSGENIE',
  deliver: (notification, config, { outgoing, opsgenieUrl, clock, signal }) =>
    attemptByHttp({
      send: outgoing.operator,
      request: opsgenieRequest(notification, config, opsgenieUrl),
      credentials: [config.apiKey],
      now: clock.now(),
      signal,
    }),
};
