/** Which of the subscribed channels an alert goes to. */
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
  told: readonly number[],
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
      return told.includes(channel.id) || wantsNothingElse ? 'WANTED' : 'NEVER_TOLD';
    }
    case 'certificate':
    case null:
      return 'WANTED';
  }
}

/**
 * Each channel, and whether it is told. A recovery goes to those that were told of the trouble, and
 * to those that take recoveries only.
 */
export function addresseesOf(
  channels: readonly SubscribedChannel[],
  alertType: AlertType,
  told: readonly number[],
): Addressee[] {
  return channels.map((channel) => ({
    id: channel.id,
    type: channel.type,
    reason: reasonOf(channel, alertType, told),
  }));
}
