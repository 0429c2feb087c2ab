/** SLACK: an incoming webhook, with blocks in a coloured attachment and a fallback text. */
import { attemptByHttp, cannotBeSent } from '../attempt.ts';
import { pausesOfServices, type Channel, type ConfigOf } from '../channel.ts';
import { shorten } from '../../core/escape.ts';
import { sentenceOf, type Message } from '../message.ts';

const colours = {
  failing: '#c4314b',
  degraded: '#c77700',
  recovered: '#1f8a4c',
  withdrawn: '#5f6368',
  notice: '#4a6fa5',
} as const;
const marks = {
  failing: ':red_circle:',
  degraded: ':large_orange_circle:',
  recovered: ':large_green_circle:',
  withdrawn: ':white_circle:',
  notice: ':information_source:',
} as const;

/** Escapes the three special characters, so that no name can mention a whole channel. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Escapes and cuts to a length; it cuts before escaping, so that no entity is split. */
function mrkdwn(text: string, length: number): string {
  for (let cut = length; ;) {
    const escaped = escapeSlack(shorten(text, cut));
    if (escaped.length <= length) return escaped;
    cut -= Math.ceil((escaped.length - length) / 5);
  }
}

/** A section has at most ten fields; a message at most 50 blocks. */
const fieldsOfSection = 10;
const maxSections = 45;
/** What is longer stands below the others, across both columns. */
const maxField = 380;
const maxLabel = 200;
/** Of the 3000 characters that a section may have. */
const maxText = 2_700;

const detailText = ({ label, value }: Message['details'][number]): string =>
  `*${mrkdwn(label, maxLabel)}*\n${mrkdwn(value, maxText)}`;

function sectionsOf(details: Message['details']): object[] {
  const sections: object[] = [];
  let fields: object[] = [];
  for (const detail of details) {
    const text = { type: 'mrkdwn', text: detailText(detail) };
    if (escapeSlack(detail.value).length > maxField) {
      sections.push({ type: 'section', text });
      fields = [];
      continue;
    }
    if (fields.length % fieldsOfSection === 0) {
      fields = [];
      sections.push({ type: 'section', fields });
    }
    fields.push(text);
  }
  return sections.slice(0, maxSections);
}

/** The body of the webhook. */
export function slackBody(message: Message, channel: string | null): unknown {
  const { tone, title, reason, details, link, actions } = message;
  const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text } });
  const blocks = [
    section(`${marks[tone]} *${mrkdwn(title, 300)}*`),
    ...(reason === '' ? [] : [section(mrkdwn(reason, 600))]),
    ...sectionsOf(details),
    section(
      [link, ...actions]
        .map(({ url, text }) => `<${encodeURI(url)}|${escapeSlack(text)}>`)
        .join('   '),
    ),
  ];
  return {
    ...(channel === null || channel === '' ? {} : { channel }),
    text: mrkdwn(sentenceOf(message), 600),
    attachments: [{ color: colours[tone], fallback: mrkdwn(sentenceOf(message), 600), blocks }],
  };
}

export const slackChannel: Channel<ConfigOf<'SLACK'>> = {
  pausesMs: pausesOfServices,
  destination: ({ url }) => (URL.canParse(url) ? new URL(url).host : url),
  async deliver({ message }, { url, channel }, { outgoing, clock, signal }) {
    if (!URL.canParse(url)) return cannotBeSent('"url" is not an address');
    return attemptByHttp({
      send: outgoing.customer,
      request: {
        method: 'POST',
        url: new URL(url),
        headers: [['content-type', 'application/json']],
        body: JSON.stringify(slackBody(message, channel ?? null)),
      },
      // The path is a credential.
      credentials: [url, new URL(url).pathname],
      now: clock.now(),
      signal,
    });
  },
};
