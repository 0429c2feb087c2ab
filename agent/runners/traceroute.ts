/**
 * Traceroute monitor: three probes to each hop of the way to a host. That a hop in between is silent or
 * loses probes means nothing; what counts is whether the destination answered, and how fast.
 */
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { TracerouteHop, TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import type { TracerouteRequest } from '@monitor/shared/contract/checks/traceroute.ts';
import type {
  ShownHop,
  TracerouteResponse,
  TruncationReason,
} from '@monitor/shared/contract/shown-exchange.ts';
import { AgentError } from '../errors.ts';
import { withNextHopProblem, assertNextHopReachable } from '../net/next-hop/assert-reachable.ts';
import { usableFamily } from '../net/ip-family.ts';
import { toThousandths } from '../net/time-statistics.ts';
import { resolveByOs, resolveByQuery } from '../net/dns/resolve.ts';
import type { Observation, Runner, RunnerContext } from './runner.ts';

/** Minimum timeout: the kernel needs a moment to report a missing answer. */
const minTraceMs = 1_000;
const maxLookupMs = 2_000;

/** The hops up to the destination, or to where the way counts as lost. */
function cutWay(
  { hops, isReached, durationMs }: TracerouteReport,
  { maxHops, maxUnknownHops }: TracerouteRequest,
  timeoutMs: number,
): { hops: TracerouteHop[]; reason: TruncationReason } {
  let silent = 0;
  for (const [index, { addresses }] of hops.entries()) {
    silent = addresses.length === 0 ? silent + 1 : 0;
    if (silent === maxUnknownHops)
      return { hops: hops.slice(0, index + 1), reason: 'maxUnknownHops' };
  }
  if (isReached) return { hops, reason: 'destinationReached' };
  const isCutOff = hops.length < maxHops && durationMs >= Math.floor(timeoutMs);
  return { hops, reason: isCutOff ? 'timeout' : 'maxHops' };
}

/** Names of addresses, all at once; one that has none, or not in time, is left out. */
async function namesOf(
  addresses: readonly string[],
  timeoutMs: number,
): Promise<Map<string, string>> {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
  const found = await Promise.all(
    addresses.map(async (address) => {
      const bare = address.replace(/%.*$/, '');
      const names = await resolver.reverse(bare).catch(() => []);
      return names[0] === undefined ? [] : [[address, names[0]] as const];
    }),
  );
  return new Map(found.flat());
}

/** A hop in the format of the field; owners of networks are unknown here. */
function shownHop(hop: TracerouteHop, names: ReadonlyMap<string, string>): ShownHop {
  const [address = ''] = hop.addresses;
  const { last, avg, best, worst, stdDev } = hop;
  return {
    ...{ hop_number: hop.hop, main_ip: address, main_host: names.get(address) ?? '' },
    ...{ sent: hop.sent, received: hop.received, loss_percentage: hop.lossPercent },
    rtt:
      avg === null
        ? null
        : { last_ms: last, avg_ms: avg, best_ms: best, worst_ms: worst, stddev_ms: stdDev },
    ...{ asn: 0, asn_org: '', country: '', aws_region: '', aws_service: '' },
    note: hop.note,
  };
}

function latencyOf(hop: TracerouteHop | undefined) {
  if (hop === undefined || !hop.isTarget) return null;
  const { avg, best, worst, stdDev } = hop;
  if (avg === null || best === null || worst === null || stdDev === null) return null;
  return { avg, min: best, max: worst, stdDev, best, worst };
}

async function observe(request: TracerouteRequest, context: RunnerContext): Promise<Observation> {
  const { clock, network, signal } = context;
  const { traceroute, tracerouteProblem } = network;
  if (traceroute === null) {
    throw new AgentError(
      'TRACEROUTE_UNAVAILABLE',
      tracerouteProblem ?? 'this agent cannot trace the way to a host',
    );
  }
  const host = request.url.replace(/^\[|\]$/g, '');
  const { protocol } = request;
  const port = protocol === 'ICMP' ? null : (request.port ?? null);
  const { assertions: _assertions, ...asked } = request;
  const startedAt = clock.now();
  const start = clock.monotonic();
  const wanted = isIP(host) === 6 ? 'IPv6' : request.ipFamily;
  const family = usableFamily(wanted, host, context.log);
  const resolve = network.useOsResolver ? resolveByOs : resolveByQuery;
  const resolution = await resolve(host, family);
  const dns = clock.monotonic() - start;
  const ended = (): Pick<Observation, 'startedAt' | 'stoppedAt' | 'request'> => ({
    startedAt,
    stoppedAt: startedAt + Math.ceil(clock.monotonic() - start),
    request: asked,
  });
  if ('failure' in resolution) {
    const failure = { ...resolution.failure, isNetworkError: true };
    return { ...ended(), responseTime: null, failure, response: null };
  }
  const { address } = resolution.address;
  const leftMs = Math.max(minTraceMs, request.timeout * 1_000 - dns);
  const plan = {
    method: protocol.toLowerCase() as Lowercase<typeof protocol>,
    ...{ maxHops: request.maxHops, shownSilent: request.maxUnknownHops },
  };
  const report = await traceroute.trace(
    { address, family, port },
    { timeoutMs: leftMs, signal, plan },
  );
  const { hops, reason } = cutWay(report, request, leftMs);
  if (hops.every(({ addresses }) => addresses.length === 0)) {
    await assertNextHopReachable({ code: 'TIMEOUT' }, { address, subject: host }, context);
  }
  const total = clock.monotonic() - start;
  const known = [...new Set(hops.flatMap(({ addresses }) => addresses.slice(0, 1)))];
  const lookupMs = Math.min(maxLookupMs, Math.max(500, request.timeout * 1_000 - total));
  const names = request.ptrLookup ? await namesOf(known, lookupMs) : new Map<string, string>();
  const isReached = reason === 'destinationReached';
  const last = hops.at(-1);
  const finalHopLatency = isReached ? latencyOf(last) : null;
  return {
    ...ended(),
    responseTime: finalHopLatency?.avg ?? total,
    failure: null,
    response: {
      ...{ hostname: host, resolvedIp: address, port: port ?? 0, ipFamily: family },
      ...{ protocol, probeProtocol: protocol, maxHops: request.maxHops },
      ...{ totalHops: last?.hop ?? 0, destinationReached: isReached, truncationReason: reason },
      ...(finalHopLatency === null ? {} : { finalHopLatency }),
      packetLoss: last?.lossPercent ?? 100,
      hops: hops.map((hop) => shownHop(hop, names)),
      timestamp: Math.floor(startedAt / 1_000),
      timingPhases: { dns: toThousandths(dns), total: toThousandths(total) },
    } satisfies TracerouteResponse,
  };
}

export const runTraceroute: Runner<TracerouteRequest> = ({ request }, context) =>
  withNextHopProblem(context, () => observe(request, context));
