/**
 * Reads the certificate of a server with a handshake only. Invalid certificates are read too: an
 * expired one is the most important to report.
 */
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { Clock } from '@monitor/shared/clock.ts';
import type {
  AssignedCertificate,
  CertificateProblem,
  CertificateTarget,
} from '@monitor/shared/contract/agent-protocol.ts';
import { connectToProxy, openTunnel, parseHttpProxy, resolveProxy } from './http/proxy.ts';
import { resolveByOs, type Address } from './dns/resolve.ts';
import { defaultSecureContext, secureContextOf } from './tls/secure-context.ts';
import { nameInOneLine } from './tls/facts.ts';
import { firstToExpire } from './tls/verified-chain.ts';

const withinMs = 10_000;
const maxNameLength = 2_048;
const maxIssuers = 10;

export interface CertificateQuestion extends CertificateTarget {
  proxyUrl: string | null;
  /** Some servers require a client certificate for a complete handshake. */
  clientCertificate: AssignedCertificate | null;
}

export interface CertificateReading {
  validFrom: number;
  validTo: number;
  issuer: string;
  subject: string;
  fingerprint256: string;
  problem: CertificateProblem | null;
}

const problems: Readonly<Record<string, CertificateProblem>> = {
  CERT_HAS_EXPIRED: 'expired',
  CERT_NOT_YET_VALID: 'not-yet-valid',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'self-signed',
  ERR_TLS_CERT_ALTNAME_INVALID: 'wrong-host',
};

function shortName(name: string | undefined): string {
  return nameInOneLine(name ?? '').slice(0, maxNameLength);
}

/** OpenSSL reports the first problem it finds; a passed date is more important than others. */
function problemOf(
  socket: TLSSocket,
  validity: { validFrom: number; validTo: number },
  now: number,
): CertificateProblem | null {
  if (validity.validTo <= now) return 'expired';
  if (validity.validFrom > now) return 'not-yet-valid';
  if (socket.authorized) return null;
  return problems[String(socket.authorizationError)] ?? 'untrusted';
}

/** When the first certificate of the chain expires: clients refuse the others with it. */
function firstEnd(leaf: X509Certificate, further: string | null): number {
  const issuers: X509Certificate[] = [];
  let next = leaf.issuerCertificate;
  while (next !== undefined && issuers.length < maxIssuers) {
    issuers.push(next);
    next = next.issuerCertificate;
  }
  return Date.parse(firstToExpire(leaf, issuers, further).validTo);
}

function readingOf(socket: TLSSocket, now: number, further: string | null): CertificateReading {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) throw new Error('the server showed no certificate');
  const validFrom = Date.parse(certificate.validFrom);
  const validTo = Date.parse(certificate.validTo);
  return {
    ...{ validFrom, validTo: socket.authorized ? firstEnd(certificate, further) : validTo },
    issuer: shortName(certificate.issuer),
    subject: shortName(certificate.subject),
    fingerprint256: certificate.fingerprint256,
    problem: problemOf(socket, { validFrom, validTo }, now),
  };
}

function secureContextFor(certificate: AssignedCertificate | null) {
  if (certificate === null) return defaultSecureContext();
  try {
    return secureContextOf(certificate);
  } catch {
    // Runs of the check report this problem; most servers present their certificate all the same.
    return defaultSecureContext();
  }
}

/** The address to connect to: that of the proxy if there is one, else one of either family. */
async function resolve(host: string): Promise<Address> {
  const byIpv4 = await resolveByOs(host, 'IPv4');
  if ('address' in byIpv4) return byIpv4.address;
  const byIpv6 = await resolveByOs(host, 'IPv6');
  if ('address' in byIpv6) return byIpv6.address;
  throw new Error(byIpv4.failure.message);
}

/**
 * Reads the certificate within ten seconds after the name is resolved. Throws when there was no
 * handshake, because that says nothing about the certificate.
 */
export async function readCertificate(
  question: CertificateQuestion,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<CertificateReading> {
  const { host, port, servername, proxyUrl } = question;
  const proxy = proxyUrl === null || proxyUrl === '' ? null : parseHttpProxy(proxyUrl);
  const address = proxy === null ? await resolve(host) : await resolveProxy(proxy);
  const secureContext = secureContextFor(question.clientCertificate);
  signal.throwIfAborted();
  return new Promise((resolveReading, reject) => {
    const opened: Socket[] = [];
    const release = (): void => {
      cancelTimeout();
      signal.removeEventListener('abort', onAbort);
      // From the inside out: Node crashes when the socket below TLS is destroyed first.
      for (const socket of opened.toReversed()) socket.destroy();
    };
    const fail = (reason: unknown): void => {
      // Settled first: a destroyed socket emits `close` at once.
      reject(reason instanceof Error ? reason : new Error(String(reason)));
      release();
    };
    const onAbort = (): void => fail(signal.reason);
    const cancelTimeout = clock.after(withinMs, () => {
      fail(new Error(`no handshake within ${withinMs} ms`));
    });
    signal.addEventListener('abort', onAbort, { once: true });
    const shakeHands = (below: ConnectionOptions): void => {
      const socket = connectTls({
        ...below,
        secureContext,
        rejectUnauthorized: false,
        // Without a server name the certificate is verified against `host`, the address.
        ...(servername === null ? { host } : { servername }),
      });
      opened.push(socket);
      socket.on('error', fail);
      socket.once('close', () => fail(new Error('the connection was closed during the handshake')));
      socket.once('secureConnect', () => {
        try {
          resolveReading(readingOf(socket, clock.now(), question.clientCertificate?.ca ?? null));
          // Ended instead of destroyed, so that the server sees a complete handshake; `close` frees
          // the rest.
          socket.destroySoon();
        } catch (error) {
          fail(error);
        }
      });
    };
    if (proxy === null) {
      const target = { host: address.address, port, autoSelectFamily: false };
      shakeHands(target);
      return;
    }
    const tunnel = connectToProxy(proxy, address, () => undefined);
    opened.push(tunnel);
    tunnel.on('error', fail);
    openTunnel(proxy, tunnel, `${host.includes(':') ? `[${host}]` : host}:${port}`, {
      onOpen: () => {
        if (!tunnel.destroyed) shakeHands({ socket: tunnel });
      },
      onFailure: (failure) => fail(new Error(failure.message)),
      onError: fail,
    });
  });
}
