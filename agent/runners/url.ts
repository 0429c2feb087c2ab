/** URL monitor: a GET request, redirects followed or not. */
import type { CheckDefinition, Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { UrlRequest } from '@monitor/shared/contract/checks/url.ts';
import { failureOf, timedOut } from '../net/failure.ts';
import { exchangeHttp, type Exchange } from '../net/http-exchange.ts';
import { usableFamily } from '../net/ip-family.ts';
import { resolveByOs } from '../net/resolve.ts';
import type { Observation, RunnerContext } from './runner.ts';

const maxRedirects = 20;
const keepBytes = 8_192;
const stopBytes = 25_000_000;

/** One request of the chain, with when its name was asked for and known, in ms on the monotonic clock. */
interface Hop {
  url: URL;
  begunAt: number;
  lookedUpAt: number;
  exchange: Exchange | null;
  failure: Failure | null;
  remoteAddress: string | null;
  ipFamily: string;
}

function headersFor(url: URL): Record<string, string> {
  const headers: Record<string, string> = {
    host: url.host,
    'user-agent': 'monitor-agent/1.0',
    accept: '*/*',
    connection: 'close',
  };
  if (url.username !== '') {
    const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers['authorization'] = `Basic ${Buffer.from(pair).toString('base64')}`;
  }
  return headers;
}

async function makeHop(
  url: URL,
  request: UrlRequest,
  context: RunnerContext,
  deadline: number,
): Promise<Hop> {
  const { clock, signal, timeoutMs } = context;
  const begunAt = clock.monotonic();
  const family = usableFamily(request.ipFamily, (message) => {
    context.log(message, 'WARN');
  });
  const resolution = await resolveByOs(url.hostname, family);
  const lookedUpAt = clock.monotonic();
  const hop: Hop = {
    url,
    begunAt,
    lookedUpAt,
    exchange: null,
    failure: null,
    remoteAddress: null,
    ipFamily: family,
  };
  if ('failure' in resolution) return { ...hop, failure: resolution.failure };
  const leftMs = deadline - lookedUpAt;
  if (leftMs <= 0) return { ...hop, failure: timedOut('resolve', url.host, timeoutMs) };
  const exchange = await exchangeHttp({
    url,
    address: resolution.address,
    headers: headersFor(url),
    skipSsl: request.skipSSL,
    timeoutMs: leftMs,
    limitMs: timeoutMs,
    signal,
    clock,
    keepBytes,
    stopBytes,
  });
  return {
    ...hop,
    exchange,
    failure: exchange.failure,
    remoteAddress: resolution.address.address,
  };
}

/** Where a response redirects to: an address, a failure, or null when it does not. */
function redirectOf(hop: Hop): URL | Failure | null {
  const response = hop.exchange?.response;
  if (response == null || hop.failure !== null) return null;
  const { location } = response.headers;
  if (![301, 302, 303, 307, 308].includes(response.status) || location === undefined) return null;
  if (!URL.canParse(location, hop.url.href)) {
    return failureOf('headers', 'INVALID_REDIRECT', hop.url.host, `redirected to "${location}"`);
  }
  const target = new URL(location, hop.url.href);
  if (target.protocol !== 'http:' && target.protocol !== 'https:') {
    return failureOf('headers', 'INVALID_REDIRECT', hop.url.host, `redirected to "${location}"`);
  }
  return target;
}

function since(start: number, instant: number | null): number {
  return instant === null ? 0 : Math.max(0, instant - start);
}

/**
 * Instants since the start of the run, and the phases of the last request. Earlier requests of a
 * chain are part of `wait`, the TLS handshake is part of `firstByte` (and shown apart as `tls`), so
 * the phases add up to `total`.
 */
function timingsOf(start: number, hop: Hop, end: number) {
  const times = hop.exchange?.times;
  const socket = since(start, hop.begunAt);
  const lookup = since(start, hop.lookedUpAt);
  const connect = Math.max(lookup, since(start, times?.connect ?? null));
  const secureConnect = times?.secureConnect ?? null;
  const response = Math.max(connect, since(start, times?.response ?? null));
  const total = Math.max(response, since(start, end));
  const tls = secureConnect === null ? undefined : since(start, secureConnect);
  return {
    timings: {
      socket,
      lookup,
      connect,
      ...(tls === undefined ? {} : { secureConnect: tls }),
      response,
      end: total,
    },
    timingPhases: {
      wait: socket,
      dns: lookup - socket,
      tcp: connect - lookup,
      firstByte: response - connect,
      download: total - response,
      total,
      ...(tls === undefined ? {} : { tls: tls - connect }),
    },
  };
}

export async function runUrl(
  definition: CheckDefinition,
  context: RunnerContext,
): Promise<Observation> {
  const request = definition.request as unknown as UrlRequest;
  const { clock } = context;
  const startedAt = clock.now();
  const start = clock.monotonic();
  const deadline = start + context.timeoutMs;
  let url = new URL(request.url);
  let redirects = 0;
  let hop = await makeHop(url, request, context, deadline);
  let { failure } = hop;
  while (request.followRedirects) {
    const next = redirectOf(hop);
    if (next === null) break;
    if (!(next instanceof URL)) {
      failure = next;
      break;
    }
    redirects += 1;
    if (redirects > maxRedirects) {
      failure = failureOf(
        'headers',
        'TOO_MANY_REDIRECTS',
        url.host,
        `more than ${maxRedirects} redirects`,
      );
      break;
    }
    url = next;
    hop = await makeHop(url, request, context, deadline);
    ({ failure } = hop);
  }
  const end = hop.exchange?.times.end ?? clock.monotonic();
  const timing = timingsOf(start, hop, end);
  const received = hop.exchange?.response ?? null;
  return {
    startedAt,
    stoppedAt: startedAt + Math.ceil(end - start),
    responseTime: timing.timingPhases.total,
    failure,
    request: {
      method: 'GET',
      url: shownUrl(new URL(request.url)),
      data: '',
      headers: headersWithoutSecrets(url),
      params: {},
    },
    response:
      received === null
        ? null
        : {
            ...received,
            href: shownUrl(url),
            redirects,
            remoteAddress: hop.remoteAddress,
            ipFamily: hop.ipFamily,
            ...timing,
          },
  };
}

/** The headers as sent, but not the credentials that stood in the address. */
function headersWithoutSecrets(url: URL): Record<string, string> {
  const { authorization: _credentials, ...headers } = headersFor(url);
  return headers;
}

/** An address as results show it: without the credentials it may carry. */
function shownUrl(url: URL): string {
  if (url.username === '' && url.password === '') return url.href;
  const shown = new URL(url.href);
  shown.username = '';
  shown.password = '';
  return shown.href;
}
