/** What a type of alert channel is to the one who delivers. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { Attempt } from './attempt.ts';
import type { NotificationFacts } from './facts.ts';
import type { Mailer } from './mailer.ts';
import type { Message } from './message.ts';
import type { Outgoing } from './outgoing.ts';

export interface Notification {
  /** The same in every attempt. */
  id: string;
  facts: NotificationFacts;
  message: Message;
}

/** A variable of the account, the group or the check. */
export interface Variable {
  key: string;
  value: string;
  /** Its value is not shown. */
  isHidden: boolean;
}

/** A service for text messages and calls. */
export interface PhoneService {
  url: string;
  accountSid: string;
  authToken: string;
  from: string;
}

/** What channels send with. */
export interface Transports {
  outgoing: Pick<Outgoing, 'guarded' | 'trusted'>;
  /** Null without SMTP_URL. */
  mailer: Mailer | null;
  /** Or what is missing to have one. */
  phone: PhoneService | { missing: string[] };
  pagerDutyUrl: string;
  /** Null: the API of the region of the channel. */
  opsgenieUrl: string | null;
  publicUrl: string;
  clock: Pick<Clock, 'now'>;
  random: () => number;
  newId: () => string;
  /** Of the check that the notification is about; read when asked for. */
  variables: () => Promise<readonly Variable[]>;
  signal: AbortSignal;
}

export interface Channel<Config> {
  /** Pauses between the attempts; their number is how often it is tried again. */
  pausesMs: readonly number[];
  /** It keeps what it was told open until it is told that it is over: a paging system. */
  keepsOpen?: true;
  /** What it sends to, for the bound on what goes there at once. */
  destination(config: Config): string;
  /** Tries once. What it throws ends the notification as a failure. */
  deliver(notification: Notification, config: Config, transports: Transports): Promise<Attempt>;
}

/** Attempts at once, soon, and over the next ten minutes. */
export const pausesOfServices: readonly number[] = [5_000, 15_000, 60_000, 180_000, 300_000];
