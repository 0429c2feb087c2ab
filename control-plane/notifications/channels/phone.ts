/** SMS and CALL: a REST API like Twilio's. */
import { dialled } from '@monitor/shared/contract/alert-channel.ts';
import { attemptByHttp, cannotBeSent, type Attempt } from '../attempt.ts';
import {
  pausesOfServices,
  type Channel,
  type Transports,
  type PhoneService,
  type ConfigOf,
} from '../channel.ts';
import { escapeXml, shorten } from '../../core/escape.ts';
import { sentenceOf, subjectOf, type Message } from '../message.ts';
import { gsmText } from './gsm.ts';

const maxTextLength = 320;
const maxSpeechLength = 600;

/** The text message with its link, in at most 320 characters. */
export function smsText(message: Message): string {
  const link = ` ${message.link.url}`;
  // A cut link would not work.
  const room = link.length > maxTextLength - 80 ? maxTextLength : maxTextLength - link.length;
  return (
    gsmText(subjectOf(message), room) + (room === maxTextLength ? '' : gsmText(link, maxTextLength))
  );
}

/** The spoken text, repeated once, as TwiML. */
export function callMarkup(message: Message): string {
  const text = escapeXml(shorten(sentenceOf(message), maxSpeechLength));
  const say = `<Say>${text}</Say>`;
  return `<?xml version="1.0" encoding="UTF-8"?><Response><Pause length="1"/>${say}<Pause length="1"/>${say}</Response>`;
}

async function post(
  resource: 'Messages' | 'Calls',
  fields: Record<string, string>,
  { phone, outgoing, clock, signal }: Transports,
): Promise<Attempt> {
  if ('missing' in phone) {
    return cannotBeSent(
      `this installation cannot send text messages or make calls: the operator has not set ${phone.missing.join(', ')}`,
    );
  }
  const { url, accountSid, authToken, from }: PhoneService = phone;
  const pair = Buffer.from(`${accountSid}:${authToken}`).toString('base64');
  const base = url.replace(/\/+$/, '');
  return attemptByHttp({
    send: outgoing.operator,
    request: {
      method: 'POST',
      url: new URL(
        `${base}/2010-04-01/Accounts/${encodeURIComponent(accountSid)}/${resource}.json`,
      ),
      headers: [
        ['authorization', `Basic ${pair}`],
        ['content-type', 'application/x-www-form-urlencoded'],
        ['accept', 'application/json'],
      ],
      body: new URLSearchParams({ From: from, ...fields }).toString(),
    },
    credentials: [authToken, pair, accountSid],
    now: clock.now(),
    signal,
  });
}

export const smsChannel: Channel<ConfigOf<'SMS'>> = {
  pausesMs: pausesOfServices,
  isOfOperator: true,
  destination: () => 'PHONE',
  deliver: ({ message }, { number }, transports) =>
    post('Messages', { To: dialled(number), Body: smsText(message) }, transports),
};

export const callChannel: Channel<ConfigOf<'SMS'>> = {
  pausesMs: pausesOfServices,
  isOfOperator: true,
  destination: () => 'PHONE',
  deliver: ({ message }, { number }, transports) =>
    post('Calls', { To: dialled(number), Twiml: callMarkup(message) }, transports),
};
