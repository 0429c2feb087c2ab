/** One TLS handshake with a server, whatever its certificate is like, and what it showed. */
import { X509Certificate } from 'node:crypto';
import { connect, isIP, type Socket } from 'node:net';
import {
  connect as connectTls,
  type DetailedPeerCertificate,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { StartTls } from '@monitor/shared/contract/checks/ssl.ts';
import type { ConnectionTrail } from '../../net/connection-trail.ts';
import { afterTargetTime } from '../../net/deadline.ts';
import { failureOf, observeError, timedOut } from '../../net/failure.ts';
import { startTls } from '../../net/tcp/start-tls.ts';
import { OwnDelay } from '../../net/own-delay.ts';
import type { Address } from '../../net/dns/resolve.ts';
import type { RunnerContext } from '../runner.ts';

/** TCP has its own time, for all addresses; that of the handshake begins once it is connected. */
export const maxConnectMs = 10_000;

/** Node gives these away only while the socket is open. */
export interface SeenServer {
  leaf: X509Certificate;
  /** Those above it, as far as they were sent; the last one also where it is trusted here. */
  issuers: X509Certificate[];
  /** As Node says it: `TLSv1.3`. */
  protocol: string;
  /** Its name at IANA. */
  cipherSuite: string;
  /** Why OpenSSL does not trust the chain, as its code; null where it does. */
  chainError: string | null;
  /** The OCSP answer of the handshake. */
  staple: Uint8Array | null;
}

export interface Handshake {
  /** On the monotonic clock; null where it was not reached. With StartTLS when the handshake may begin. */
  connectedAt: number | null;
  securedAt: number | null;
  /** Part of the handshake in which the server may have waited for the agent, in ms. */
  unexplainedMs: number;
  seen: SeenServer | null;
  failure: Failure | null;
}

export interface HandshakeOptions {
  address: Address;
  host: string;
  port: number;
  /** What is asked for and verified. An address is not sent: RFC 6066, 3. */
  serverName: string;
  secureContext: SecureContext;
  /** Said before the handshake; null where the connection begins with it. */
  startTls: StartTls | null;
  connectMs: number;
  timeoutMs: number;
}

/** More than any sound server sends. */
const maxIssuers = 10;

/**
 * The certificate and those above it; none where none was shown. Node gives them away once, and completes
 * them with the authority that is trusted here in this form alone.
 */
function certificatesOf(socket: TLSSocket): X509Certificate[] {
  const found: X509Certificate[] = [];
  let next = socket.getPeerCertificate(true) as DetailedPeerCertificate | undefined;
  while (next?.raw !== undefined && found.length <= maxIssuers) {
    found.push(new X509Certificate(next.raw));
    // A root is its own issuer.
    const { issuerCertificate: issuer, fingerprint256 } = next;
    next = issuer?.fingerprint256 === fingerprint256 ? undefined : issuer;
  }
  return found;
}

/** Throws where it showed no certificate, or one that cannot be read. */
function seenOf(socket: TLSSocket, staple: Uint8Array | null): SeenServer {
  const [leaf, ...issuers] = certificatesOf(socket);
  if (leaf === undefined) throw new Error('the server showed no certificate');
  const { authorized, authorizationError } = socket;
  return {
    ...{ leaf, issuers, staple },
    protocol: socket.getProtocol() ?? '',
    cipherSuite: socket.getCipher().standardName,
    chainError: authorized ? null : String(authorizationError),
  };
}

/** A failure of this check is one of the network: it is retried by `onlyOn`, unlike a bad certificate. */
function ofNetwork(phase: string, failure: Failure): Failure {
  const isTimeout = failure.code === 'TIMEOUT' || failure.code === 'ETIMEDOUT';
  return { ...failure, phase: isTimeout ? 'timeout' : phase, isNetworkError: true };
}

/** Connects, shakes hands and disconnects. Rejects with an AgentError for a problem of this machine. */
export function shakeHands(
  options: HandshakeOptions,
  {
    clock,
    network,
    signal,
    waitedMs,
  }: Pick<RunnerContext, 'clock' | 'network' | 'signal' | 'waitedMs'>,
  trail: ConnectionTrail,
): Promise<Handshake> {
  const { address, host, port, serverName, secureContext, connectMs, timeoutMs } = options;
  const subject = `${host}:${port}`;
  return new Promise((resolve, reject) => {
    const result: Handshake = {
      ...{ connectedAt: null, securedAt: null, unexplainedMs: 0, seen: null, failure: null },
    };
    const delay = new OwnDelay(clock, network.tcpTimes, clock.monotonic());
    const opened: Socket[] = [];
    let staple: Uint8Array | null = null;
    let isSettled = false;
    let cancelTimeout = (): void => undefined;
    const settle = (failure: Failure | null): void => {
      if (isSettled) return;
      isSettled = true;
      cancelTimeout();
      signal.removeEventListener('abort', onAbort);
      result.failure = failure;
      if (failure !== null) {
        trail.failed(failure, opened[0]);
        // From the inside out: Node crashes when what TLS stands on is taken away first.
        for (const socket of opened.toReversed()) socket.destroy();
      }
      resolve(result);
    };
    const phase = (): 'connect' | 'handshake' =>
      result.connectedAt === null ? 'connect' : 'handshake';
    const onAbort = (): void => {
      settle(failureOf(phase(), 'CANCELLED', subject, 'the run was cancelled'));
    };
    const limit = (ms: number): void => {
      cancelTimeout();
      const waitedBefore = waitedMs();
      const ownMs = (): number => delay.takenMs(waitedMs() - waitedBefore, phase() === 'handshake');
      cancelTimeout = afterTargetTime(clock, ms, ownMs, () => {
        settle(ofNetwork(phase(), timedOut(phase(), subject, ms)));
      });
    };
    const onError = (error: unknown): void => {
      if (isSettled) return;
      try {
        const failure = observeError(phase(), error, subject, { hasLeft: trail.flow !== null });
        settle(ofNetwork(phase(), failure));
      } catch (fault) {
        isSettled = true;
        cancelTimeout();
        signal.removeEventListener('abort', onAbort);
        for (const socket of opened.toReversed()) socket.destroy();
        reject(fault instanceof Error ? fault : new Error(String(fault)));
      }
    };
    const onClose = (): void => {
      const closed = failureOf(phase(), 'SOCKET_CLOSED', subject);
      settle(ofNetwork(phase(), closed));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    limit(connectMs);
    const raw = connect({ host: address.address, port, autoSelectFamily: false });
    opened.push(raw);
    trail.watch(raw, { ...address, port, isProxy: false });
    raw.on('error', onError);
    raw.once('close', onClose);
    raw.once('connect', () => {
      if (isSettled) return;
      result.connectedAt = delay.connectedAt(raw);
      if (options.startTls === null) {
        begin();
        return;
      }
      limit(timeoutMs);
      startTls(raw, options.startTls, serverName).then(() => {
        if (isSettled) return;
        result.connectedAt = delay.turnAt(raw);
        begin();
      }, onError);
    });
    const begin = (): void => {
      const unexplainedMs = delay.unexplainedMs;
      limit(timeoutMs);
      const secure = connectTls({
        ...{ socket: raw, secureContext, rejectUnauthorized: false, requestOCSP: true },
        ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
        // The name is verified by itself, so that a bad chain does not hide a wrong name.
        checkServerIdentity: () => undefined,
      });
      opened.push(secure);
      secure.on('error', onError);
      secure.once('OCSPResponse', (answer: Buffer | null) => {
        staple = answer === null || answer.length === 0 ? null : answer;
      });
      secure.once('secureConnect', () => {
        if (isSettled) return;
        result.securedAt = delay.securedAt(secure);
        result.unexplainedMs = delay.unexplainedMs - unexplainedMs;
        try {
          result.seen = seenOf(secure, staple);
        } catch (error) {
          onError(error);
          return;
        }
        settle(null);
        // Ended rather than cut off: to the server it was a whole handshake.
        secure.destroySoon();
      });
    };
  });
}
