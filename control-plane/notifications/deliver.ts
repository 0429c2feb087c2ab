/** One attempt to send one row of the outbox: a mail, or a notification to a channel. */
import type { Database } from '../db/tables.ts';
import type { Selectable } from 'kysely';
import { channelConfigs, type AlertChannelType } from '@monitor/shared/contract/alert-channel.ts';
import { fromJson } from '../db/columns.ts';
import type { OutboxRow } from './due-deliveries.ts';
import { variablesOfCheck } from '../checks/index.ts';
import type { SecretCipher } from '../core/secret-cipher.ts';
import type { Services } from '../core/services.ts';
import { cannotBeSent, type Attempt } from './attempt.ts';
import type { Channel, Transports } from './channel.ts';
import { channels } from './channels/index.ts';
import type { Mail, NotificationFacts } from './facts.ts';
import { pausesOfMail, withoutMailServer } from './mailer.ts';
import { messageOf } from './message.ts';

export type ChannelRow = Selectable<Database['alert_channels']>;

/** What does not depend on the single notification. */
export type SharedTransports = Omit<Transports, 'variables'>;

/** A row that is ready to be tried. */
export interface Delivery {
  /** What it goes to, for the bound on what goes there at once. */
  destination: string;
  pausesMs: readonly number[];
  attempt: (transports: SharedTransports) => Promise<Attempt>;
}

/** What can only fail: trying it again would find the same. */
function hopeless(reason: string): Delivery {
  const attempt = () => Promise.resolve(cannotBeSent(reason));
  return { destination: '', pausesMs: [], attempt };
}

/** Undefined for what is not JSON: whoever looks for what is due must get past it. */
function readJson(text: string): unknown {
  try {
    return fromJson<unknown>(text);
  } catch {
    return undefined;
  }
}

/** Undefined, too, for what another key has encrypted. */
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

/** Facts and mails are written by this program; what is not one of them never becomes one. */
function contentOf(row: OutboxRow): Mail | NotificationFacts | null {
  const content = readJson(row.content_json) as Mail | NotificationFacts | null | undefined;
  return typeof content === 'object' ? content : null;
}

function mailDelivery(mail: Mail, id: string): Delivery {
  return {
    destination: 'EMAIL',
    pausesMs: pausesOfMail,
    attempt: async ({ mailer, signal }) => mailer?.send(mail, id, signal) ?? withoutMailServer,
  };
}

function channelDelivery(
  services: Pick<Services, 'db' | 'secrets'>,
  row: OutboxRow,
  facts: NotificationFacts,
  channelRow: ChannelRow,
): Delivery {
  const type = channelRow.type as AlertChannelType;
  // Of a type that only another build knows: that must not hold up everything else.
  if (!Object.hasOwn(channels, type))
    return hopeless(`channels of type ${type} are not known here`);
  const config = channelConfigs[type].safeParse(readConfig(services.secrets, channelRow));
  if (!config.success) return hopeless('the configuration of the channel cannot be read');
  // Which configuration belongs to which channel is what the registry says, type by type.
  const channel = channels[type] as Channel<unknown>;
  const readVariables = () =>
    variablesOfCheck(services, row.account_id, facts.kind === 'alert' ? facts.check.id : null);
  return {
    destination: channel.destination(config.data),
    // Somebody waits for the outcome of a test, and can press the button again.
    pausesMs: facts.kind === 'test' ? [] : channel.pausesMs,
    attempt: (transports) =>
      channel.deliver(
        { id: row.id, facts, message: messageOf(facts, row.id, transports.publicUrl) },
        config.data,
        { ...transports, variables: readVariables },
      ),
  };
}

/** How to send a row. A row that makes no sense becomes one that fails. */
export function deliveryOf(
  services: Pick<Services, 'db' | 'secrets'>,
  row: OutboxRow,
  channelRow: ChannelRow | undefined,
): Delivery {
  const content = contentOf(row);
  if (content === null) return hopeless('what was to be sent cannot be read');
  if (row.kind === 'MAIL') return mailDelivery(content as Mail, row.id);
  if (channelRow === undefined) return hopeless('the channel does not exist');
  return channelDelivery(services, row, content as NotificationFacts, channelRow);
}
