/** Sends mails through the SMTP server of the operator. */
import { decodedOrAsIs } from '@monitor/shared/http-url.ts';
import { cannotBeSent, resultText, type Attempt } from './attempt.ts';
import { oneLine } from '../core/escape.ts';
import type { Mail } from './facts.ts';
import { ownTimeLimit } from './own-time.ts';

/** Errors that may pass; a rejected address or message is final. */
const networkCodes: ReadonlySet<string> = new Set([
  'ECONNECTION',
  'ETIMEDOUT',
  'ESOCKET',
  'EDNS',
  'ETLS',
  'EPROTOCOL',
  'EAUTH',
  'EABORT',
]);

/** For the connection and the greeting. */
const connectMs = 10_000;

/** For the mail as a whole. */
export const mailTimeoutMs = 60_000;

/** A timer of the client runs on while this process is held up, and would end what the server has taken. */
const socketMs = 3_600_000;

/** Pauses between attempts: greylisting needs minutes. */
export const pausesOfMail: readonly number[] = [
  ...[10_000, 60_000, 300_000, 600_000],
  // A mail server may be down for an hour.
  ...[1_200_000, 1_200_000, 1_200_000],
];

export interface Mailer {
  /** Makes one attempt. `id` and the Message-ID are the same in every attempt. */
  send(mail: Mail, id: string, signal: AbortSignal): Promise<Attempt>;
  /** A Message-ID, or a reference to one, derived from a text. */
  messageId(text: string): string;
  close(): void;
}

/** `Monitor <monitor@shop.example>` → `shop.example`. */
function domainOf(address: string): string {
  return /@([A-Za-z0-9.-]+)/.exec(address)?.[1] ?? 'localhost';
}

function passwordOf(smtpUrl: string): string[] {
  const { username, password } = new URL(smtpUrl);
  const plain = [decodedOrAsIs(password)];
  return username === '' ? plain : [...plain, `\0${decodedOrAsIs(username)}\0${plain[0] ?? ''}`];
}

/** Options in the URL (`?requireTLS=true`, `?tls.rejectUnauthorized=false`) override the ones here. */
async function openTransport(url: string) {
  const { createTransport } = await import('nodemailer');
  return createTransport({
    pool: true,
    url,
    maxConnections: 4,
    maxRequeues: 1,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    idleTimeout: connectMs,
    socketTimeout: socketMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** The SMTP transport is loaded and connects when there is something to send. */
export function openMailer({
  url,
  from,
  timeoutMs = mailTimeoutMs,
}: {
  url: string;
  from: string;
  timeoutMs?: number;
}): Mailer {
  let opening: ReturnType<typeof openTransport> | undefined;
  const domain = domainOf(from);
  const credentials = passwordOf(url);
  const messageId = (text: string): string =>
    `<${text.replace(/[^A-Za-z0-9.-]/g, '-').slice(0, 120)}@${domain}>`;
  return {
    messageId,
    async send({ to, subject, text, html, headers }, id, signal) {
      using limit = ownTimeLimit(timeoutMs, signal);
      try {
        const transport = await (opening ??= openTransport(url));
        const { response } = await transport.sendMail({
          from,
          to: { name: '', address: to },
          subject: oneLine(subject),
          text,
          html,
          messageId: messageId(id),
          headers: Object.fromEntries(
            Object.entries({
              'Auto-Submitted': 'auto-generated',
              'X-Auto-Response-Suppress': 'All',
              ...headers,
            }).map(([name, value]) => [name, oneLine(value)]),
          ),
          signal: limit.signal,
        });
        return { outcome: 'delivered', result: resultText(response ?? 'accepted', credentials) };
      } catch (error) {
        if (limit.isOver) return { outcome: 'failed', result: 'ETIMEDOUT Timeout', isFinal: false };
        const {
          code = '',
          responseCode,
          response,
          message,
        } = error as Error & {
          code?: string;
          responseCode?: number;
          response?: string;
        };
        const isTemporary =
          responseCode === undefined
            ? networkCodes.has(code)
            : responseCode < 500 || code === 'EAUTH';
        const result = resultText(`${code} ${response ?? message}`.trim(), credentials);
        return { outcome: 'failed', result, isFinal: !isTemporary };
      }
    },
    close() {
      void opening?.then((transport) => {
        transport.close({ force: true });
      });
    },
  };
}

/** The failure without a configured mail server. */
export const withoutMailServer = cannotBeSent(
  'this installation cannot send mail: the operator has not set SMTP_URL',
);
