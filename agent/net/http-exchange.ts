/**
 * One HTTP request on a connection of its own, timed by the events of its socket. No agent, no
 * pool, no keep-alive: every probe pays for its own connection, as a new visitor would.
 */
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import { codeOf, failureOf, observeError, timedOut } from './failure.ts';
import type { Address } from './resolve.ts';
import { defaultSecureContext } from './secure-context.ts';

export interface ExchangeRequest {
  url: URL;
  address: Address;
  headers: Record<string, string>;
  /** Accept any certificate. */
  skipSsl: boolean;
  /** Ceiling from now, in ms. */
  timeoutMs: number;
  /** How the message about a timeout names the whole limit. */
  limitMs: number;
  signal: AbortSignal;
  clock: Clock;
  /** Text kept of the body, and where reading stops, in bytes. */
  keepBytes: number;
  stopBytes: number;
}

/** Instants on the monotonic clock, in ms; null for what did not happen. */
export interface ExchangeTimes {
  socket: number;
  connect: number | null;
  secureConnect: number | null;
  response: number | null;
  end: number | null;
}

export interface ExchangeResponse {
  status: number;
  statusText: string;
  headers: IncomingMessage['headers'];
  httpVersion: string;
  body: string | null;
  truncated: boolean;
  certificate: CertificateFacts | null;
}

export interface CertificateFacts {
  subject: string;
  issuer: string;
  validTo: string;
  daysRemaining: number;
}

export interface Exchange {
  times: ExchangeTimes;
  response: ExchangeResponse | null;
  failure: Failure | null;
}

const textual =
  /^(text\/|application\/(json|xml|javascript|x-www-form-urlencoded|.*\+(json|xml)))/i;
const dayMs = 86_400_000;
const maxHeaderBytes = 65_536;

function openSocket(exchange: ExchangeRequest, times: ExchangeTimes): Socket {
  const { url, address, clock, skipSsl } = exchange;
  const isSecure = url.protocol === 'https:';
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  const target = { host: address.address, port, autoSelectFamily: false };
  times.socket = clock.monotonic();
  if (!isSecure) {
    const socket = connectTcp(target);
    socket.once('connect', () => {
      times.connect = clock.monotonic();
    });
    return socket;
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isName = /[a-z]/i.test(host) && !host.includes(':');
  const socket = connectTls({
    ...target,
    secureContext: defaultSecureContext(),
    rejectUnauthorized: !skipSsl,
    ALPNProtocols: ['http/1.1'],
    ...(isName ? { servername: host } : {}),
  });
  socket.once('connect', () => {
    times.connect = clock.monotonic();
  });
  socket.once('secureConnect', () => {
    times.secureConnect = clock.monotonic();
  });
  return socket;
}

function certificateFacts(socket: Socket, now: number): CertificateFacts | null {
  const certificate = (socket as Partial<TLSSocket>).getPeerX509Certificate?.();
  if (certificate === undefined) return null;
  const { subject, issuer, validTo } = certificate;
  const daysRemaining = Math.floor((Date.parse(validTo) - now) / dayMs);
  return { subject: subject ?? '', issuer: issuer ?? '', validTo, daysRemaining };
}

function phaseOf(times: ExchangeTimes, isSecure: boolean): string {
  if (times.response !== null) return 'body';
  if (times.connect === null) return 'connect';
  return isSecure && times.secureConnect === null ? 'tls' : 'headers';
}

/** Performs the exchange. Rejects only when the fault is ours. */
export function exchangeHttp(exchange: ExchangeRequest): Promise<Exchange> {
  const { url, clock, address } = exchange;
  const isSecure = url.protocol === 'https:';
  const subject = `${url.host} (${address.address})`;
  const times: ExchangeTimes = {
    socket: clock.monotonic(),
    connect: null,
    secureConnect: null,
    response: null,
    end: null,
  };
  return new Promise((resolve, reject) => {
    let response: ExchangeResponse | null = null;
    let isSettled = false;
    let sent: ClientRequest | undefined;
    let socket: Socket | undefined;

    const settle = (failure: Failure | null): void => {
      if (isSettled) return;
      isSettled = true;
      times.end ??= clock.monotonic();
      cancelTimeout();
      exchange.signal.removeEventListener('abort', onAbort);
      sent?.destroy();
      socket?.destroy();
      resolve({ times, response, failure });
    };
    const fail = (error: unknown): void => {
      if (isSettled) return;
      const phase = phaseOf(times, isSecure);
      try {
        // Node says ECONNRESET ("socket hang up") also when the peer just closed.
        const isClosed =
          codeOf(error) === 'ECONNRESET' &&
          error instanceof Error &&
          error.message === 'socket hang up';
        settle(
          isClosed
            ? failureOf(phase, 'SOCKET_CLOSED', subject)
            : observeError(phase, error, subject),
        );
      } catch (fault) {
        isSettled = true;
        cancelTimeout();
        exchange.signal.removeEventListener('abort', onAbort);
        socket?.destroy();
        reject(fault instanceof Error ? fault : new Error(String(fault)));
      }
    };
    const onAbort = (): void => {
      settle(failureOf(phaseOf(times, isSecure), 'CANCELLED', subject, 'the run was cancelled'));
    };
    const cancelTimeout = clock.after(exchange.timeoutMs, () => {
      settle(timedOut(phaseOf(times, isSecure), subject, exchange.limitMs));
    });
    exchange.signal.addEventListener('abort', onAbort, { once: true });

    const onResponse = (message: IncomingMessage): void => {
      times.response = clock.monotonic();
      const isText = textual.test(message.headers['content-type'] ?? '');
      response = {
        status: message.statusCode ?? 0,
        statusText: message.statusMessage ?? '',
        headers: message.headers,
        httpVersion: message.httpVersion,
        body: isText ? '' : null,
        truncated: false,
        certificate: socket === undefined ? null : certificateFacts(socket, clock.now()),
      };
      const received = response;
      const kept: Buffer[] = [];
      let keptBytes = 0;
      let bytes = 0;
      const finish = (failure: Failure | null): void => {
        if (isText) received.body = Buffer.concat(kept).toString('utf8');
        settle(failure);
      };
      message.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (keptBytes < exchange.keepBytes) {
          const part = chunk.subarray(0, exchange.keepBytes - keptBytes);
          if (isText) kept.push(part);
          keptBytes += part.length;
        }
        if (bytes > exchange.keepBytes) received.truncated = isText;
        if (bytes >= exchange.stopBytes) {
          received.truncated = true;
          finish(null);
        }
      });
      message.once('end', () => {
        times.end = clock.monotonic();
        finish(message.complete ? null : failureOf('body', 'SOCKET_CLOSED', subject));
      });
      message.once('error', fail);
    };

    try {
      socket = openSocket(exchange, times);
      const opened = socket;
      const send = isSecure ? httpsRequest : httpRequest;
      sent = send({
        method: 'GET',
        host: url.hostname,
        path: url.pathname + url.search,
        headers: exchange.headers,
        setHost: false,
        maxHeaderSize: maxHeaderBytes,
        createConnection: () => opened,
      });
      sent.once('response', onResponse);
      sent.on('error', fail);
      sent.end();
    } catch (error) {
      fail(error);
    }
  });
}
