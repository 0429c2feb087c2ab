/**
 * Why a handshake failed before it began: OpenSSL drops the bytes that say it, so the server is greeted once more
 * in the same way, and the beginning of its answer is read.
 */
import { connect as connectTcp } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls, type SecureContext } from 'node:tls';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { Address } from '../dns/resolve.ts';
import { alertOf, sentenceOfAlert } from '../tls-alert.ts';

export interface Greeted {
  address: Address;
  port: number;
  /** What was offered. */
  secureContext: SecureContext;
  /** Absent for an address. */
  serverName?: string;
}

interface Tools {
  clock: Clock;
  signal: AbortSignal;
}

/** Enough for a greeting over a slow way; the run is over but for its message. */
const answerWithinMs = 2_000;
const telltaleBytes = 64;

/** What servers say first, or to a hello of TLS. */
const protocols: readonly (readonly [name: string, begin: RegExp])[] = [
  ['TLS', /^[\x14-\x17]\x03[\0-\x04]/],
  ['HTTP/2 without TLS', /^\0..\x04.\0{4}/s],
  ['HTTP/1 without TLS', /^HTTP\/|^\s*<(!doctype|html)\b/i],
  ['SSH', /^SSH-/],
  ['SMTP', /^220[ -].*(E?SMTP|mail)/i],
  ['FTP', /^220[ -].*FTP/i],
  ['SMTP or FTP', /^220[ -]/],
  ['POP3', /^\+OK/],
  ['IMAP', /^\* (OK|PREAUTH|BYE)/],
  ['XMPP', /^<\?xml|^<stream/],
  ['MySQL', /^...\0\x0a\d/s],
  ['VNC', /^RFB \d/],
  ['Redis', /^-(ERR|NOAUTH|DENIED)/],
];
/** They have TLS in the connection, after StartTLS. */
const startTls = /^(SMTP|FTP|SMTP or FTP|POP3|IMAP|XMPP|MySQL)$/;

/** A server of TLS that refuses a hello at once: an alert of a handshake failure or of its version. */
const refusedHello = /^\x15\x03.\0\x02.[\x28\x46\x47]/s;

/** The hello of TLS as Node sends it. */
function helloOf({ secureContext, serverName }: Greeted): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const wire = new Duplex({
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      resolve(chunk);
      done();
    },
  });
  const options = { socket: wire, secureContext, rejectUnauthorized: false };
  const tls = connectTls(
    serverName === undefined ? options : { ...options, servername: serverName },
  );
  tls.on('error', () => undefined);
  return promise.finally(() => {
    tls.destroy();
    wire.destroy();
  });
}

/** Ranges of codes: RFC 5246, 5288, 5289, 6209, 6655, 7905, 8446. */
const cipherSuites: readonly (readonly [
  cipher: string,
  ...(readonly [from: number, to: number])[],
])[] = [
  ['AES-GCM', [0x9c, 0xa3], [0x1301, 0x1302], [0xc02b, 0xc032]],
  ['ChaCha20', [0x1303, 0x1303], [0xcca8, 0xccae]],
  ['AES-CCM', [0x1304, 0x1305], [0xc09c, 0xc0af]],
  ['ARIA-GCM', [0xc050, 0xc061]],
  [
    'AES-CBC',
    [0x2f, 0x3a],
    [0x3c, 0x40],
    [0x67, 0x6b],
    [0xc009, 0xc00a],
    [0xc013, 0xc014],
    [0xc023, 0xc028],
  ],
];

/** The versions and ciphers in a hello. RFC 8446, 4.1.2. */
function offerIn(hello: Buffer): string {
  const session = hello[43] ?? 0;
  const ciphers = hello.readUInt16BE(44 + session) / 2;
  const versions: string[] = [];
  const codes = Array.from({ length: ciphers }, (_, index) =>
    hello.readUInt16BE(46 + session + index * 2),
  );
  const names = cipherSuites.flatMap(([cipher, ...ranges]) =>
    codes.some((code) => ranges.some(([from, to]) => code >= from && code <= to)) ? cipher : [],
  );
  let at = 46 + session + ciphers * 2;
  at += 1 + (hello[at] ?? 0) + 2;
  while (at + 4 <= hello.length) {
    const [type, length] = [hello.readUInt16BE(at), hello.readUInt16BE(at + 2)];
    const content = hello.subarray(at + 5, at + 4 + length);
    for (let index = 0; type === 43 && index + 1 < content.length; index += 2)
      if (content[index] === 3) versions.push(`1.${(content[index + 1] ?? 0) - 1}`);
    at += 4 + length;
  }
  return `TLS ${versions.join(', ')} with ${ciphers} cipher suites of ${names.join(', ')}`;
}

