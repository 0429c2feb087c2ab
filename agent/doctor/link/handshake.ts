/** The TLS handshake with the control plane, whatever is wrong with its certificate. */
import { request as httpRequest } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import type { Clock } from '@monitor/shared/clock.ts';
import { refusedHandshake } from '../../link/link-problem.ts';
import { codeOf } from '../../net/failure.ts';
import { handshakeLimits, whenOpen } from './connections.ts';
import type { Destination } from './destination.ts';

const dateWithinMs = 1_500;
const maxChainLength = 10;

export interface ChainLink {
  subject: string;
  issuer: string;
  validFrom: number;
  validTo: number;
  /** Where the certificate of its issuer can be had, as it says. */
  hasIssuerAddress: boolean;
}

export interface HandshakeFacts {
  protocol: string;
  cipher: string;
  /** From that of the server upwards, as the server sent it. */
  chain: ChainLink[];
  /** Names the certificate is for. */
  names: string;
  /** The code of OpenSSL or Node; null where it is trusted. */
  problem: string | null;
  /** What the server says the time is; null where it does not. */
  serverTime: number | null;
}

/** One line: `CN=Example, O=Example`. */
function nameOf(name: object): string {
  return Object.entries(name)
    .map(([key, value]) => `${key}=${Array.isArray(value) ? value.join('+') : String(value)}`)
    .toReversed()
    .join(', ');
}

function chainOf(leaf: DetailedPeerCertificate): ChainLink[] {
  const chain: ChainLink[] = [];
  const seen = new Set<string>();
  let at: DetailedPeerCertificate | undefined = leaf;
  while (at?.fingerprint256 !== undefined && !seen.has(at.fingerprint256)) {
    seen.add(at.fingerprint256);
    chain.push({
      subject: nameOf(at.subject),
      issuer: nameOf(at.issuer),
      validFrom: Date.parse(at.valid_from),
      validTo: Date.parse(at.valid_to),
      hasIssuerAddress: Object.hasOwn(at.infoAccess ?? {}, 'CA Issuers - URI'),
    });
    if (chain.length >= maxChainLength) break;
    at = at.issuerCertificate as DetailedPeerCertificate | undefined;
  }
  return chain;
}

/**
 * The `Date` header of an answer to an anonymous request: the peer is not verified yet. Rejects where the other
 * side refuses the handshake only now, as TLS 1.3 does without a client certificate.
 */
function askTime(socket: TLSSocket, host: string): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      method: 'HEAD',
      path: '/',
      headers: { host, connection: 'close' },
      createConnection: () => socket,
      timeout: dateWithinMs,
    });
    const give = (time: number | null): void => {
      resolve(time);
      request.destroy();
    };
    request.once('timeout', () => give(null));
    request.on('error', (error) => {
      if (refusedHandshake(`${codeOf(error)} ${error.message}`) !== null) reject(error);
      give(null);
    });
    request.once('response', ({ headers }) => {
      const time = Date.parse(headers.date ?? '');
      give(Number.isNaN(time) ? null : time);
    });
    request.end();
  });
}

/** Shakes hands over a socket, which is closed afterwards. Rejects with an error that has a code. */
export async function observeHandshake(
  destination: Destination,
  socket: Socket,
  clock: Clock,
): Promise<HandshakeFacts> {
  const { host } = destination;
  const secure = connectTls({
    socket,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  });
  try {
    await whenOpen(secure, clock, handshakeLimits);
    const leaf = secure.getPeerCertificate(true);
    // Typed as an Error, and documented as one, yet it is a code.
    const problem = secure.authorized ? null : String(secure.authorizationError);
    return {
      protocol: secure.getProtocol() ?? 'unknown',
      cipher: secure.getCipher().standardName,
      chain: chainOf(leaf),
      names: leaf.subjectaltname ?? '',
      problem: problem === null ? null : codeOf({ code: problem }),
      serverTime: await askTime(secure, host),
    };
  } finally {
    secure.destroy();
    socket.destroy();
  }
}
