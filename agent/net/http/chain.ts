/** A request with its redirects, for URL monitors and API checks. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { AssignedCertificate } from '@monitor/shared/contract/agent-protocol.ts';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { decodedOrAsIs, HttpUrl } from '@monitor/shared/http-url.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import type { SecureContext, TLSSocket } from 'node:tls';
import { noTcpTimes, type ReadTcpTimes } from '../../native/tcp-times.ts';
import type { ConnectionTrail } from '../connection-trail.ts';
import { anonymous, identityFor, withRejection, type Identity } from '../tls/client-identity.ts';
import { failureOf, timedOut } from '../failure.ts';
import type { NextHops } from '../next-hop/next-hop.ts';
import { exchangeHttp, type Exchange, type ExchangeResponse } from './exchange.ts';
import { serverNameOf } from '../tls/connect-verified.ts';
import { withSecondLook } from '../tls/second-look.ts';
import { CookieJar } from './cookie-jar.ts';
import { headerOf, withDefaults, withoutHeaders, type Headers } from './headers.ts';
import {
  assertProxyStillReachable,
  basicCredentials,
  parseHttpProxy,
  resolveProxy,
  type HttpProxy,
} from './proxy.ts';
import { tryAddresses, type Turn } from '../try-addresses.ts';
import { timingsOf, type HttpTimings } from './timings.ts';
import { usableFamily } from '../ip-family.ts';
import { logOtherFamily } from '../tcp/other-family.ts';
import type { BodyLimits } from './read-body.ts';
import { resolveByOs, type Address, type Resolution } from '../dns/resolve.ts';
import { bareHost, portOf } from '../url-address.ts';

const maxRedirects = 20;

export interface HttpRequest extends BodyLimits {
  method: string;
  url: URL;
  /** They replace default headers of the same name. */
  headers: Headers;
  body: Buffer | null;
  followRedirects: boolean;
  /** By HTTP/2: the first URL is `https:`; redirects to `http:` go by HTTP/1.1. */
  isHttp2?: boolean;
  skipSsl: boolean;
  ipFamily: IpFamily;
  /** Further headers, created for each request of the chain. */
  headersOfEach?: () => Headers;
  /** Address of the first host, if it is known. */
  address?: Address;
  /** TLS trust and identity, instead of those of the surroundings. */
  secureContext?: SecureContext;
  /** Server name for the first handshake, instead of the host. */
  serverName?: string;
  /** Called with each connection after its handshake. */
  onSecure?: (socket: TLSSocket) => void;
  /** Records the events of the exchange. */
  trail: ConnectionTrail;
}

