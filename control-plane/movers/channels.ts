/** Alert channels of an import, and which checks are subscribed to them. */
import { ref, type Entry, type Plan, type Ref } from './plan.ts';
import type { SourceObject } from './source-object.ts';

export interface ChannelBody {
  type: string;
  config: Record<string, unknown>;
  sendRecovery?: boolean;
  sslExpiry?: boolean;
  sslExpiryThreshold?: number;
  autoSubscribe?: boolean;
}

/** A channel of the source, with its logical id. */
export interface Channel {
  id: string;
  body: ChannelBody;
}

/**
 * The channel, which is made at its first use. Preferences belong to channels here and to single checks in other
 * products: there is one channel for each set of preferences that is used.
 */
export function addChannel(plan: Plan, { id, body }: Channel): Ref {
  if (!plan.has(id)) plan.add('alert-channel', id, { sendDegraded: false, ...body });
  return ref(id);
}

export function subscribe(plan: Plan, check: Ref, to: Channel, activated = true): void {
  const alertChannelId = addChannel(plan, to);
  const logicalId = `${check.ref}-to-${to.id}`;
  if (plan.has(logicalId)) return;
  plan.add('alert-channel-subscription', logicalId, { alertChannelId, checkId: check, activated });
}

/** A channel for each address of lists with commas or semicolons. */
export function emails(...lists: readonly string[]): ChannelBody[] {
  const found = lists
    .flatMap((list) => list.split(/[,;]/))
    .map((part) => (/<([^>]+)>/.exec(part)?.[1] ?? part).trim())
    .filter((part) => part !== '');
  return [...new Set(found)].map((address) => ({ type: 'EMAIL', config: { address } }));
}

export const slack = (url: string, channel = ''): ChannelBody => ({
  type: 'SLACK',
  config: { url, ...(channel === '' ? {} : { channel }) },
});

export const opsgenie = (name: string, apiKey: string, isEu: boolean, priority: string) => ({
  type: 'OPSGENIE',
  config: { name, apiKey, region: isEu ? 'EU' : 'US', priority },
});

/** A webhook in the format of a product. */
export const typedWebhook = (name: string, url: string, webhookType: string): ChannelBody => ({
  type: 'WEBHOOK',
  config: { name, url, method: 'POST', webhookType },
});

const sensitiveHeader = /^(proxy-)?authorization$|cookie|token|secret|password|api-?key|^x-.*key$/i;

/** Headers: values of those that usually hold a credential become variables. */
export const guardedHeaders = (entry: Entry, pairs: readonly (readonly [string, string])[]) =>
  pairs.map(([key, value]) => ({
    key,
    value: sensitiveHeader.test(key) ? entry.secret(`header ${key}`, value) : value,
  }));

/** Text messages to the number in one of the keys; null without one. The rest is about the provider. */
export function sms(
  config: SourceObject,
  entry: Entry,
  keys: readonly string[],
  name: string,
): ChannelBody[] | null {
  const number = keys.map((key) => config.text(key)).find((text) => text !== '');
  if (number === undefined) return null;
  const ofProvider = 'texts are sent through the provider of this installation';
  notCarriedKeys(config, entry, config.unread(), ofProvider);
  return [{ type: 'SMS', config: { name, number } }];
}

/** Reads fields and reports those that are given: their names, never their values. */
export function notCarriedKeys(
  config: SourceObject,
  entry: Entry,
  keys: readonly string[],
  why: string,
): void {
  const given = keys.filter((key) => config.has(key)).map((key) => `\`${key}\``);
  config.skip(...keys);
  if (given.length > 0) entry.notCarried(`${given.join(', ')}: ${why}`);
}

export const ofMailServer = 'mail is sent through the mail server of this installation';
export const ofLook = 'messages have their own look here';
