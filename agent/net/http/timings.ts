/** Instants and phases of a chain of requests for results. */
import type { ExchangeTimes } from './exchange.ts';

/** Start and DNS time of the last request of a chain, on the monotonic clock. */
export interface HopTimes {
  begunAt: number;
  lookedUpAt: number;
  exchange: ExchangeTimes | null;
}

export interface HttpTimings {
  timings: Record<string, number>;
  timingPhases: Record<string, number> & { total: number };
}

function since(start: number, instant: number | null): number {
  return instant === null ? 0 : Math.max(0, instant - start);
}

/**
 * Instants since the start of the run, and the phases of the last request. Earlier requests are
 * part of `wait`, and the TLS handshake is part of `firstByte` (and listed as `tls`), so the phases
 * add up to `total`.
 */
export function timingsOf(start: number, hop: HopTimes, end: number): HttpTimings {
  const times = hop.exchange;
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
