/**
 * One HTTP request on its own connection, timed by socket events. No agent, no pool, no keep-alive:
 * every probe pays for its own connection, like a new visitor.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import {
  connect as connectTls,
  type ConnectionOptions,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import { AgentError } from '../../errors.ts';
import type { ConnectionTrail } from '../connection-trail.ts';
import { codeOf, failureOf, observeError, timedOut, withMissingIssuer } from '../failure.ts';
import { askHttp2 } from './ask-http2.ts';
import {
  connectToProxy,
  openTunnel,
  proxyProblem,
  proxyHeaders,
  refusalOfProxy,
  type HttpProxy,
} from './proxy.ts';
import { headerOf, problemOfHeader } from './headers.ts';
import { readAnswer, type Answer } from './read-answer.ts';
import { readBody, type BodyLimits, type BodyReading, type ReadBody } from './read-body.ts';
import type { Address } from '../dns/resolve.ts';
import type { ReadTcpTimes } from '../../native/tcp-times.ts';
import { afterConnectTime, afterTargetTime } from '../deadline.ts';
import { OwnDelay } from '../own-delay.ts';
import { connectVerified, tlsName } from '../tls/connect-verified.ts';
import {
  certificateFacts,
  complaintOf,
  describeHandshake,
  onRefusedChain,
  type CertificateFacts,
} from '../tls/facts.ts';

export interface ExchangeRequest extends BodyLimits {
  method: string;
  url: URL;
  /** Address of the target or of the proxy. */
  address: Address;
  proxy: HttpProxy | null;
  headers: Record<string, string>;
  body: Buffer | null;
  /** By HTTP/2, where it is secure. */
  isHttp2: boolean;
  /** Accepts any certificate. */
  skipSsl: boolean;
  /** TLS trust and identity. */
  secureContext: SecureContext;
  /** Server name for handshake and verification, instead of the host. */
  serverName?: string;
  /** Called with each connection after its handshake. */
  onSecure?: (socket: TLSSocket) => void;
  /** When the address was known, on the monotonic clock. What follows until the connection is begun is the agent's own. */
  readyAt: number;
  /** Timeout from now, in ms. */
  timeoutMs: number;
  /** Shorter, for connecting alone. */
  connectMs: number;
  /** How long the agent has waited in this attempt, in ms. */
  waitedMs: () => number;
  /** The configured timeout, for messages. */
  limitMs: number;
  signal: AbortSignal;
  clock: Clock;
  tcpTimes: ReadTcpTimes;
  /** Records the events of the exchange. */
  trail: ConnectionTrail;
  /** What of the answer deviates from HTTP, where it can be read all the same. */
  onDeviation: (text: string) => void;
  /** True where the head is all that is wanted of an answer. */
  isEnoughHead?: (status: number, location: string | undefined) => boolean;
}

/** Instants on the monotonic clock, in ms, without the agent's own delay; null for what did not happen. */
export interface ExchangeTimes {
  connect: number | null;
  secureConnect: number | null;
  response: number | null;
  end: number | null;
}

export interface ExchangeResponse extends ReadBody {
  status: number;
  statusText: string;
  headers: IncomingHttpHeaders;
  httpVersion: string;
  certificate: CertificateFacts | null;
}

export interface Exchange {
  times: ExchangeTimes;
  /** The agent's own delay, in ms. */
  heldMs: number;
  /** Time in which the target may have waited for the agent, in ms. */
  unexplainedMs: number;
  response: ExchangeResponse | null;
  /** The header with its bytes, percent-encoded. */
  location?: string | undefined;
  /** The values of `Set-Cookie`, a character for each byte. */
  cookies: readonly string[];
  failure: Failure | null;
}

function phaseOf(times: ExchangeTimes, isSecure: boolean): string {
  if (times.response !== null) return 'body';
  if (times.connect === null) return 'connect';
  return isSecure && times.secureConnect === null ? 'tls' : 'headers';
}

/** The request target: the whole URL for a proxy, otherwise the path. */
function requestTarget({ url, proxy }: ExchangeRequest, isSecure: boolean): string {
  const path = url.pathname + url.search;
  return proxy === null || isSecure ? path : `${url.protocol}//${url.host}${path}`;
}

const emptyBody: ReadBody = { bytes: Buffer.alloc(0), size: 0, isStopped: false, isCut: false };

const invalid = (problem: string): Error =>
  Object.assign(new Error(problem), { code: 'INVALID_REQUEST' });

