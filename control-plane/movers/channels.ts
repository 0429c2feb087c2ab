/** Alert channels of an import, and which checks are subscribed to them. */
import { ref, type Entry, type Plan, type Ref } from './plan.ts';
import type { SourceObject } from './source-object.ts';

export interface ChannelPreferences {
  sendFailure?: boolean;
  sendRecovery?: boolean;
  sslExpiry?: boolean;
  sslExpiryThreshold?: number;
  autoSubscribe?: boolean;
}

export interface ChannelBody extends ChannelPreferences {
  type: string;
  config: Record<string, unknown>;
}

/**
 * Preferences belong to channels here and to single checks in other products: there is one channel
 * for each set of preferences that is used.
 */
export class Channels {
  readonly #plan: Plan;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  /** Subscribes a check to a channel, which is made at its first use. */
  subscribe(check: Ref, id: string, body: ChannelBody, activated = true): void {
    const channel = this.channel(id, body);
    const logicalId = `${check.ref}-to-${channel.ref}`;
    if (this.#plan.has(logicalId)) return;
    this.#plan.add('alert-channel-subscription', logicalId, {
      alertChannelId: channel,
      checkId: check,
      activated,
    });
  }

  channel(id: string, body: ChannelBody): Ref {
    if (!this.#plan.has(id)) {
      this.#plan.add('alert-channel', id, { sendDegraded: false, ...body });
    }
    return ref(id);
  }
}

/** Addresses of a list with commas or semicolons. */
export function addresses(list: string): string[] {
  return list
    .split(/[,;]/)
    .map((part) => /<([^>]+)>/.exec(part)?.[1] ?? part)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** A webhook in the format of a product. */
export const typedWebhook = (name: string, url: string, webhookType: string): ChannelBody => ({
  type: 'WEBHOOK',
  config: { name, url, method: 'POST', webhookType },
});

/** Headers of a webhook: those that usually hold a credential become variables. */
export const webhookHeaders = (entry: Entry, pairs: readonly (readonly [string, string])[]) =>
  pairs.map(([key, value]) => ({
    ...{ key, value: holdsCredential(key) ? entry.secret(`header ${key}`, value) : value },
  }));

/** Text messages to the number in one of the keys; null without one. The rest is about the provider. */
export function smsBody(
  config: SourceObject,
  entry: Entry,
  keys: readonly string[],
  name: string,
): ChannelBody | null {
  const number = keys.map((key) => config.text(key)).find((text) => text !== '');
  if (number === undefined) return null;
  const lost = config.names().filter((key) => !keys.includes(key) && !config.isRead(key));
  const why = 'texts are sent through the provider of this installation';
  notCarriedKeys(config, entry, lost, why);
  return { type: 'SMS', config: { name, number } };
}

const sensitiveHeader = /^(proxy-)?authorization$|cookie|token|secret|password|api-?key|^x-.*key$/i;

/** Whether a header usually holds a credential. */
export function holdsCredential(header: string): boolean {
  return sensitiveHeader.test(header);
}

/** Reads fields and reports those that are given: their names, never their values. */
export function notCarriedKeys(
  config: SourceObject,
  entry: Entry,
  keys: readonly string[],
  why: string,
): void {
  const given = keys.filter((key) => config.has(key));
  config.skip(...keys);
  if (given.length === 0) return;
  entry.notCarried(`${given.map((key) => `\`${key}\``).join(', ')}: ${why}`);
}
