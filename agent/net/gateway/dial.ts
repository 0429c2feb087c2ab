/** Connections of the gateway to targets, through the proxy of the location if there is one. */
import { lookup as lookupByOs, type LookupAddress } from 'node:dns';
import { connect, type LookupFunction, type Socket } from 'node:net';
import { AgentError } from '../../errors.ts';
import { explainLookup } from '../dns/resolve.ts';
import { codeOf, observeError } from '../failure.ts';
import {
  connectToProxy,
  openTunnel,
  proxyProblem,
  resolveProxy,
  type HttpProxy,
} from '../http/proxy.ts';
import { ClientGone, onEnding, type Ending } from './ending.ts';

/** The target could not be reached; the message is for users. */
export class NotReached extends Error {}

export interface Way {
  readonly proxy: HttpProxy | null;
  /** Forbidden names, and forbidden addresses of any name. */
  readonly isForbidden: (host: string) => boolean;
}

export interface Target {
  /** A name or an IP address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** `host:port`, with brackets around IPv6. */
export function authorityOf({ host, port }: Target): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** A proxy cannot reach the loopback interface of this machine. */
export function isLoopback(host: string): boolean {
  return /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|::1)$/i.test(host);
}

/** The proxy for a target, or null. */
export function proxyFor({ host }: Target, { proxy }: Way): HttpProxy | null {
  return isLoopback(host) ? null : proxy;
}

const forbidden = (host: string): NotReached =>
  new NotReached(`${host} was not connected to: runs like this one must not go there`);

function guardedLookup(host: string, { isForbidden }: Way): LookupFunction {
  return (name, options, callback) => {
    lookupByOs(name, options, (error, found, family) => {
      const all: LookupAddress[] = Array.isArray(found)
        ? found
        : [{ address: found, family: family ?? 0 }];
      const isRefused = error === null && all.some(({ address }) => isForbidden(address));
      callback(isRefused ? (forbidden(host) as NodeJS.ErrnoException) : error, found, family);
    });
  };
}

/** True for errors whose message is for users. */
function isSaid(error: unknown): error is Error {
  return error instanceof AgentError || error instanceof NotReached || error instanceof ClientGone;
}

/** The meaning of an error: an AgentError when the agent caused it, else NotReached. */
function reasonOf(error: unknown, target: Target): Error {
  if (isSaid(error)) return error;
  // With several addresses, the first failure represents all.
  const [first = error] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  try {
    return new NotReached(observeError('connect', first, authorityOf(target)).message);
  } catch (fault) {
    return fault as Error;
  }
}

function dialDirectly(target: Target, way: Way, ending: Ending): Promise<Socket> {
  const { host, port } = target;
  return new Promise((resolve, reject) => {
    // RFC 6761, 6.3: `localhost` is resolved as in browsers, whatever the resolver says.
    const name = /\.localhost$/i.test(host) ? 'localhost' : host;
    const socket = connect({ host: name, port, lookup: guardedLookup(host, way) });
    const fail = (error: unknown): void => {
      callOff();
      explainLookup(name, error).then((explained) => reject(reasonOf(explained, target)), reject);
      socket.destroy();
    };
    socket.once('error', fail);
    const callOff = onEnding(ending, 'CONNECT_TIMEOUT', fail);
    socket.once('connect', () => {
      callOff();
      socket.removeListener('error', fail);
      resolve(socket);
    });
  });
}

/** Connects to the proxy itself. Rejects with an AgentError. */
export async function dialProxy(proxy: HttpProxy, ending: Ending): Promise<Socket> {
  const address = await resolveProxy(proxy);
  return new Promise((resolve, reject) => {
    const socket = connectToProxy(proxy, address, () => {
      callOff();
      socket.removeListener('error', fail);
      resolve(socket);
    });
    const fail = (error: unknown): void => {
      callOff();
      reject(
        error instanceof ClientGone
          ? error
          : proxyProblem(proxy, `cannot be reached (${codeOf(error)})`, error),
      );
      socket.destroy();
    };
    socket.once('error', fail);
    const callOff = onEnding(ending, 'CONNECT_TIMEOUT', fail);
  });
}

async function dialByProxy(proxy: HttpProxy, target: Target, ending: Ending): Promise<Socket> {
  const socket = await dialProxy(proxy, ending);
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      callOff();
      reject(error);
      socket.destroy();
    };
    // A proxy does not tell whether it hangs or tries to reach the target.
    const callOff = onEnding(ending, 'CONNECT_TIMEOUT', (error) => {
      const waited = `the proxy of the location opened no way to ${authorityOf(target)} within ${ending.withinMs / 1000} s`;
      fail(error instanceof ClientGone ? error : new NotReached(waited));
    });
    openTunnel(proxy, socket, authorityOf(target), {
      onOpen: () => {
        callOff();
        resolve(socket);
      },
      onFailure: (failure) => fail(new NotReached(failure.message)),
      onError: (error) => {
        const closed = (): Error =>
          proxyProblem(proxy, `closed the connection (${codeOf(error)})`, error);
        fail(error instanceof AgentError ? error : closed());
      },
    });
  });
}

/** Connects to a target. Rejects with NotReached, ClientGone, or an AgentError. */
export async function dial(target: Target, way: Way, ending: Ending): Promise<Socket> {
  if (way.isForbidden(target.host)) throw forbidden(target.host);
  const proxy = proxyFor(target, way);
  return proxy === null ? dialDirectly(target, way, ending) : dialByProxy(proxy, target, ending);
}

/** Explains the end of an established connection. */
export function sentenceOf(error: unknown, target: Target): string {
  if (isSaid(error)) return error.message;
  try {
    return observeError('tls', error, authorityOf(target)).message;
  } catch (fault) {
    return (fault as Error).message;
  }
}
