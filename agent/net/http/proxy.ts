/**
 * The proxy of a location. It belongs to the agent's side: an unreachable proxy, or one that
 * refuses the credentials, is an agent error. When it answers that it could not reach the target,
 * that is a failure of the target.
 */
import { request as httpRequest } from 'node:http';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { decodedOrAsIs } from '@monitor/shared/http-url.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { AgentError } from '../../errors.ts';
import { codeOf, failureOf } from '../failure.ts';
import { resolveByOs, type Address } from '../dns/resolve.ts';
import { defaultSecureContext } from '../tls/secure-context.ts';
import { bareHost, portOf } from '../url-address.ts';

export interface HttpProxy {
  readonly isSecure: boolean;
  readonly host: string;
  readonly port: number;
  /** Value of `Proxy-Authorization`. */
  readonly authorization: string | null;
}

/** An agent error about the proxy, without credentials. */
export function proxyProblem(proxy: HttpProxy, what: string, cause?: unknown): AgentError {
  return new AgentError(
    'NETWORK_UNAVAILABLE',
    `the proxy of the location, ${proxy.host}:${proxy.port}, ${what}; check the proxy, or proxyUrl of the private location`,
    { cause },
  );
}

/** The value of an Authorization header for credentials. */
export function basicCredentials(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Parses `proxyUrl`. Throws NETWORK_UNAVAILABLE for an invalid proxy URL. */
export function parseHttpProxy(proxyUrl: string): HttpProxy {
  const url = URL.canParse(proxyUrl) ? new URL(proxyUrl) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new AgentError(
      'NETWORK_UNAVAILABLE',
      'the proxy of the location is not an http or https URL; correct proxyUrl of the private location',
    );
  }
  const isSecure = url.protocol === 'https:';
  return {
    isSecure,
    host: bareHost(url.hostname),
    port: portOf(url),
    authorization:
      url.username === ''
        ? null
        : basicCredentials(decodedOrAsIs(url.username), decodedOrAsIs(url.password)),
  };
}

/** The address of the proxy; the proxy resolves the names of targets. */
export async function resolveProxy(proxy: HttpProxy): Promise<Address> {
  const found = await resolveByOs(proxy.host, isIP(proxy.host) === 6 ? 'IPv6' : 'IPv4');
  if ('failure' in found) throw proxyProblem(proxy, `has no address (${found.failure.code})`);
  return found.address;
}

/** Connects to the proxy and calls back when it is ready. */
export function connectToProxy(proxy: HttpProxy, address: Address, onReady: () => void): Socket {
  const target = { host: address.address, port: proxy.port, autoSelectFamily: false };
  if (!proxy.isSecure) return connectTcp(target, onReady);
  return connectTls(
    {
      ...target,
      secureContext: defaultSecureContext(),
      ...(isIP(proxy.host) === 0 ? { servername: proxy.host } : {}),
    },
    onReady,
  );
}

/** Enough for one lost packet and a TLS handshake over a satellite; else failures by such a proxy would never count. */
const reachableWithinMs = 3_500;

/**
 * Throws an AgentError when the proxy takes no connections any more. A request by it that broke off then
 * says nothing about the target.
 */
export async function assertProxyStillReachable(
  proxy: HttpProxy,
  address: Address,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const socket = connectToProxy(proxy, address, () => resolve(null));
  socket.on('error', (error) => resolve(codeOf(error)));
  const cancel = clock.after(reachableWithinMs, () => {
    resolve(`no answer in ${reachableWithinMs} ms`);
  });
  const onAbort = (): void => resolve(null);
  signal.addEventListener('abort', onAbort, { once: true });
  const problem = await promise;
  cancel();
  signal.removeEventListener('abort', onAbort);
  socket.destroy();
  if (problem !== null) throw proxyProblem(proxy, `went away during the request (${problem})`);
}

/** Headers for the proxy only. */
export function proxyHeaders(proxy: HttpProxy): Record<string, string> {
  return proxy.authorization === null ? {} : { 'proxy-authorization': proxy.authorization };
}

/** RFC 9209 errors by which a proxy refuses a request, rather than fails to reach the target. */
const refusals = /error=(http_request_denied|destination_ip_prohibited|proxy_configuration_error)/;

/** RFC 9209 errors, and those of Squid, that are about the target or the way there. Its other errors are about the proxy. */
const targetErrors =
  /error="?(dns_error|destination_(?!ip_prohibited)|connection_(?!limit)|tls_|http_response_)|ERR_(CONNECT_FAIL|SECURE_CONNECT_FAIL|DNS_FAIL|READ_|WRITE_|LIFETIME_EXP|ZERO_SIZE_OBJECT|INVALID_RESP|TOO_BIG)/;
