/** All channel types. A new type is a file, a line here, and its configuration in the contract. */
import type { AlertChannelType } from '@monitor/shared/contract/alert-channel.ts';
import type { Channel, ConfigOf } from '../channel.ts';
import { emailChannel } from './email.ts';
import { opsgenieChannel } from './opsgenie.ts';
import { pagerDutyChannel } from './pagerduty.ts';
import { callChannel, smsChannel } from './phone.ts';
import { slackAppChannel } from './slack-app.ts';
import { slackChannel } from './slack.ts';
import { webhookChannel } from './webhook.ts';

export const channels: {
  readonly [Type in AlertChannelType]: Channel<ConfigOf<Type>>;
} = {
  EMAIL: emailChannel,
  SLACK: slackChannel,
  WEBHOOK: webhookChannel,
  SMS: smsChannel,
  PAGERDUTY: pagerDutyChannel,
  OPSGENIE: opsgenieChannel,
  CALL: callChannel,
  SLACK_APP: slackAppChannel,
};

/** True for types that keep alerts open; false for a type of another build. */
export function keepsOpen(type: string): boolean {
  return Object.hasOwn(channels, type) && channels[type as AlertChannelType].keepsOpen === true;
}
