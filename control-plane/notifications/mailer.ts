/** Hands mails to the mail server of the operator. */
import { createTransport } from 'nodemailer';
import { cannotBeSent, resultText, type Attempt } from './attempt.ts';
import { oneLine } from '../core/escape.ts';
import type { Mail } from './facts.ts';

/** What a server says about an address or a message does not change; what it says about us may. */
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

const timeoutMs = 10_000;

/** Pauses after attempts to mail: servers that turn strangers away at first want minutes. */
export const pausesOfMail: readonly number[] = [
  ...[10_000, 60_000, 300_000, 600_000],
  // A mail server may be away for an hour.
  ...[1_200_000, 1_200_000, 1_200_000],
];

export interface Mailer {
  /** Sends once. `id` is the same in every attempt, and with it the Message-ID. */
  send(mail: Mail, id: string, signal: AbortSignal): Promise<Attempt>;
  /** A Message-ID, or a reference to one, made of a text that is the same each time. */
  messageId(text: string): string;
  close(): void;
}

/** `Monitor <monitor@shop.example>` → `shop.example`. */
function domainOf(address: string): string {
  return /@([A-Za-z0-9.-]+)/.exec(address)?.[1] ?? 'localhost';
}

function passwordOf(smtpUrl: string): string[] {
  const { username, password } = new URL(smtpUrl);
  const plain = [decodeURIComponent(password)];
  return username === ''
    ? plain
    : [...plain, `\0${decodeURIComponent(username)}\0${plain[0] ?? ''}`];
}

/**
 * Opens the way to a mail server; connections are made when there is something to send. Options that
 * the URL gives (`?requireTLS=true`, `?tls.rejectUnauthorized=false`) come before those here.
 */
export function openMailer({ url, from }: { url: string; from: string }): Mailer {
  const transport = createTransport({
    pool: true,
    url,
    maxConnections: 4,
    maxRequeues: 1,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = domainOf(from);
  const credentials = passwordOf(url);
  const messageId = (text: string): string =>
    `<${text.replace(/[^A-Za-z0-9.-]/g, '-').slice(0, 120)}@${domain}>`;
  return {
    messageId,
    async send({ to, subject, text, html, headers }, id, signal) {
      try {
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
          signal,
        });
        return { outcome: 'delivered', result: resultText(response ?? 'accepted', credentials) };
      } catch (error) {
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
      transport.close();
    },
  };
}

/** What is said where mail cannot be sent. */
export const withoutMailServer = cannotBeSent(
  'this installation cannot send mail: the operator has not set SMTP_URL',
);