/** The request as it is sent. */
function encodeRequest(exchange: ExchangeRequest, isSecure: boolean): Buffer {
  const { method, proxy, body } = exchange;
  if (!/^[!#$%&'*+.^_`|~0-9A-Z-]+$/i.test(method)) throw invalid('the method is no token');
  const headers = { ...exchange.headers };
  if (proxy !== null && !isSecure) Object.assign(headers, proxyHeaders(proxy));
  const isChunked = headerOf(headers, 'transfer-encoding') !== undefined;
  if (body !== null && !isChunked && headerOf(headers, 'content-length') === undefined) {
    headers['Content-Length'] = String(body.length);
  }
  const lines = [`${method} ${requestTarget(exchange, isSecure)} HTTP/1.1`];
  for (const [name, value] of Object.entries(headers)) {
    const problem = problemOfHeader(name, value);
    if (problem !== null) throw invalid(problem);
    lines.push(`${name}: ${value}`);
  }
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  const size = (body?.length ?? 0).toString(16);
  if (!isChunked) return body === null ? head : Buffer.concat([head, body]);
  const chunk = body === null ? [] : [Buffer.from(`${size}\r\n`), body, Buffer.from('\r\n')];
  return Buffer.concat([head, ...chunk, Buffer.from('0\r\n\r\n')]);
}

/** Makes the exchange. Rejects only with an AgentError. */
export function exchangeHttp(exchange: ExchangeRequest): Promise<Exchange> {
  const { url, clock, address, proxy, trail } = exchange;
  const isSecure = url.protocol === 'https:';
  const isHttp2 = isSecure && exchange.isHttp2;
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  const subject = proxy === null ? `${url.host} (${address.address})` : `${url.host} (by proxy)`;
  const times: ExchangeTimes = {
    connect: null,
    secureConnect: null,
    response: null,
    end: null,
  };
  const delay = new OwnDelay(clock, exchange.tcpTimes, exchange.readyAt);
  return new Promise((resolve, reject) => {
    let response: Omit<ExchangeResponse, keyof ReadBody> | null = null;
    let reading: BodyReading | undefined;
    let isSettled = false;
    let isProxyReached = proxy === null;
    let refusedIssuer: string | null = null;
    let answer: Answer | undefined;
    let socket: Socket | undefined;
    let tunnel: Socket | undefined;
    let certificate: CertificateFacts | null = null;

    const release = (): void => {
      isSettled = true;
      cancelTimeout();
      cancelConnect();
      exchange.signal.removeEventListener('abort', onAbort);
      reading?.stop();
      socket?.destroy();
      tunnel?.destroy();
    };
    const settle = (failure: Failure | null): void => {
      if (isSettled) return;
      times.end ??= delay.now();
      const body = reading?.taken() ?? emptyBody;
      if (failure !== null) {
        if (times.response !== null) trail.add('body', `${body.size} bytes of the body had come`);
        trail.failed(failure, tunnel ?? socket);
      }
      release();
      resolve({
        times,
        heldMs: delay.ms,
        unexplainedMs: delay.unexplainedMs,
        response: response === null ? null : { ...response, ...body },
        location: answer?.location,
        cookies: answer?.cookies ?? [],
        failure,
      });
    };
    const rejectWith = (fault: unknown): void => {
      if (isSettled) return;
      release();
      reject(fault instanceof Error ? fault : new Error(String(fault)));
    };
    const fail = (error: unknown): void => {
      if (isSettled) return;
      const phase = phaseOf(times, isSecure);
      const complaint = complaintOf(error);
      if (complaint !== null) trail.add('tls', complaint);
      try {
        if (error instanceof AgentError) throw error;
        if (proxy !== null && !isProxyReached) {
          throw proxyProblem(proxy, `cannot be reached (${codeOf(error)})`, error);
        }
        // A body that ended early may not be decodable either.
        const cause = answer?.problem ?? error;
        const observed = observeError(phase, cause, subject, { hasLeft: trail.flow !== null });
        settle(withMissingIssuer(observed, refusedIssuer));
      } catch (fault) {
        rejectWith(fault);
      }
    };
    const onAbort = (): void => {
      settle(failureOf(phaseOf(times, isSecure), 'CANCELLED', subject, 'the run was cancelled'));
    };
    const ownMs = (): number => {
      const isInHandshake = isSecure && times.connect !== null && times.secureConnect === null;
      // What has come whole may still be decoded.
      return delay.takenMs(exchange.waitedMs(), isInHandshake || times.end !== null);
    };
    const cancelTimeout = afterTargetTime(clock, exchange.timeoutMs, ownMs, () => {
      if (proxy !== null && !isProxyReached) {
        rejectWith(proxyProblem(proxy, `cannot be reached within ${exchange.limitMs} ms`));
      } else {
        settle(timedOut(phaseOf(times, isSecure), subject, exchange.limitMs));
      }
    });
    const cancelConnect = afterConnectTime(clock, exchange, ownMs, (limitMs) => {
      if (times.connect === null) settle(timedOut('connect', subject, limitMs));
    });
    exchange.signal.addEventListener('abort', onAbort, { once: true });

    const dataAt = (): number => (socket === undefined ? delay.now() : delay.dataAt(socket));
    const onHead = (message: Answer): void => {
      if (isSettled) return;
      answer = message;
      times.response = dataAt();
      const { status, statusText, headers, httpVersion } = message;
      trail.add('headers', `response with status ${status}`);
      const refusal = proxy === null || isSecure ? null : refusalOfProxy(status, headers);
      if (proxy !== null && refusal !== null) {
        rejectWith(proxyProblem(proxy, refusal));
        return;
      }
      response = { status, statusText, headers, httpVersion, certificate };
      if (exchange.isEnoughHead?.(status, message.location) === true) {
        settle(null);
        return;
      }
      reading = readBody(message, exchange, {
        onArrived: () => {
          times.end = message.isFramed ? dataAt() : delay.now();
        },
        onDone: () => {
          if (reading?.isCut() === true) exchange.onDeviation('its compressed data ends early');
          if (message.problem === null) settle(null);
          else fail(message.problem);
        },
        onError: fail,
      });
    };

    const listener = { onHead, onError: fail, onDeviation: exchange.onDeviation };
    const sendByHttp2 = (opened: TLSSocket): void => {
      if (opened.alpnProtocol !== 'h2') {
        const detail = 'the server does not offer HTTP/2 (ALPN "h2")';
        settle(failureOf('tls', 'NO_HTTP2', subject, detail));
        return;
      }
      try {
        askHttp2(opened, exchange, listener);
        trail.add('headers', `${exchange.method} request sent by HTTP/2`);
      } catch (error) {
        fail(error);
      }
    };
    const send = (opened: Socket): void => {
      socket = opened;
      const request = encodeRequest(exchange, isSecure);
      opened.on('error', (error) => {
        if (answer?.isWhole !== true) fail(error);
      });
      if (isHttp2) {
        opened.once('secureConnect', () => {
          sendByHttp2(opened as TLSSocket);
        });
        return;
      }
      readAnswer(opened, exchange.method === 'HEAD', listener);
      opened.write(request, (error) => {
        if (error == null) trail.add('headers', `${exchange.method} request sent`);
      });
    };
    const secured = (below: ConnectionOptions): Socket => {
      const host = tlsName(url.hostname);
      const name = tlsName(exchange.serverName ?? host);
      const isName = /[a-z]/i.test(name) && !name.includes(':');
      const options = {
        ...below,
        secureContext: exchange.secureContext,
        ALPNProtocols: [isHttp2 ? 'h2' : 'http/1.1'],
        // Without a server name the certificate is verified against `host`, the address.
        ...(isName
          ? { servername: name }
          : { host: below.host?.includes('%') ? below.host : host }),
      };
      const needsNode = exchange.skipSsl || exchange.onSecure !== undefined;
      const opened = needsNode
        ? connectTls({ ...options, rejectUnauthorized: !exchange.skipSsl })
        : connectVerified(options);
      if (!exchange.skipSsl) {
        onRefusedChain(opened, (issuer) => {
          refusedIssuer = issuer;
          trail.add('tls', `certificate by ${issuer} is not accepted`);
        });
      }
      opened.once('secureConnect', () => {
        times.secureConnect = delay.securedAt(opened);
        exchange.onSecure?.(opened);
        certificate = certificateFacts(opened, clock.now());
        trail.add('tls', describeHandshake(opened, certificate));
      });
      return opened;
    };
    const onConnect = (): void => {
      times.connect = delay.now();
    };
    const openDirect = (): void => {
      const target = { host: address.address, port, autoSelectFamily: false };
      const opened = isSecure ? secured(target) : connectTcp(target);
      trail.watch(opened, { ...address, port, isProxy: false });
      // Node sends the hello of TLS when it hears of the connection.
      opened.prependOnceListener('connect', () => {
        times.connect = delay.connectedAt(opened);
      });
      send(opened);
    };
    const openByProxy = (via: HttpProxy): void => {
      const opened = connectToProxy(via, address, () => {
        isProxyReached = true;
        if (!isSecure) onConnect();
      });
      trail.watch(opened, { ...address, port: via.port, isProxy: true });
      if (!isSecure) {
        send(opened);
        return;
      }
      tunnel = opened;
      trail.add('proxy', `asking for a tunnel to ${url.hostname}:${port}`);
      openTunnel(via, opened, `${url.hostname}:${port}`, {
        onFailure: settle,
        onError: fail,
        onOpen: () => {
          if (isSettled) return;
          trail.add('proxy', 'tunnel is open');
          onConnect();
          try {
            send(secured({ socket: opened }));
          } catch (error) {
            fail(error);
          }
        },
      });
    };

    if (exchange.signal.aborted) {
      onAbort();
      return;
    }
    try {
      if (proxy === null) openDirect();
      else openByProxy(proxy);
    } catch (error) {
      fail(error);
    }
  });
}
