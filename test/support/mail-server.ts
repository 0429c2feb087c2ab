/** A real SMTP server with STARTTLS and AUTH, and what it was given, taken apart. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { selfSigned } from './certificates.ts';
import { eventually } from './system.ts';

export interface ReceivedMail {
  from: string;
  to: string[];
  isSecure: boolean;
  user: string | undefined;
  /** Unfolded, lower-case names. */
  headers: Map<string, string>;
  text: string;
  html: string;
  raw: string;
}

export interface MailServer extends AsyncDisposable {
  /** For SMTP_URL, with the credentials. */
  url: string;
  received: ReceivedMail[];
  /** Subject and text of the first mail to an address that matches. Waits for it. */
  mailTo(address: string, pattern: RegExp): Promise<string>;
}

function headersOf(block: string): Map<string, string> {
  const lines = block.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
  return new Map(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
    }),
  );
}

function split(part: string): [headers: Map<string, string>, body: string] {
  const at = part.indexOf('\r\n\r\n');
  return [headersOf(part.slice(0, at)), part.slice(at + 4)];
}

function decoded(body: string, encoding: string | undefined): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8');
  if (encoding !== 'quoted-printable') return body;
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** `=?UTF-8?Q?…?=` → text. */
export function decodedWords(text: string): string {
  return text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?UTF-8\?([QB])\?(.*?)\?=/gi, (_whole, kind: string, words: string) =>
      kind.toUpperCase() === 'B'
        ? Buffer.from(words, 'base64').toString('utf8')
        : decoded(words.replaceAll('_', ' '), 'quoted-printable'),
    );
}

function parse(raw: string): Pick<ReceivedMail, 'headers' | 'text' | 'html' | 'raw'> {
  const [headers, body] = split(raw);
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type') ?? '')?.[1];
  const parts =
    boundary === undefined
      ? []
      : body.split(`--${boundary}`).map((part) => split(part.trimStart()));
  const of = (type: string): string => {
    const found = parts.find(([own]) => own.get('content-type')?.startsWith(type));
    return found === undefined ? '' : decoded(found[1], found[0].get('content-transfer-encoding'));
  };
  return { headers, text: of('text/plain'), html: of('text/html'), raw };
}

/** `refuse` may throw at a recipient, as servers do: an error with `responseCode`. */
export async function mailServer(
  refuse: (address: string) => Error | null = () => null,
  options: SMTPServerOptions = {},
): Promise<MailServer> {
  const received: ReceivedMail[] = [];
  const server = new SMTPServer({
    ...(await selfSigned({ host: 'mail.example', validForDays: 5 })),
    authOptional: false,
    logger: false,
    onAuth({ username, password }, _session, callback) {
      if (username === 'monitor' && password === 'mail-pass/word')
        callback(null, { user: username });
      else callback(Object.assign(new Error(`no, ${String(password)}`), { responseCode: 535 }));
    },
    onRcptTo({ address }, _session, callback) {
      callback(refuse(address));
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          isSecure: session.secure,
          user: session.user as string | undefined,
          ...parse(Buffer.concat(chunks).toString('utf8')),
        });
        callback(null);
      });
    },
    ...options,
  });
  // Clients that go away in the middle of a word.
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://monitor:mail-pass%2Fword@127.0.0.1:${port}/?requireTLS=true&tls.rejectUnauthorized=false`,
    received,
    async mailTo(address, pattern) {
      const contents = (): string[] =>
        received
          .filter(({ to }) => to.includes(address))
          .map(({ headers, text }) => `${decodedWords(headers.get('subject') ?? '')}\n\n${text}`);
      const find = (): string | undefined => contents().find((content) => pattern.test(content));
      await eventually(
        () => find() !== undefined,
        () => `a mail to ${address} like ${String(pattern)}, only: ${contents().join('\n---\n')}`,
      );
      return find() ?? '';
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(resolve);
      }),
  };
}
