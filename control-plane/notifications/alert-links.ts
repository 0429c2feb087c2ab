/**
 * Links in messages that acknowledge or snooze an alert or a group, or mute the check of an alert, without a key. The signature covers
 * the account, the channel, the person or the device that it was sent to, what it is about, the action and the expiry.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SecretCipher } from '../core/secret-cipher.ts';
import type { NotificationFacts } from './facts.ts';
import { isClosing, type Message } from './message.ts';

export const alertActions = ['acknowledge', 'snooze', 'mute'] as const;
export type AlertAction = (typeof alertActions)[number];
export const alertTargets = ['alert', 'group'] as const;

/** How long a link snoozes. */
export const linkSnoozeMs = 3_600_000;
const validMs = 7 * 86_400_000;

/** A link ends with the channel or the device, and when the person leaves the account. */
export type LinkRecipient = { channelId: number } | { personId: string } | { deviceId: number };

const nameOf = (recipient: LinkRecipient): [kind: string, id: string] => {
  if ('personId' in recipient) return ['person', recipient.personId];
  return 'deviceId' in recipient
    ? ['device', String(recipient.deviceId)]
    : ['channel', String(recipient.channelId)];
};

export interface AlertLink {
  accountId: string;
  recipient: LinkRecipient;
  target: (typeof alertTargets)[number];
  /** Of the alert or of the group. */
  id: string;
  action: AlertAction;
  /** In milliseconds. */
  expiresAt: number;
}

/** The beginning of their paths. */
export const alertLinkPath = '/alert-links';

export const alertActionText: Record<AlertAction, string> = {
  acknowledge: 'Acknowledge',
  snooze: 'Snooze for an hour',
  mute: 'Mute the check',
};

/** One press must not mute all checks of a group: nobody would unmute them one by one. */
export function isActionOf(target: AlertLink['target'], action: AlertAction): boolean {
  return target === 'alert' || action !== 'mute';
}

export class AlertLinks {
  readonly #key: Buffer;
  readonly #publicUrl: string;

  constructor(secrets: SecretCipher, publicUrl: string) {
    this.#key = secrets.deriveKey('alert-links');
    this.#publicUrl = publicUrl;
  }

  #sign({ accountId, recipient, target, id, action, expiresAt }: AlertLink): Buffer {
    // The number alone for channels, as in links that were sent before.
    const to = 'channelId' in recipient ? recipient.channelId : nameOf(recipient).join(' ');
    const text = [expiresAt, accountId, to, target, id, action].join('\n');
    return createHmac('sha256', this.#key).update(text).digest();
  }

  to(link: AlertLink): string {
    const { accountId, recipient, target, id, action, expiresAt } = link;
    const query = new URLSearchParams({
      account: accountId,
      ...Object.fromEntries([nameOf(recipient)]),
      expires: String(expiresAt),
      signature: this.#sign(link).toString('base64url'),
    });
    return `${this.#publicUrl}${alertLinkPath}/${target}/${encodeURIComponent(id)}/${action}?${query.toString()}`;
  }

  check(link: AlertLink, signature: string, now: number): 'valid' | 'altered' | 'expired' {
    const expected = this.#sign(link);
    const given = Buffer.from(signature, 'base64url');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'altered';
    return link.expiresAt > now ? 'valid' : 'expired';
  }

  /** The actions of a message; none when there is nothing to acknowledge. */
  actionsOf(
    facts: NotificationFacts,
    { tone }: Pick<Message, 'tone'>,
    of: Pick<AlertLink, 'accountId' | 'recipient'>,
  ): Message['actions'] {
    if (isClosing(tone)) return [];
    const about =
      facts.kind === 'group'
        ? { target: 'group' as const, id: facts.groupId }
        : facts.kind === 'alert' && facts.result !== null
          ? { target: 'alert' as const, id: facts.alertId }
          : null;
    if (about === null) return [];
    // From the time of the alert, so that every attempt sends the same.
    const expiresAt = facts.at + validMs;
    return alertActions
      .filter((action) => isActionOf(about.target, action))
      .map((action) => ({
        url: this.to({ ...of, ...about, action, expiresAt }),
        text: alertActionText[action],
      }));
  }
}
