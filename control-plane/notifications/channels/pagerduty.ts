/** PAGERDUTY: the Events API, version 2. A recovery resolves the event by its key. */
import { attemptByHttp } from '../attempt.ts';
import { pausesOfServices, type Channel, type ConfigOf } from '../channel.ts';
import { shorten } from '../../core/escape.ts';
import { isClosing, sentenceOf, type Message } from '../message.ts';

const severities = { failing: 'critical', degraded: 'warning', notice: 'info' } as const;

/** The event for the Events API. */
export function pagerDutyEvent(message: Message, routingKey: string, publicUrl: string): unknown {
  const { tone, subject, details, reason, link, at } = message;
  const common = {
    routing_key: routingKey,
    dedup_key: shorten(message.incidentKey, 255),
    client: 'Monitor',
    client_url: publicUrl,
  };
  if (isClosing(tone)) return { ...common, event_action: 'resolve' };
  return {
    ...common,
    event_action: 'trigger',
    payload: {
      summary: shorten(sentenceOf(message), 1024),
      source: shorten(subject === '' ? 'monitor' : subject, 255),
      severity: severities[tone],
      timestamp: new Date(at).toISOString(),
      custom_details: Object.fromEntries([
        ...details.map(({ label, value }) => [label, value]),
        ...(reason === '' ? [] : [['Reason', reason]]),
      ]) as unknown,
    },
    links: [{ href: link.url, text: link.text }],
  };
}

export const pagerDutyChannel: Channel<ConfigOf<'PAGERDUTY'>> = {
  pausesMs: pausesOfServices,
  keepsOpen: true,
  destination: () => 'PAGERDUTY',
  deliver: ({ message }, { serviceKey }, { outgoing, pagerDutyUrl, publicUrl, clock, signal }) =>
    attemptByHttp({
      send: outgoing.operator,
      request: {
        method: 'POST',
        url: new URL(pagerDutyUrl),
        headers: [['content-type', 'application/json']],
        body: JSON.stringify(pagerDutyEvent(message, serviceKey, publicUrl)),
      },
      credentials: [serviceKey],
      now: clock.now(),
      signal,
    }),
};
