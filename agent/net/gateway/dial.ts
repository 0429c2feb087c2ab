/** Connections of the gateway to targets: by the proxy of the location where there is one. */
import { lookup as lookupByOs, type LookupAddress } from 'node:dns';
import { connect, type LookupFunction, type Socket } from 'node:net';
import { AgentError } from '../../errors.ts';
import { codeOf, observeError } from '../failure.ts';
import {
  connectToProxy,
  openTunnel,
  proxyFault,
  resolveProxy,
  type HttpProxy,
} from '../http-proxy.ts';

const connectMs = 30_000;

/** The target could not be reached; the message is a sentence for people. */
export class NotReached extends Error {}

export interface Way {
  readonly proxy: HttpProxy | null;
  /** Names that must not be connected to, and addresses, whatever name leads there. */
  readonly isForbidden: (host: string) => boolean;
}

export interface Target {
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** `host:port`, with the brackets an IPv6 address needs. */
export function authorityOf({ host, port }: Target): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** This machine itself is nothing that a proxy could know. */
export function isLoopback(host: string): boolean {
  return /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|::1)$/i.test(host);
}

/** The proxy that a target is reached by, or null. */
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

/** What an error means: an AgentError where it is ours, else NotReached. */
function reasonOf(error: unknown, target: Target): Error {
  if (error instanceof AgentError || error instanceof NotReached) return error;
  // Several addresses were tried: the first failure stands for all.
  const [first = error] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  try {
    return new NotReached(observeError('connect', first, authorityOf(target)).message);
  } catch (fault) {
    return fault as Error;
  }
}

function dialDirectly(target: Target, way: Way): Promise<Socket> {
  const { host, port } = target;
  return new Promise((resolve, reject) => {
    // RFC 6761, 6.3: as browsers have it, whatever the resolver of this machine says.
    const name = /\.localhost$/i.test(host) ? 'localhost' : host;
    const socket = connect({ host: name, port, lookup: guardedLookup(host, way) });
    const fail = (error: unknown): void => {
      socket.destroy();
      reject(reasonOf(error, target));
    };
    socket.setTimeout(connectMs, () => {
      fail(Object.assign(new Error('no answer'), { code: 'CONNECT_TIMEOUT' }));
    });
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.setTimeout(0);
      socket.removeListener('error', fail);
      resolve(socket);
    });
  });
}

/** A connection to the proxy itself. Rejects with a fault of ours. */
export async function dialProxy(proxy: HttpProxy): Promise<Socket> {
  const address = await resolveProxy(proxy);
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      socket.destroy();
      reject(proxyFault(proxy, `cannot be reached (${codeOf(error)})`, error));
    };
    const socket = connectToProxy(proxy, address, () => {
      socket.setTimeout(0);
      socket.removeListener('error', fail);
      resolve(socket);
    });
    socket.once('error', fail);
    socket.setTimeout(connectMs, () => {
      fail({ code: 'CONNECT_TIMEOUT' });
    });
  });
}

async function dialByProxy(proxy: HttpProxy, target: Target): Promise<Socket> {
  const socket = await dialProxy(proxy);
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    openTunnel(proxy, socket, authorityOf(target), {
      onOpen: () => {
        resolve(socket);
      },
      onFailure: (failure) => {
        fail(new NotReached(failure.message));
      },
      onError: (error) => {
        const closed = (): Error =>
          proxyFault(proxy, `closed the connection (${codeOf(error)})`, error);
        fail(error instanceof AgentError ? error : closed());
      },
    });
  });
}

/** Connects to a target. Rejects with NotReached, or with an AgentError where the fault is ours. */
export async function dial(target: Target, way: Way): Promise<Socket> {
  if (way.isForbidden(target.host)) throw forbidden(target.host);
  const proxy = proxyFor(target, way);
  return proxy === null ? dialDirectly(target, way) : dialByProxy(proxy, target);
}

/** What became of a connection that was open already, for people. */
export function sentenceOf(error: unknown, target: Target): string {
  if (error instanceof NotReached || error instanceof AgentError) return error.message;
  try {
    return observeError('tls', error, authorityOf(target)).message;
  } catch (fault) {
    return (fault as Error).message;
  }
}
