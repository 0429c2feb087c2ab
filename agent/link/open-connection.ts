/**
 * Opens connections of the agent's own calls: directly, or through a CONNECT tunnel of a proxy,
 * with one timeout for everything. Errors are LinkProblems that name the place.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import {
  connect as connectTls,
  type ConnectionOptions,
  type DetailedPeerCertificate,
  type TLSSocket,
} from 'node:tls';
import { proxyHeaders } from '../net/http/proxy.ts';
import { defaultSecureContext } from '../net/tls/secure-context.ts';
import type { Destination, LinkProxy } from './choose-proxy.ts';
import {
  authorityOf,
  connectProblem,
  LinkProblem,
  proxyAnswerProblem,
  type LinkPlace,
} from './link-problem.ts';

/** Timeout for DNS, proxy, tunnel and TLS together: six round trips of two seconds, with a margin. */
export const connectWithinMs = 20_000;
/** Keep-alive: a dead idle connection is noticed 15 s later, after ten probes. */
const keepAliveAfterMs = 5_000;
/** Delay before the next address is tried in parallel: satellite links need two seconds. */
const nextAddressAfterMs = 2_500;

interface Certificate {
  subject: string;
  issuer: string;
}

function oneLine(name: object): string {
  return Object.entries(name)
    .map(([key, value]) => `${key}=${[value].flat().join('+')}`)
    .join(', ');
}

/** The last presented certificate, which identifies the chain. */
function certificateOf(socket: TLSSocket): Certificate | null {
  const shown = socket.getPeerCertificate(true);
  if (!('subject' in shown)) return null;
  let last = shown;
  const seen = new Set<DetailedPeerCertificate>();
  while (!seen.has(last) && 'issuerCertificate' in last && 'issuer' in last.issuerCertificate) {
    seen.add(last);
    last = last.issuerCertificate;
  }
  return { subject: oneLine(shown.subject), issuer: oneLine(last.issuer) };
}

/** Resources of a connection in progress, closed together at the timeout. */
class Opening {
  readonly #sockets = new Set<Socket>();
  readonly urlSetting: string;
  #isOver = false;

  constructor(urlSetting: string) {
    this.urlSetting = urlSetting;
  }

  keep<S extends Socket>(socket: S): S {
    this.#sockets.add(socket);
    if (this.#isOver) socket.destroy();
    return socket;
  }

  close(): void {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  place(host: string, port: number, proxySetting: string | null): LinkPlace {
    return { proxySetting, authority: authorityOf(host, port), urlSetting: this.urlSetting };
  }
}

function tcp(opening: Opening, host: string, port: number, place: LinkPlace): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = opening.keep(
      connectTcp({
        host,
        port,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: keepAliveAfterMs,
        autoSelectFamilyAttemptTimeout: nextAddressAfterMs,
      }),
    );
    const onError = (error: unknown): void => reject(connectProblem(error, place));
    socket.once('error', onError);
    socket.once('connect', () => {
      socket.off('error', onError);
      resolve(socket);
    });
  });
}

function tls(opening: Opening, below: Socket, host: string, place: LinkPlace): Promise<TLSSocket> {
  const options: ConnectionOptions = {
    socket: below,
    secureContext: defaultSecureContext(),
    ALPNProtocols: ['http/1.1'],
    // An IP address is no server name; the certificate is then verified against `host`.
    ...(isIP(host) === 0 ? { servername: host } : { host }),
  };
  return new Promise((resolve, reject) => {
    const socket = opening.keep(connectTls(options));
    let certificate: Certificate | null = null;
    // Emitted before the certificate is verified; afterwards the connection is gone.
    socket.prependOnceListener('secure', () => {
      certificate = certificateOf(socket);
    });
    const onError = (error: unknown): void => reject(connectProblem(error, place, certificate));
    const onClose = (): void => {
      onError(Object.assign(new Error('closed in the TLS handshake'), { code: 'ECONNRESET' }));
    };
    below.once('close', onClose);
    socket.once('error', onError);
    socket.once('secureConnect', () => {
      below.off('close', onClose);
      socket.off('error', onError);
      resolve(socket);
    });
  });
}

