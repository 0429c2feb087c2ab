/** Selects the subscribed channels that an alert is sent to. */
import type { z } from 'zod';
import type { channelReason } from '@monitor/shared/contract/alert-decision.ts';
import { subjectOf, type AlertType } from './decision.ts';

export type ChannelReason = z.infer<typeof channelReason>;

export interface SubscribedChannel {
  id: number;
  type: string;
  /** Subscribed through the check or its group. */
  activated: boolean;
  sendFailure: boolean;
  sendDegraded: boolean;
  sendRecovery: boolean;
}

export interface Addressee {
  id: number;
  type: string;
  reason: ChannelReason;
}

function reasonOf(
  channel: SubscribedChannel,
  alertType: AlertType,
  notified: readonly number[],
): ChannelReason {
  if (!channel.activated) return 'SUBSCRIPTION_OFF';
  switch (subjectOf(alertType)) {
    case 'failing':
      return channel.sendFailure ? 'WANTED' : 'FAILURES_OFF';
    case 'degraded':
      return channel.sendDegraded ? 'WANTED' : 'DEGRADED_OFF';
    case 'recovery': {
      if (!channel.sendRecovery) return 'RECOVERIES_OFF';
      const wantsNothingElse = !channel.sendFailure && !channel.sendDegraded;
      return notified.includes(channel.id) || wantsNothingElse ? 'WANTED' : 'NEVER_TOLD';
    }
    case 'certificate':
    case null:
      return 'WANTED';
  }
}

/**
 * Each channel, and whether it is notified. A recovery is sent to the channels that were notified
 * of the problem, and to the channels that take recoveries only.
 */
export function addresseesOf(
  channels: readonly SubscribedChannel[],
  alertType: AlertType,
  notified: readonly number[],
): Addressee[] {
  return channels.map((channel) => ({
    id: channel.id,
    type: channel.type,
    reason: reasonOf(channel, alertType, notified),
  }));
}
