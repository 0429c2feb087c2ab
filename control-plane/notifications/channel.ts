/** The interface of alert channel types. */
import type { z } from 'zod';
import type { AlertChannelType, channelConfigs } from '@monitor/shared/contract/alert-channel.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Attempt } from './attempt.ts';
import type { NotificationFacts } from './facts.ts';
import type { Mailer } from './mailer.ts';
import type { Message } from './message.ts';
import type { EgressClass } from '../core/doors.ts';
import type { Outgoing } from './outgoing.ts';
import type { SlackApp } from './slack-app.ts';
import type { SlackMessages } from './slack-messages.ts';

export interface Notification {
  /** The same id in every attempt. */
  id: string;
  facts: NotificationFacts;
  message: Message;
}

/** A variable of the account, the group or the check. */
export interface Variable {
  key: string;
  value: string;
  /** Its value is never shown. */
  isHidden: boolean;
}

/** A provider of text messages and calls. */
export interface PhoneService {
  url: string;
  accountSid: string;
  authToken: string;
  from: string;
}

/** What channel types need to send. */
export interface Transports {
  outgoing: Pick<Outgoing, EgressClass>;
  /** Null without SMTP_URL. */
  mailer: Mailer | null;
  /** The provider, or the missing settings. */
  phone: PhoneService | { missing: string[] };
  /** Null without SLACK_APP_TOKEN. */
  slackApp: SlackApp | null;
  /** What the Slack app posted to the channel. */
  slackMessages: SlackMessages;
  pagerDutyUrl: string;
  /** Null means the API of the region of the channel. */
  opsgenieUrl: string | null;
  /** Accounts that may use channels of the operator; empty for the only one. */
  operatorChannelAccounts: readonly string[];
  publicUrl: string;
  clock: Pick<Clock, 'now'>;
  random: () => number;
  newId: () => string;
  /** Variables of the check; read on demand. */
  variables: () => Promise<readonly Variable[]>;
  signal: AbortSignal;
}

/** The configuration of a type of channels. */
export type ConfigOf<Type extends AlertChannelType> = z.output<(typeof channelConfigs)[Type]>;

export interface Channel<Config> {
  /** Pauses between attempts; their number limits the retries. */
  pausesMs: readonly number[];
  /** How long an attempt may take, where it is more than one request. */
  timeoutMs?: number;
  /** A paging system: it keeps an alert open until it is closed. */
  keepsOpen?: true;
  /** It speaks with the one identity of the operator: his workspace, his number. */
  isOfOperator?: true;
  /** Destination of a notification, for the limit of concurrent requests. */
  destination(config: Config): string;
  /** Makes one attempt. An exception is a final failure. */
  deliver(notification: Notification, config: Config, transports: Transports): Promise<Attempt>;
}

/** Retries soon at first, over ten minutes. */
export const pausesOfServices: readonly number[] = [5_000, 15_000, 60_000, 180_000, 300_000];
