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

/** The request as it is sent; a text has a character for each byte. */
function encodeRequest(exchange: ExchangeRequest, isSecure: boolean): Buffer | string {
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
  const text = `${lines.join('\r\n')}\r\n\r\n`;
  if (!isChunked && body === null) return text;
  const head = Buffer.from(text, 'latin1');
  const size = (body?.length ?? 0).toString(16);
  if (!isChunked && body !== null) return Buffer.concat([head, body]);
  const chunk = body === null ? [] : [Buffer.from(`${size}\r\n`), body, Buffer.from('\r\n')];
  return Buffer.concat([head, ...chunk, Buffer.from('0\r\n\r\n')]);
}

/** An exchange under way. It settles once. */
class RunningExchange {
  readonly outcome = Promise.withResolvers<Exchange>();
  readonly #request: ExchangeRequest;
  readonly #isSecure: boolean;
  readonly #isHttp2: boolean;
  readonly #port: number;
  readonly #subject: string;
  readonly #times: ExchangeTimes = {
    ...{ connect: null, secureConnect: null, response: null, end: null },
  };
  readonly #delay: OwnDelay;
  readonly #cancelTimeout: () => void;
  readonly #cancelConnect: () => void;
  #response: Omit<ExchangeResponse, keyof ReadBody> | null = null;
  #reading: BodyReading | undefined;
  #isSettled = false;
  #isProxyReached: boolean;
  #refusedIssuer: string | null = null;
  #answer: Answer | undefined;
  #socket: Socket | undefined;
  #tunnel: Socket | undefined;
  #certificate: CertificateFacts | null = null;

  constructor(request: ExchangeRequest) {
    const { url, clock, address, proxy } = request;
    this.#request = request;
    this.#isSecure = url.protocol === 'https:';
    this.#isHttp2 = this.#isSecure && request.isHttp2;
    this.#port = url.port === '' ? (this.#isSecure ? 443 : 80) : Number(url.port);
    this.#subject = `${url.host} (${proxy === null ? address.address : 'by proxy'})`;
    this.#isProxyReached = proxy === null;
    this.#delay = new OwnDelay(clock, request.tcpTimes, request.readyAt);
    this.#cancelTimeout = afterTargetTime(clock, request.timeoutMs, this.#ownMs, () => {
      if (proxy !== null && !this.#isProxyReached) {
        this.#reject(proxyProblem(proxy, `cannot be reached within ${request.limitMs} ms`));
      } else {
        this.#settle(timedOut(this.#phase, this.#subject, request.limitMs));
      }
    });
    this.#cancelConnect = afterConnectTime(clock, request, this.#ownMs, (limitMs) => {
      if (this.#times.connect === null) this.#settle(timedOut('connect', this.#subject, limitMs));
    });
    request.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  get #phase(): string {
    return phaseOf(this.#times, this.#isSecure);
  }

  start(): void {
    const { signal, proxy } = this.#request;
    if (signal.aborted) {
      this.#onAbort();
      return;
    }
    try {
      if (proxy === null) this.#openDirect();
      else this.#openByProxy(proxy);
    } catch (error) {
      this.#fail(error);
    }
  }

  #release(): void {
    this.#isSettled = true;
    this.#cancelTimeout();
    this.#cancelConnect();
    this.#request.signal.removeEventListener('abort', this.#onAbort);
    this.#reading?.stop();
    this.#socket?.destroy();
    this.#tunnel?.destroy();
  }

  readonly #settle = (failure: Failure | null): void => {
    if (this.#isSettled) return;
    const { trail } = this.#request;
    this.#times.end ??= this.#delay.now();
    const body = this.#reading?.taken() ?? emptyBody;
    if (failure !== null) {
      if (this.#times.response !== null)
        trail.add('body', `${body.size} bytes of the body had come`);
      trail.failed(failure, this.#tunnel ?? this.#socket);
    }
    this.#release();
    this.outcome.resolve({
      times: this.#times,
      heldMs: this.#delay.ms,
      unexplainedMs: this.#delay.unexplainedMs,
      response: this.#response === null ? null : { ...this.#response, ...body },
      location: this.#answer?.location,
      cookies: this.#answer?.cookies ?? [],
      failure,
    });
  };

  #reject(fault: unknown): void {
    if (this.#isSettled) return;
    this.#release();
    this.outcome.reject(fault instanceof Error ? fault : new Error(String(fault)));
  }

  readonly #fail = (error: unknown): void => {
    if (this.#isSettled) return;
    const { proxy, trail } = this.#request;
    const phase = this.#phase;
    const complaint = complaintOf(error);
    if (complaint !== null) trail.add('tls', complaint);
    try {
      if (error instanceof AgentError) throw error;
      if (proxy !== null && !this.#isProxyReached) {
        throw proxyProblem(proxy, `cannot be reached (${codeOf(error)})`, error);
      }
      // A body that ended early may not be decodable either.
      const cause = this.#answer?.problem ?? error;
      const observed = observeError(phase, cause, this.#subject, { hasLeft: trail.flow !== null });
      this.#settle(withMissingIssuer(observed, this.#refusedIssuer));
    } catch (fault) {
      this.#reject(fault);
    }
  };

  readonly #onAbort = (): void => {
    this.#settle(failureOf(this.#phase, 'CANCELLED', this.#subject, 'the run was cancelled'));
  };

  readonly #ownMs = (): number => {
    const { connect, secureConnect, end } = this.#times;
    const isInHandshake = this.#isSecure && connect !== null && secureConnect === null;
    // What has come whole may still be decoded.
    return this.#delay.takenMs(this.#request.waitedMs(), isInHandshake || end !== null);
  };

  #dataAt(): number {
    return this.#socket === undefined ? this.#delay.now() : this.#delay.dataAt(this.#socket);
  }

  readonly #onHead = (message: Answer): void => {
    if (this.#isSettled) return;
    const { proxy, trail, isEnoughHead } = this.#request;
    this.#answer = message;
    this.#times.response = this.#dataAt();
    const { status, statusText, headers, httpVersion } = message;
    trail.add('headers', `response with status ${status}`);
    const refusal = proxy === null || this.#isSecure ? null : refusalOfProxy(status, headers);
    if (proxy !== null && refusal !== null) {
      this.#reject(proxyProblem(proxy, refusal));
      return;
    }
    this.#response = { status, statusText, headers, httpVersion, certificate: this.#certificate };
    if (isEnoughHead?.(status, message.location) === true) {
      this.#settle(null);
      return;
    }
    this.#reading = readBody(message, this.#request, {
      onArrived: () => {
        this.#times.end = message.isFramed ? this.#dataAt() : this.#delay.now();
      },
      onDone: () => {
        if (this.#reading?.isCut() === true)
          this.#request.onDeviation('its compressed data ends early');
        if (message.problem === null) this.#settle(null);
        else this.#fail(message.problem);
      },
      onError: this.#fail,
    });
  };

  get #listener() {
    const { onDeviation } = this.#request;
    return { onHead: this.#onHead, onError: this.#fail, onDeviation };
  }

  #sendByHttp2(opened: TLSSocket): void {
    const { method, trail } = this.#request;
    if (opened.alpnProtocol !== 'h2') {
      const detail = 'the server does not offer HTTP/2 (ALPN "h2")';
      this.#settle(failureOf('tls', 'NO_HTTP2', this.#subject, detail));
      return;
    }
    try {
      askHttp2(opened, this.#request, this.#listener);
      trail.add('headers', `${method} request sent by HTTP/2`);
    } catch (error) {
      this.#fail(error);
    }
  }

  #send(opened: Socket): void {
    const { method, trail } = this.#request;
    this.#socket = opened;
    const bytes = encodeRequest(this.#request, this.#isSecure);
    opened.on('error', (error) => {
      if (this.#answer?.isWhole !== true) this.#fail(error);
    });
    if (this.#isHttp2) {
      opened.once('secureConnect', () => this.#sendByHttp2(opened as TLSSocket));
      return;
    }
    readAnswer(opened, method === 'HEAD', this.#listener);
    opened.write(bytes, 'latin1', (error) => {
      if (error == null) trail.add('headers', `${method} request sent`);
    });
  }

  #secured(below: ConnectionOptions): Socket {
    const { url, serverName, secureContext, skipSsl, onSecure, trail, clock } = this.#request;
    const host = tlsName(url.hostname);
    const name = tlsName(serverName ?? host);
    const isName = /[a-z]/i.test(name) && !name.includes(':');
    const options = {
      ...below,
      secureContext,
      ALPNProtocols: [this.#isHttp2 ? 'h2' : 'http/1.1'],
      // Without a server name the certificate is verified against `host`, the address.
      ...(isName ? { servername: name } : { host: below.host?.includes('%') ? below.host : host }),
    };
    const needsNode = skipSsl || onSecure !== undefined;
    const opened = needsNode
      ? connectTls({ ...options, rejectUnauthorized: !skipSsl })
      : connectVerified(options);
    if (!skipSsl) {
      onRefusedChain(opened, (issuer) => {
        this.#refusedIssuer = issuer;
        trail.add('tls', `certificate by ${issuer} is not accepted`);
      });
    }
    opened.once('secureConnect', () => {
      this.#times.secureConnect = this.#delay.securedAt(opened);
      onSecure?.(opened);
      this.#certificate = certificateFacts(opened, clock.now());
      trail.add('tls', describeHandshake(opened, this.#certificate));
    });
    return opened;
  }

  #openDirect(): void {
    const { address, trail } = this.#request;
    const port = this.#port;
    const target = { host: address.address, port, autoSelectFamily: false };
    const opened = this.#isSecure ? this.#secured(target) : connectTcp(target);
    trail.watch(opened, { ...address, port, isProxy: false });
    // Node sends the hello of TLS when it hears of the connection.
    opened.prependOnceListener('connect', () => {
      this.#times.connect = this.#delay.connectedAt(opened);
    });
    this.#send(opened);
  }

  #openByProxy(via: HttpProxy): void {
    const { url, address, trail } = this.#request;
    const opened = connectToProxy(via, address, () => {
      this.#isProxyReached = true;
      if (!this.#isSecure) this.#times.connect = this.#delay.now();
    });
    trail.watch(opened, { ...address, port: via.port, isProxy: true });
    if (!this.#isSecure) {
      this.#send(opened);
      return;
    }
    this.#tunnel = opened;
    const target = `${url.hostname}:${this.#port}`;
    trail.add('proxy', `asking for a tunnel to ${target}`);
    openTunnel(via, opened, target, {
      onFailure: this.#settle,
      onError: this.#fail,
      onOpen: () => {
        if (this.#isSettled) return;
        trail.add('proxy', 'tunnel is open');
        this.#times.connect = this.#delay.now();
        try {
          this.#send(this.#secured({ socket: opened }));
        } catch (error) {
          this.#fail(error);
        }
      },
    });
  }
}

/** Makes the exchange. Rejects only with an AgentError. */
export function exchangeHttp(request: ExchangeRequest): Promise<Exchange> {
  const running = new RunningExchange(request);
  running.start();
  return running.outcome.promise;
}
