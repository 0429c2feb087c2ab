/**
 * Messages that agents send when the control plane is away. They are made here while it is not, by the
 * same code that sends all others: the transports keep what they are given.
 */
import { channelConfigs, type AlertChannelType } from '@monitor/shared/contract/alert-channel.ts';
import {
  preparedMessage,
  type ControlPlaneWatch,
  type PreparedMessage,
} from '@monitor/shared/contract/control-plane-watch.ts';
import type { Config } from '../core/config.ts';
import type { Services } from '../core/services.ts';
import { fromFlag, fromJson } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import type { RowOf } from '../db/tables.ts';
import { variablesOfCheck } from '../checks/index.ts';
import type { Attempt } from './attempt.ts';
import type { Channel, Transports } from './channel.ts';
import { channels } from './channels/index.ts';
import type { ControlPlaneFacts } from './facts.ts';
import { messageOf } from './message.ts';
import type { Send } from './outgoing.ts';

type Settings = Pick<
  Config,
  'AGENT_SMTP_URL' | 'MAIL_FROM' | 'PAGERDUTY_EVENTS_URL' | 'OPSGENIE_API_URL'
>;
type Needs = Pick<Services, 'db' | 'secrets' | 'random' | 'newId' | 'publicUrl'>;

const maxChannels = 20;

/** Types whose messages an agent can send: it has no other service of the operator. */
const typesOfAgents: readonly AlertChannelType[] = [
  'EMAIL',
  'SLACK',
  'WEBHOOK',
  'PAGERDUTY',
  'OPSGENIE',
];

/** Why agents cannot send through a channel of a type; null when they can. */
export function problemOfAgents(
  type: AlertChannelType,
  { AGENT_SMTP_URL: server }: Pick<Config, 'AGENT_SMTP_URL'>,
): string | null {
  if (!typesOfAgents.includes(type)) return `agents cannot send by ${type}`;
  return type === 'EMAIL' && server === undefined
    ? 'agents send mails only where the operator has set AGENT_SMTP_URL'
    : null;
}

const kept: Attempt = { outcome: 'delivered', result: '' };

/** Transports that send nothing. */
function keepingTransports(
  services: Needs,
  config: Settings,
  { accountId, at }: { accountId: string; at: number },
  keep: (message: PreparedMessage) => void,
): Transports {
  const { random, newId, publicUrl } = services;
  const { AGENT_SMTP_URL: server, MAIL_FROM: from } = config;
  const send: Send = ({ method, url, headers, body }) => {
    keep({
      ...{ kind: 'http', method, url: url.href },
      headers: headers.map(([name, value]) => [name, value]),
      body: body === null ? null : Buffer.from(body).toString('base64'),
    });
    return Promise.resolve({ status: 200, statusText: '', headers: {}, body: '', isCut: false });
  };
  return {
    outgoing: { customer: send, operator: send, visitor: send },
    mailer:
      server === undefined
        ? null
        : {
            messageId: (text) => `<${text}@agents>`,
            send({ to, subject, text, html }) {
              keep({ kind: 'mail', server, from, to, subject, text, html });
              return Promise.resolve(kept);
            },
            close() {},
          },
    phone: { missing: [] },
    slackApp: null,
    slackMessages: {
      sentTo: () => Promise.resolve(new Set()),
      open: () => Promise.resolve([]),
      keep: () => Promise.resolve(),
    },
    pagerDutyUrl: config.PAGERDUTY_EVENTS_URL,
    opsgenieUrl: config.OPSGENIE_API_URL ?? null,
    operatorChannelAccounts: [],
    ...{ publicUrl, random, newId },
    clock: { now: () => at },
    variables: () => variablesOfCheck(services, accountId, null),
    signal: new AbortController().signal,
  };
}

type Row = RowOf<'alert_channels'>;
type Messages = ControlPlaneWatch['messages'];

/** Null for a channel that cannot send it, as it is stored. */
async function messageOfAgents(
  services: Needs,
  config: Settings,
  row: Row,
  { at, isOver }: { at: number; isOver: boolean },
): Promise<PreparedMessage | null> {
  const { account_id: accountId, timezone } = row;
  const type = row.type as AlertChannelType;
  const made: unknown[] = [];
  const transports = keepingTransports(services, config, { accountId, at }, (message) => {
    made.push(message);
  });
  const id = `control-plane-${accountId}`;
  const facts: ControlPlaneFacts = { kind: 'control-plane', at, isOver };
  const message = messageOf(facts, id, services.publicUrl, timezone);
  try {
    const stored = fromJson(services.secrets.decryptStored(row.config_json, accountId));
    const channel = channels[type] as Channel<unknown>;
    const channelConfig = channelConfigs[type].parse(stored);
    await channel.deliver({ id, facts, message }, channelConfig, transports);
  } catch {
    // A lost encryption key, or a template that cannot be rendered: its alerts say so.
    return null;
  }
  // An agent would refuse all that comes with one that is none.
  return preparedMessage.safeParse(made[0]).data ?? null;
}

/** What agents of an account send, by channel, in the order of channels; made at an instant. */
export async function messagesOfAgents(
  services: Needs,
  config: Settings,
  accountId: string,
  at: number,
): Promise<Messages> {
  const rows = await ownRows(services.db, 'alert_channels', accountId)
    .where('sent_by_agents', '=', 1)
    .orderBy('id')
    .limit(maxChannels)
    .execute();
  const messages: Messages = [];
  for (const row of rows) {
    const type = row.type as AlertChannelType;
    if (problemOfAgents(type, config) !== null) continue;
    const away = await messageOfAgents(services, config, row, { at, isOver: false });
    if (away === null) continue;
    const back = fromFlag(row.send_recovery)
      ? await messageOfAgents(services, config, row, { at, isOver: true })
      : null;
    messages.push({ channel: `${type} ${row.id}`, away, back });
  }
  return messages;
}
