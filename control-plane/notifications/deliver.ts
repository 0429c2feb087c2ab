/** Delivery of one outbox row: a mail, or a notification to a channel. */
import type { Db, RowOf } from '../db/tables.ts';
import { channelConfigs, type AlertChannelType } from '@monitor/shared/contract/alert-channel.ts';
import { fromJson } from '../db/columns.ts';
import type { OutboxRow } from './outbox-rows.ts';
import { variablesOfCheck } from '../checks/index.ts';
import type { SecretCipher } from '../core/secret-cipher.ts';
import type { Services } from '../core/services.ts';
import { cannotBeSent, type Attempt } from './attempt.ts';
import { attemptSubscriberRequest, pausesOfSubscribers } from './subscriber-request.ts';
import type { Channel, Transports } from './channel.ts';
import { channels } from './channels/index.ts';
import type { Mail, NotificationFacts, SubscriberRequest } from './facts.ts';
import { mailTimeoutMs, pausesOfMail, withoutMailServer } from './mailer.ts';
import { AlertLinks } from './alert-links.ts';
import { messageOf, type Message } from './message.ts';
import { attemptPush } from './push.ts';
import { type DeviceRow, subscriptionOf } from './push-devices.ts';
import { slackMessagesOf } from './slack-messages.ts';

export type ChannelRow = RowOf<'alert_channels'>;

/** Everything that does not depend on the single notification. */
export type SharedTransports = Omit<Transports, 'variables' | 'slackMessages'>;

type DeliveryServices = Pick<Services, 'db' | 'secrets' | 'commits' | 'clock'>;

/** An outbox row that is ready to send. */
export interface Delivery {
  /** Destination, for the limit of concurrent requests. */
  destination: string;
  pausesMs: readonly number[];
  /** An attempt takes at most this long. */
  timeoutMs: number;
  attempt: (transports: SharedTransports) => Promise<Attempt>;
}

/** One request, which has a limit of 10 s. */
const requestTimeoutMs = 10_000;

/** A delivery that can only fail, so it is not retried. */
function hopeless(reason: string): Delivery {
  const attempt = () => Promise.resolve(cannotBeSent(reason));
  return { destination: '', pausesMs: [], timeoutMs: 0, attempt };
}

/** Undefined for invalid JSON: a bad row must not block the outbox. */
function readJson(text: string): unknown {
  try {
    return fromJson<unknown>(text);
  } catch {
    return undefined;
  }
}

/** Undefined also for a value that was encrypted with another key. */
function readConfig(
  secrets: SecretCipher,
  { config_json: stored, account_id: accountId }: ChannelRow,
) {
  try {
    return readJson(secrets.decryptStored(stored, accountId));
  } catch {
    return undefined;
  }
}

type Content = Mail | NotificationFacts | SubscriberRequest;

/** Parses content that this program wrote; null for anything else. */
function contentOf(row: OutboxRow): Content | null {
  const content = readJson(row.content_json) as Content | null | undefined;
  return typeof content === 'object' ? content : null;
}

function mailDelivery(mail: Mail, id: string): Delivery {
  return {
    destination: 'EMAIL',
    pausesMs: pausesOfMail,
    timeoutMs: mailTimeoutMs,
    attempt: async ({ mailer, signal }) => mailer?.send(mail, id, signal) ?? withoutMailServer,
  };
}

/** With links for the people behind the channel, or for the person with the device. */
function messageFor(
  { secrets }: Pick<Services, 'secrets'>,
  { id, account_id: accountId, alert_channel_id: channelId, device_id: deviceId }: OutboxRow,
  facts: NotificationFacts,
  publicUrl: string,
  timezone: string | null,
): Message {
  const message = messageOf(facts, id, publicUrl, timezone);
  const recipient = channelId !== null ? { channelId } : deviceId !== null ? { deviceId } : null;
  if (recipient === null) return message;
  const of = { accountId, recipient };
  return { ...message, actions: new AlertLinks(secrets, publicUrl).actionsOf(facts, message, of) };
}

/** The app and the number are one for all: strangers would reach each other's channels and people. */
async function mayUse(
  { db }: Pick<DeliveryServices, 'db'>,
  { account_id: accountId }: Pick<OutboxRow, 'account_id'>,
  { operatorChannelAccounts: named }: Pick<SharedTransports, 'operatorChannelAccounts'>,
): Promise<boolean> {
  if (named.length > 0) return named.includes(accountId);
  return (await db.selectFrom('accounts').select('id').limit(2).execute()).length < 2;
}