/** True for a page instead of a tunnel: after CONNECT there is no body. */
function isPage({ headers }: IncomingMessage, head: Buffer): boolean {
  return /^text\//.test(headers['content-type'] ?? '') || /^\s*</.test(head.toString('latin1'));
}

function tunnel(below: Socket, proxy: LinkProxy, target: string, place: LinkPlace): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...proxyHeaders(proxy) },
      createConnection: () => below,
    });
    request.once('connect', (response, _socket, head) => {
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 300 && !isPage(response, head)) {
        if (head.length > 0) below.unshift(head);
        resolve();
        return;
      }
      const answer = {
        status,
        headers: response.headers,
        hadCredentials: proxy.authorization !== null,
      };
      reject(proxyAnswerProblem(place, target, answer));
    });
    request.on('error', (error) => reject(connectProblem(error, place)));
    request.end();
  });
}

/** Connects to the proxy itself. */
async function toProxy(opening: Opening, proxy: LinkProxy): Promise<Socket> {
  const place = opening.place(proxy.host, proxy.port, proxy.setting);
  const socket = await tcp(opening, proxy.host, proxy.port, place);
  return proxy.isSecure ? tls(opening, socket, proxy.host, place) : socket;
}

async function toDestination(
  opening: Opening,
  { protocol, host, port }: Destination,
  proxy: LinkProxy | null,
): Promise<Socket> {
  const place = opening.place(host, port, null);
  const isSecure = protocol === 'https:';
  if (proxy === null) {
    const socket = await tcp(opening, host, port, place);
    return isSecure ? tls(opening, socket, host, place) : socket;
  }
  const socket = await toProxy(opening, proxy);
  const proxyPlace = opening.place(proxy.host, proxy.port, proxy.setting);
  await tunnel(socket, proxy, place.authority, proxyPlace);
  return isSecure ? tls(opening, socket, host, place) : socket;
}

async function within(
  urlSetting: string,
  subject: LinkPlace,
  work: (opening: Opening) => Promise<Socket>,
): Promise<Socket> {
  const opening = new Opening(urlSetting);
  const { promise: tooLong, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = Object.assign(new Error(`nothing within ${connectWithinMs / 1000} s`), {
      code: 'ETIMEDOUT',
    });
    reject(connectProblem(error, subject));
  }, connectWithinMs);
  try {
    return await Promise.race([work(opening), tooLong]);
  } catch (error) {
    opening.close();
    throw error instanceof LinkProblem ? error : connectProblem(error, subject);
  } finally {
    clearTimeout(timer);
  }
}

function placeOf(
  { host, port }: Destination,
  proxy: LinkProxy | null,
  urlSetting: string,
): LinkPlace {
  return proxy === null
    ? { proxySetting: null, authority: authorityOf(host, port), urlSetting }
    : { proxySetting: proxy.setting, authority: authorityOf(proxy.host, proxy.port), urlSetting };
}

/** Connects to a destination, ready for requests. Rejects with a LinkProblem. */
export function openConnection(
  destination: Destination,
  proxy: LinkProxy | null,
  urlSetting: string,
): Promise<Socket> {
  return within(urlSetting, placeOf(destination, proxy, urlSetting), (opening) =>
    toDestination(opening, destination, proxy),
  );
}

/** Connects to a proxy for requests in absolute form. Rejects with a LinkProblem. */
export function openProxyConnection(proxy: LinkProxy, urlSetting: string): Promise<Socket> {
  const destination = { protocol: 'http:', host: proxy.host, port: proxy.port };
  return within(urlSetting, placeOf(destination, proxy, urlSetting), (opening) =>
    toProxy(opening, proxy),
  );
}
