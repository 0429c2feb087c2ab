/** TCP connections to where the link begins, and what a proxy there says. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '@monitor/shared/clock.ts';
import { codeOf } from '../../net/failure.ts';
import { authorityOf } from '../../link/link-problem.ts';
import type { Destination, Proxy } from './destination.ts';

/** A little more than the 3 s after which the kernel gives up looking for a neighbour. */
const connectWithinMs = 3_500;
const answerWithinMs = 4_000;
export const handshakeLimits = {
  event: 'secureConnect',
  withinMs: answerWithinMs,
  otherwise: 'no handshake',
};

export interface ConnectionFacts {
  address: string;
  /** Null where there was none. */
  durationMs: number | null;
  /** ECONNREFUSED …, TIMEOUT for silence. */
  code: string | null;
}

/** Resolves with the socket once it is open, rejects with an error that has a code. */
export function whenOpen<S extends Socket>(
  socket: S,
  clock: Clock,
  { event, withinMs, otherwise }: { event: string; withinMs: number; otherwise: string },
): Promise<S> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(withinMs, () => {
      socket.destroy(Object.assign(new Error(otherwise), { code: 'TIMEOUT' }));
    });
    const fail = (error: Error): void => {
      cancel();
      reject(error);
    };
    // For good: the next owner listens too; until then errors are caught here.
    socket.on('error', fail);
    socket.once('close', () => {
      fail(Object.assign(new Error('closed before it was open'), { code: 'ECONNRESET' }));
    });
    socket.once(event, () => {
      cancel();
      resolve(socket);
    });
  });
}

/** Resolves with an open socket, rejects with an error that has a code. The caller closes it. */
export async function openTcp(address: string, port: number, clock: Clock): Promise<Socket> {
  const socket = connectTcp({ host: address, port, autoSelectFamily: false });
  const limits = { event: 'connect', withinMs: connectWithinMs, otherwise: 'no answer' };
  return whenOpen(socket, clock, limits);
}

/** One attempt. Never rejects. */
export async function observeConnection(
  address: string,
  port: number,
  clock: Clock,
): Promise<ConnectionFacts> {
  const began = clock.monotonic();
  try {
    const socket = await openTcp(address, port, clock);
    const durationMs = Math.round((clock.monotonic() - began) * 10) / 10;
    socket.destroy();
    return { address, durationMs, code: null };
  } catch (error) {
    return { address, durationMs: null, code: codeOf(error) };
  }
}

/** A connection to the proxy through which one can speak HTTP. */
async function openProxy(proxy: Proxy, address: string, clock: Clock): Promise<Socket> {
  const socket = await openTcp(address, proxy.port, clock);
  if (!proxy.isSecure) return socket;
  const secure = connectTls({
    socket,
    host: proxy.host,
    ...(isIP(proxy.host) === 0 ? { servername: proxy.host } : {}),
  });
  return whenOpen(secure, clock, handshakeLimits);
}

export interface ProxyAnswer {
  status: number;
  headers: IncomingHttpHeaders;
}

/**
 * Asks the proxy for a tunnel, or, to an http control plane, for a page of it. Gives the answer, and
 * the tunnel where there is one: the caller closes it. Rejects with an error that has a code.
 */
export async function askProxy(
  destination: Destination,
  proxy: Proxy,
  address: string,
  clock: Clock,
): Promise<{ answer: ProxyAnswer; tunnel: Socket | null }> {
  const socket = await openProxy(proxy, address, clock);
  const authority = authorityOf(destination.host, destination.port);
  const login = proxy.authorization === null ? {} : { 'proxy-authorization': proxy.authorization };
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      method: destination.isSecure ? 'CONNECT' : 'HEAD',
      path: destination.isSecure ? authority : `${destination.url.origin}/`,
      headers: { host: authority, ...login },
      createConnection: () => socket,
    });
    const cancel = clock.after(answerWithinMs, () => {
      request.destroy(Object.assign(new Error('no answer'), { code: 'TIMEOUT' }));
    });
    const settle = (status: number, headers: IncomingHttpHeaders, tunnel: Socket | null): void => {
      cancel();
      if (tunnel === null) socket.destroy();
      resolve({ answer: { status, headers }, tunnel });
    };
    request.once('connect', ({ statusCode = 0, headers }) => {
      settle(statusCode, headers, statusCode >= 200 && statusCode < 300 ? socket : null);
    });
    request.once('response', ({ statusCode = 0, headers }) => settle(statusCode, headers, null));
    request.on('error', (error) => {
      cancel();
      socket.destroy();
      reject(error);
    });
    request.end();
  });
}
