/** Every type of channel. A new one is a file, a line here, and its configuration in the contract. */
import type { z } from 'zod';
import type { AlertChannelType, channelConfigs } from '@monitor/shared/contract/alert-channel.ts';
import type { Channel } from '../channel.ts';
import { emailChannel } from './email.ts';
import { opsgenieChannel } from './opsgenie.ts';
import { pagerDutyChannel } from './pagerduty.ts';
import { callChannel, smsChannel } from './phone.ts';
import { slackChannel } from './slack.ts';
import { webhookChannel } from './webhook.ts';

export const channels: {
  readonly [Type in AlertChannelType]: Channel<z.output<(typeof channelConfigs)[Type]>>;
} = {
  EMAIL: emailChannel,
  SLACK: slackChannel,
  WEBHOOK: webhookChannel,
  SMS: smsChannel,
  PAGERDUTY: pagerDutyChannel,
  OPSGENIE: opsgenieChannel,
  CALL: callChannel,
};

/** Whether channels of a type keep open what they are told. A type of another build does not. */
export function keepsOpen(type: string): boolean {
  return Object.hasOwn(channels, type) && channels[type as AlertChannelType].keepsOpen === true;
}
