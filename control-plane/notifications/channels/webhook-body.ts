/** Default webhook bodies: the format of a known service, or the format of this product. */
import { escapeMarkdownLinks, shorten } from '../../core/escape.ts';
import { sentenceOf, type Message } from '../message.ts';
import type { AlertVariables } from '../templates/alert-variables.ts';

const marks = {
  failing: '🔴',
  degraded: '🟠',
  recovered: '🟢',
  withdrawn: '⚪',
  notice: 'ℹ️',
} as const;
const cardColours = {
  failing: 'attention',
  degraded: 'warning',
  recovered: 'good',
  withdrawn: 'default',
  notice: 'default',
} as const;

/** https://discord.com/developers/docs/resources/webhook: mentions in names of checks are disabled. */
function discordBody(message: Message): unknown {
  const lines = message.details.map(({ label, value }) => `${label}: ${value}`);
  const text = [`${marks[message.tone]} ${sentenceOf(message)}`, ...lines, message.link.url].join(
    '\n',
  );
  return { content: shorten(escapeMarkdownLinks(text), 2000), allowed_mentions: { parse: [] } };
}

/** A message with one Adaptive Card, for workflows and connectors of Teams. */
function teamsBody(message: Message): unknown {
  const { title, reason, details, link, tone } = message;
  const line = (text: string, more: object) => ({
    ...{ type: 'TextBlock', text: escapeMarkdownLinks(text), wrap: true, ...more },
  });
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      line(title, { weight: 'bolder', size: 'medium', color: cardColours[tone] }),
      ...(reason === '' ? [] : [line(reason, {})]),
      {
        type: 'FactSet',
        facts: details.map(({ label, value }) => ({
          ...{ title: escapeMarkdownLinks(label), value: escapeMarkdownLinks(value) },
        })),
      },
    ],
    actions: [{ type: 'Action.OpenUrl', title: link.text, url: link.url }],
  };
  return {
    type: 'message',
    // Beside the card, some tags are rendered as well.
    text: escapeMarkdownLinks(sentenceOf(message)).replace(/<(?=[a-z/!])/gi, '&lt;'),
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content }],
  };
}

/** Type, instant and template variables in the envelope of Standard Webhooks. */
function ownBody(message: Message, variables: AlertVariables): unknown {
  return {
    type: variables['ALERT_TYPE'],
    timestamp: new Date(message.at).toISOString(),
    data: variables,
  };
}

/** The default body as JSON text. */
export function defaultBody(
  webhookType: string | null,
  message: Message,
  variables: AlertVariables,
): string {
  switch (webhookType) {
    case 'WEBHOOK_DISCORD':
      return JSON.stringify(discordBody(message));
    case 'WEBHOOK_MSTEAMS':
      return JSON.stringify(teamsBody(message));
    default:
      return JSON.stringify(ownBody(message, variables));
  }
}