export const withoutChannels =
  'SMS, CALL and SLACK_APP channels of accounts do not send: where there are several accounts, name those that may in OPERATOR_CHANNEL_ACCOUNTS';

/** The accounts that have channels by which they may not send: nobody would notice before an alert is lost. */
export async function accountsWithoutChannels(
  db: Db,
  operatorChannelAccounts: readonly string[],
): Promise<string[]> {
  const types = Object.keys(channels) as AlertChannelType[];
  const ofOperator = types.filter((type) => channels[type].isOfOperator === true);
  const query = db.selectFrom('alert_channels').select('account_id').distinct();
  const silent: string[] = [];
  for (const row of await query.where('type', 'in', ofOperator).execute()) {
    if (!(await mayUse({ db }, row, { operatorChannelAccounts }))) silent.push(row.account_id);
  }
  return silent;
}

function channelDelivery(
  services: DeliveryServices,
  row: OutboxRow,
  facts: NotificationFacts,
  channelRow: ChannelRow,
): Delivery {
  const type = channelRow.type as AlertChannelType;
  // A type of another build: it must not block the outbox.
  if (!Object.hasOwn(channels, type))
    return hopeless(`channels of type ${type} are not known here`);
  const config = channelConfigs[type].safeParse(readConfig(services.secrets, channelRow));
  if (!config.success) return hopeless('the configuration of the channel cannot be read');
  // The registry pairs types with configurations.
  const channel = channels[type] as Channel<unknown>;
  const slackMessages = slackMessagesOf(services, row, channelRow.id);
  const readVariables = () =>
    variablesOfCheck(services, row.account_id, facts.kind === 'alert' ? facts.check.id : null);
  return {
    destination: channel.destination(config.data),
    // A user waits for the outcome of a test and can start it again.
    pausesMs: facts.kind === 'test' ? [] : channel.pausesMs,
    timeoutMs: channel.timeoutMs ?? requestTimeoutMs,
    attempt: async (transports) => {
      if (channel.isOfOperator === true && !(await mayUse(services, row, transports))) {
        return cannotBeSent(
          `this account may not send by ${type}: where there are several, the operator names those that may in OPERATOR_CHANNEL_ACCOUNTS`,
        );
      }
      return channel.deliver(
        {
          id: row.id,
          facts,
          message: messageFor(services, row, facts, transports.publicUrl, channelRow.timezone),
        },
        config.data,
        { ...transports, variables: readVariables, slackMessages },
      );
    },
  };
}

function deviceDelivery(
  services: DeliveryServices,
  row: OutboxRow,
  facts: NotificationFacts,
  device: DeviceRow,
): Delivery {
  const subscription = subscriptionOf(services.secrets, device);
  if (subscription === null) {
    const lost = 'the encryption key of the device was lost';
    const gone = { ...cannotBeSent(lost), goneBy: 'an encryption key that was lost' };
    return { ...hopeless(''), attempt: () => Promise.resolve(gone) };
  }
  return {
    destination: new URL(subscription.endpoint).host,
    pausesMs: facts.kind === 'test' ? [] : channels.WEBHOOK.pausesMs,
    timeoutMs: requestTimeoutMs,
    attempt: (transports) => {
      const message = messageFor(services, row, facts, transports.publicUrl, null);
      return attemptPush(services, subscription, message, transports);
    },
  };
}

/** What a row is for; absent where it was removed. */
export interface Recipient {
  channel?: ChannelRow | undefined;
  device?: DeviceRow | undefined;
}

/** The delivery of a row. An invalid row becomes a delivery that fails. */
export function deliveryOf(
  services: DeliveryServices,
  row: OutboxRow,
  { channel, device }: Recipient,
): Delivery {
  const content = contentOf(row);
  if (content === null) return hopeless('what was to be sent cannot be read');
  if (row.kind === 'MAIL') return mailDelivery(content as Mail, row.id);
  if (row.kind === 'WEBHOOK') {
    return {
      // All of them together: visitors choose their hosts.
      destination: 'WEBHOOK',
      pausesMs: pausesOfSubscribers,
      timeoutMs: requestTimeoutMs,
      attempt: (transports) =>
        attemptSubscriberRequest(services, row, content as SubscriberRequest, transports),
    };
  }
  if (row.kind === 'PUSH') {
    if (device === undefined) return hopeless('the device was removed');
    return deviceDelivery(services, row, content as NotificationFacts, device);
  }
  if (channel === undefined) return hopeless('the channel does not exist');
  return channelDelivery(services, row, content as NotificationFacts, channel);
}