/** The environment of requests; part of the context of a runner. */
export interface HttpSurroundings {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** How long the agent has waited in this attempt, in ms; absent where nobody counts it. */
  waitedMs?(): number;
  readonly proxyUrl: string | null;
  readonly clientCertificates: readonly AssignedCertificate[];
  /** Absent for callers without time to check the next hop of a silent target. */
  readonly network?: { readonly nextHops: NextHops; readonly tcpTimes: ReadTcpTimes };
  log(message: string, level?: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR'): void;
}

/** One request of the chain. Instants are of the monotonic clock. */
export interface Hop {
  method: string;
  url: URL;
  sentHeaders: Headers;
  begunAt: number;
  lookedUpAt: number;
  exchange: Exchange | null;
  failure: Failure | null;
  remoteAddress: string | null;
  ipFamily: string;
}

export interface HttpOutcome {
  failure: Failure | null;
  /** The last response; null without one. */
  response: ExchangeResponse | null;
  /** The headers of the first request. */
  sentHeaders: Headers;
  /** The last URL of the chain. */
  url: URL;
  redirects: number;
  /** Address of the target; null behind a proxy. */
  remoteAddress: string | null;
  ipFamily: string;
  /** Every request of the chain, in order. */
  hops: readonly Hop[];
  /** Start of the chain, on the wall clock and on the monotonic one. */
  startedAt: { now: number; monotonic: number };
  timing: HttpTimings;
  /** Milliseconds of the whole chain, on the monotonic clock. */
  durationMs: number;
  /** Part of `timing`, in ms, in which the target may have waited for the agent. */
  unexplainedMs: number;
}

/** The constant parts of a chain. */
interface Journey {
  request: HttpRequest;
  surroundings: HttpSurroundings;
  proxy: HttpProxy | null;
  /** Later by what the agent took of the time. */
  deadline: number;
  jar: CookieJar;
}

/** The parts that redirects change. */
type Leg = Pick<HttpRequest, 'method' | 'url' | 'headers' | 'body'>;

function headersFor(
  { url, headers }: Leg,
  { request: of, jar }: Journey,
  ofThis: Headers,
): Record<string, string> {
  const defaults: Record<string, string> = {
    Host: url.host,
    'User-Agent': 'monitor-agent/1.0',
    Accept: '*/*',
    Connection: 'close',
    ...ofThis,
  };
  // Credentials in the URL of the check are for its origin, however a redirect leads back there.
  const { username, password } = of.url;
  if ((username !== '' || password !== '') && url.origin === of.url.origin) {
    const credentials = [decodedOrAsIs(username), decodedOrAsIs(password)] as const;
    defaults['Authorization'] = basicCredentials(...credentials);
  }
  const all = withDefaults(defaults, headers);
  const cookies = jar.headerFor(url, headerOf(all, 'cookie'));
  return cookies === undefined ? all : { ...withoutHeaders(all, ['cookie']), Cookie: cookies };
}

function identityOf(url: URL, certificates: readonly AssignedCertificate[]): Identity | Failure {
  if (url.protocol !== 'https:') return anonymous();
  const of = { host: bareHost(url.hostname), port: portOf(url), subject: url.host };
  return identityFor(of, certificates);
}

/** Explains a rejected or missing client certificate. */
function explained(failure: Failure, { times }: Exchange, shownFor: string | null): Failure {
  if (times.connect === null || times.response !== null) return failure;
  const moment = times.secureConnect === null ? 'handshake' : 'after';
  return withRejection(failure, { shownFor, moment });
}

async function resolve(url: URL, journey: Journey): Promise<Resolution> {
  const { proxy, request, surroundings } = journey;
  if (proxy !== null) return { address: await resolveProxy(proxy) };
  if (request.address !== undefined && url === request.url) return { address: request.address };
  const family = usableFamily(request.ipFamily, url.hostname, surroundings.log.bind(surroundings));
  const { hostname } = request.url;
  // Redirects cannot name a zone; where they stay on the host it is that of the check.
  const zone = request.url instanceof HttpUrl && url.hostname === hostname ? request.url.zone : '';
  const host = zone ? `${hostname.slice(1, -1)}%${zone}` : url.hostname;
  return resolveByOs(host, family);
}

async function makeHop(leg: Leg, journey: Journey): Promise<Hop> {
  const { request, surroundings, proxy } = journey;
  const { clock, signal, timeoutMs } = surroundings;
  const waitedMs = (): number => surroundings.waitedMs?.() ?? 0;
  const { url } = leg;
  const begunAt = clock.monotonic();
  const resolution = await resolve(url, journey);
  request.trail.resolved(proxy?.host ?? url.hostname, resolution);
  const lookedUpAt = clock.monotonic();
  const headers = headersFor(leg, journey, request.headersOfEach?.() ?? {});
  const hop: Hop = {
    method: leg.method,
    url,
    sentHeaders: headers,
    begunAt,
    lookedUpAt,
    exchange: null,
    failure: null,
    remoteAddress: null,
    ipFamily: 'address' in resolution ? resolution.address.family : request.ipFamily,
  };
  if ('failure' in resolution) return { ...hop, failure: resolution.failure };
  if (request.isHttp2 === true && url === request.url && url.protocol !== 'https:') {
    const detail = 'HTTP/2 is spoken by `https:` alone';
    return { ...hop, failure: failureOf('connect', 'INVALID_REQUEST', url.host, detail) };
  }
  const identity: Identity | Failure =
    request.secureContext === undefined
      ? identityOf(url, surroundings.clientCertificates)
      : { secureContext: request.secureContext, shownFor: null };
  if ('phase' in identity) return { ...hop, failure: identity };
  const { secureContext, shownFor } = identity;
  const lookupMs = lookedUpAt - begunAt;
  // A literal address takes no time; the wait is not read for nothing.
  if (lookupMs >= 1) journey.deadline += Math.min(lookupMs, waitedMs());
  if (journey.deadline <= lookedUpAt)
    return { ...hop, failure: timedOut('resolve', url.host, timeoutMs) };
  const attempt = async ({ address, begunAt: readyAt, connectShare, takenMs }: Turn) => {
    const leftMs = Math.max(1, journey.deadline + takenMs - readyAt);
    const exchange = await exchangeHttp({
      ...{ method: leg.method, url, headers, body: leg.body },
      ...{ proxy, secureContext, clock, signal, address, readyAt },
      tcpTimes: surroundings.network?.tcpTimes ?? noTcpTimes,
      skipSsl: request.skipSsl,
      isHttp2: request.isHttp2 === true,
      timeoutMs: leftMs,
      connectMs: leftMs * connectShare,
      waitedMs,
      limitMs: timeoutMs,
      trail: request.trail,
      keepBytes: request.keepBytes,
      stopBytes: request.stopBytes,
      onDeviation: (text) => {
        surroundings.log(`the answer of ${url.host} is no proper HTTP: ${text}`, 'WARN');
      },
      isEnoughHead: (status, location) =>
        request.followRedirects && targetOf(url, status, location) instanceof URL,
      ...(request.onSecure === undefined ? {} : { onSecure: request.onSecure }),
      ...(request.serverName === undefined || url !== request.url
        ? {}
        : { serverName: request.serverName }),
    });
    const { failure, times } = exchange;
    return { exchange, failure, isConnected: proxy !== null || times.connect !== null };
  };
  const place = { ...resolution, host: url.hostname, subject: url.host };
  const tools = { ...{ clock, signal, waitedMs }, log: surroundings.log.bind(surroundings) };
  const network = proxy === null ? surroundings.network : undefined;
  const { outcome, turn } = await tryAddresses(
    place,
    attempt,
    { ...tools, network },
    request.trail,
  );
  const { failure } = outcome;
  journey.deadline += turn.takenMs;
  // Of earlier addresses the agent may have taken all of the time.
  const unexplainedMs = outcome.exchange.unexplainedMs + (turn.begunAt - lookedUpAt);
  const exchange = { ...outcome.exchange, unexplainedMs };
  journey.jar.take(url, exchange.cookies, clock.now());
  if (proxy !== null && failure !== null) {
    await assertProxyStillReachable(proxy, turn.address, { clock, signal });
  }
  if (proxy === null && failure?.phase === 'connect') {
    const port = portOf(url);
    const target = { host: url.hostname, port, tried: turn.address };
    await logOtherFamily({ ...target, resolve: resolveByOs, signal }, tools.log);
  }
  let known = failure;
  if (failure?.phase === 'tls' && proxy === null) {
    const greeted = {
      ...{ address: turn.address, port: Number(url.port || 443), secureContext },
      ...serverNameOf(url === request.url ? (request.serverName ?? url.hostname) : url.hostname),
    };
    known = await withSecondLook(failure, greeted, { clock, signal });
  }
  return {
    ...hop,
    exchange,
    failure: known === failure ? known && explained(known, exchange, shownFor) : known,
    remoteAddress: proxy === null ? turn.address.address : null,
  };
}

/** The target of a redirect: a URL, a failure, or null when the response is no redirect. */
function targetOf(url: URL, status: number, location: string | undefined): URL | Failure | null {
  if (![301, 302, 303, 307, 308].includes(status) || !location) return null;
  const target = URL.canParse(location, url.href) ? new URL(location, url.href) : null;
  if (target === null || !/^https?:$/.test(target.protocol)) {
    return failureOf('headers', 'INVALID_REDIRECT', url.host, `redirected to "${location}"`);
  }
  return target;
}

function redirectOf({ exchange, failure, url }: Hop): URL | Failure | null {
  if (exchange?.response == null || failure !== null) return null;
  return targetOf(url, exchange.response.status, exchange.location);
}

const contentHeaders = [
  'content-type',
  'content-length',
  'content-encoding',
  'content-language',
  'content-location',
  'transfer-encoding',
];
/** Headers for their original origin only. */
const originHeaders = ['authorization', 'cookie', 'proxy-authorization', 'host'];

/** RFC 9110, 15.4: 303 changes the method to GET, as 301 and 302 do for POST; 307 and 308 keep it. */
function nextLeg(leg: Leg, url: URL, status: number): Leg {
  const { method } = leg;
  const becomesGet =
    (status === 303 && method !== 'HEAD' && method !== 'GET') ||
    ((status === 301 || status === 302) && method === 'POST');
  let { headers } = leg;
  if (becomesGet) headers = withoutHeaders(headers, contentHeaders);
  if (url.origin !== leg.url.origin) headers = withoutHeaders(headers, originHeaders);
  return becomesGet ? { url, headers, method: 'GET', body: null } : { ...leg, url, headers };
}

/** Makes the request and follows redirects. Throws only an AgentError. */
export async function requestHttp(
  request: HttpRequest,
  surroundings: HttpSurroundings,
): Promise<HttpOutcome> {
  const { clock, timeoutMs, proxyUrl } = surroundings;
  const startedAt = { now: clock.now(), monotonic: clock.monotonic() };
  const start = startedAt.monotonic;
  const proxy = proxyUrl === null || proxyUrl === '' ? null : parseHttpProxy(proxyUrl);
  const journey: Journey = {
    request,
    surroundings,
    proxy,
    deadline: start + timeoutMs,
    jar: new CookieJar(),
  };
  let leg: Leg = request;
  let redirects = 0;
  let hop = await makeHop(leg, journey);
  const hops = [hop];
  const { sentHeaders } = hop;
  let { failure } = hop;
  while (request.followRedirects) {
    const next = redirectOf(hop);
    if (next === null) break;
    if (!(next instanceof URL)) {
      failure = next;
      break;
    }
    redirects += 1;
    const { heldMs = 0, unexplainedMs = 0 } = hop.exchange ?? {};
    journey.deadline += heldMs + Math.min(unexplainedMs, surroundings.waitedMs?.() ?? 0);
    if (redirects > maxRedirects) {
      const detail = `more than ${maxRedirects} redirects`;
      failure = failureOf('headers', 'TOO_MANY_REDIRECTS', hop.url.host, detail);
      break;
    }
    request.trail.add('headers', `redirected to ${next.host}`);
    leg = nextLeg(leg, next, hop.exchange?.response?.status ?? 0);
    hop = await makeHop(leg, journey);
    hops.push(hop);
    ({ failure } = hop);
  }
  const end = hop.exchange?.times.end ?? clock.monotonic();
  const { url, remoteAddress, ipFamily, exchange } = hop;
  const heldMs = hops.reduce((sum, each) => sum + (each.exchange?.heldMs ?? 0), 0);
  let unexplainedMs = 0;
  let endedAt = start;
  for (const { lookedUpAt, exchange: made } of hops) {
    unexplainedMs += lookedUpAt - endedAt + (made?.unexplainedMs ?? 0);
    endedAt = (made?.times.end ?? lookedUpAt) + (made?.heldMs ?? 0);
  }
  return {
    ...{ failure, sentHeaders, url, redirects, remoteAddress, ipFamily, hops, startedAt },
    response: exchange?.response ?? null,
    timing: timingsOf(
      start + heldMs - (exchange?.heldMs ?? 0),
      { ...hop, exchange: exchange?.times ?? null },
      end,
    ),
    durationMs: end - start,
    unexplainedMs,
  };
}

/** A URL for results, without credentials. */
export function shownUrl(url: URL): string {
  if (url.username === '' && url.password === '') return url.href;
  const shown = new URL(url.href);
  shown.username = '';
  shown.password = '';
  return shown.href;
}