/** Schemes of `Proxy-Authenticate` that are bound to a connection or a domain, and that agents do not have. */
const foreignLogins = /^(NTLM|Negotiate)\b/i;

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** What the proxy calls its error; empty for nothing. */
function errorNamed(headers: AnswerHeaders): string {
  return [headers['x-squid-error'], headers['proxy-status']].flat().filter(Boolean).join('; ');
}

/** Said behind a status of 407 that wants what no agent can give; else empty. */
function foreignLogin(headers: AnswerHeaders): string {
  const offered = [headers['proxy-authenticate']].flat().join(', ');
  const schemes = offered.split(/,\s*(?=[\w-]+(?:\s|,|$))/).filter((scheme) => scheme !== '');
  if (schemes.length === 0 || !schemes.every((scheme) => foreignLogins.test(scheme))) return '';
  const named = schemes.map((scheme) => scheme.split(' ')[0]).join(' or ');
  return `: it takes a login by ${named} alone, which agents do not have; let it take Basic, or the address of the agent`;
}

/**
 * Why the proxy itself refused a request in absolute form; null when the answer seems to come from
 * the target. Only marked answers of proxies count.
 */
export function refusalOfProxy(status: number, headers: AnswerHeaders): string | null {
  if (status === 407) return `asks for credentials (status 407)${foreignLogin(headers)}`;
  const named = errorNamed(headers);
  // An error of a proxy behind this one has come by both.
  const isFirstHand = ![headers['via']].flat().join(',').includes(',');
  const isOfSquid = /^ERR_(?!ACCESS_DENIED)/.test(named);
  if (isOfSquid && isFirstHand && !targetErrors.test(named)) {
    return `could not serve the request: ${named.slice(0, 200)} (status ${status})`;
  }
  const said = [
    headers['x-squid-error'],
    headers['proxy-status'],
    // Error pages of this proxy have no Via header.
    headers['via'] === undefined ? headers['server'] : undefined,
  ].join(' ');
  const isRefused = /ERR_ACCESS_DENIED/.test(said) || refusals.test(said) || /tinyproxy/.test(said);
  if (!isRefused) return null;
  if (status === 401) return 'asks for credentials (status 401)';
  return status === 403 ? 'refuses to fetch this address (status 403)' : null;
}

interface TunnelEnd {
  onOpen(): void;
  onFailure(failure: Failure): void;
  onError(error: unknown): void;
}

/** Requests a tunnel to `host:port` from the proxy. */
export function openTunnel(proxy: HttpProxy, socket: Socket, authority: string, end: TunnelEnd) {
  const request = httpRequest({
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...proxyHeaders(proxy) },
    createConnection: () => socket,
  });
  request.once('connect', (response, opened, head) => {
    const { statusCode: status = 0, statusMessage = '', headers: said } = response;
    const named = errorNamed(said).slice(0, 200);
    const isOwn = named === '' ? status < 500 : !targetErrors.test(named);
    // Some proxies answer so where the name does not exist; a plain web server says "Not Found".
    const isUnknownHost = status === 404 && /domain|host|resolve|dns/i.test(statusMessage);
    if (status >= 200 && status < 300) {
      // A server that speaks first has sent these bytes.
      if (head.length > 0) opened.unshift(head);
      end.onOpen();
    } else if (status !== 407 && (!isOwn || isUnknownHost)) {
      const why = named || (isUnknownHost ? statusMessage.slice(0, 200) : '');
      const detail = `the proxy of the location could not connect (status ${status}${why && `, ${why}`})`;
      const failure = failureOf('connect', 'PROXY_CONNECT_FAILED', authority, detail);
      end.onFailure({ ...failure, isNetworkError: true });
    } else {
      const why = status === 407 ? foreignLogin(said) : named && `: ${named}`;
      end.onError(
        proxyProblem(proxy, `refuses a tunnel to ${authority} with status ${status}${why}`),
      );
    }
  });
  // Once there is a connection and until it is a tunnel, the proxy alone can end it.
  let isReached =
    !socket.connecting && (socket as { secureConnecting?: boolean }).secureConnecting !== true;
  socket.once(proxy.isSecure ? 'secureConnect' : 'connect', () => {
    isReached = true;
  });
  request.on('error', (error) => {
    if (!isReached) {
      end.onError(error);
      return;
    }
    const what = `ended the connection without an answer to CONNECT (${codeOf(error)})`;
    end.onError(proxyProblem(proxy, what, error));
  });
  request.end();
}