/** The beginning of what the server says; empty where it says nothing. */
async function answerTo(hello: Buffer, { address, port }: Greeted, { clock, signal }: Tools) {
  const { promise, resolve } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  const end = (): void => resolve(Buffer.concat(chunks).toString('latin1'));
  const socket = connectTcp({ host: address.address, port, autoSelectFamily: false });
  const cancel = clock.after(answerWithinMs, end);
  signal.addEventListener('abort', end, { once: true });
  socket.on('error', end);
  socket.once('close', end);
  socket.once('connect', () => socket.write(hello));
  socket.on('data', (chunk) => {
    chunks.push(chunk);
    const seen = Buffer.concat(chunks);
    if (seen.length >= telltaleBytes || seen.includes('\n') || seen[0] === 0x15) end();
  });
  try {
    return await promise;
  } finally {
    cancel();
    signal.removeEventListener('abort', end);
    socket.destroy();
  }
}

/** Failures that say that no TLS, or none that fits, was spoken. OpenSSL has it in the code or the message. */
function isUnexplained({ code, message }: Failure): boolean {
  const reason = `${code} ${message}`.replaceAll('_', ' ');
  return (
    /wrong version number|packet length too long|record layer failure/i.test(reason) ||
    /alert (handshake failure|protocol version|insufficient security)/i.test(reason) ||
    [40, 70, 71].includes(alertOf({ message }) ?? 0)
  );
}

/** A failure of a handshake with what the server speaks, or with what was offered in vain. */
export async function withSecondLook(
  failure: Failure,
  greeted: Greeted,
  tools: Tools,
): Promise<Failure> {
  if (tools.signal.aborted || !isUnexplained(failure)) return failure;
  const hello = await helloOf(greeted);
  const answer = await answerTo(hello, greeted, tools);
  const subject = failure.message.slice(failure.message.lastIndexOf(': '));
  if (refusedHello.test(answer)) {
    const said = sentenceOfAlert(answer.charCodeAt(6));
    const isHandshakeFailure = answer.charCodeAt(6) === 40;
    const name = greeted.serverName ?? 'an address';
    const orName = isHandshakeFailure ? `, or has no certificate for ${name}` : '';
    const message = `${said}; it takes none of the versions and ciphers that were offered (${offerIn(hello)})${orName}${subject}`;
    return { ...failure, message };
  }
  const spoken = protocolOf(answer);
  if (spoken === null || spoken.name === 'TLS') return failure;
  const advice = startTls.test(spoken.name)
    ? ', and has TLS only after StartTLS, if at all: SSL checks take `startTls`'
    : '';
  return { ...failure, message: `the server speaks ${spoken.shown}, not TLS${advice}${subject}` };
}

/** What a server speaks that did not take HTTP/2 without TLS; null where nobody can say, or where it is that. */
export async function spokenInstead(greeted: Greeted, tools: Tools): Promise<string | null> {
  if (tools.signal.aborted) return null;
  const spoken = protocolOf(await answerTo(await helloOf(greeted), greeted, tools));
  return spoken === null || spoken.name === 'HTTP/2 without TLS' ? null : spoken.shown;
}

/** What a server speaks by the beginning of what it says; null for a few bytes that say nothing. */
export function protocolOf(answer: string): { name: string; shown: string } | null {
  const name = protocols.find(([, begin]) => begin.test(answer))?.[0];
  const line = /^[\x20-\x7e]{3,}/.exec(answer)?.[0].slice(0, telltaleBytes);
  const isText = line !== undefined && name !== 'TLS';
  if (name !== undefined) return { name, shown: isText ? `${name} ("${line}")` : name };
  return isText ? { name: '', shown: `another protocol ("${line}")` } : null;
}
