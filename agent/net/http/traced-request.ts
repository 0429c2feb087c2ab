/** The requests of a chain for a trace. */
import { shownUrl, type Hop, type HttpOutcome } from './chain.ts';
import { spanIdIn } from './trace-context.ts';

/** Instants are milliseconds of the wall clock, with fractions; null for what did not happen. */
export interface TracedRequest {
  /** Span id that was sent to the target; null for none. */
  readonly spanId: string | null;
  readonly method: string;
  /** Without credentials; it may still contain secrets of the run. */
  readonly url: string;
  readonly status: number | null;
  readonly httpVersion: string | null;
  readonly remoteAddress: string | null;
  readonly ipFamily: string;
  readonly errorCode: string | null;
  readonly begunAt: number;
  readonly lookedUpAt: number;
  readonly connectedAt: number | null;
  readonly securedAt: number | null;
  readonly answeredAt: number | null;
  readonly endedAt: number;
}

function tracedRequest(hop: Hop, toWall: (monotonic: number) => number): TracedRequest {
  const { exchange } = hop;
  const at = (instant: number | null | undefined) => (instant == null ? null : toWall(instant));
  return {
    spanId: spanIdIn(hop.sentHeaders['traceparent']),
    method: hop.method,
    url: shownUrl(hop.url),
    status: exchange?.response?.status ?? null,
    httpVersion: exchange?.response?.httpVersion ?? null,
    remoteAddress: hop.remoteAddress,
    ipFamily: hop.ipFamily,
    errorCode: hop.failure?.code ?? null,
    begunAt: toWall(hop.begunAt),
    lookedUpAt: toWall(hop.lookedUpAt),
    connectedAt: at(exchange?.times.connect),
    securedAt: at(exchange?.times.secureConnect),
    answeredAt: at(exchange?.times.response),
    endedAt: toWall(exchange?.times.end ?? hop.lookedUpAt),
  };
}

/** Every request of a chain, in order. */
export function tracedRequests({ hops, startedAt }: HttpOutcome): TracedRequest[] {
  const toWall = (instant: number): number => startedAt.now + (instant - startedAt.monotonic);
  return hops.map((hop) => tracedRequest(hop, toWall));
}
