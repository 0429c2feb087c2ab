/** ICMP monitor: a series of echo requests half a second apart. */
import type { CheckDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import type { IcmpRequest } from '@monitor/shared/contract/checks/icmp.ts';
import type { ShownResponse } from '@monitor/shared/contract/shown-exchange.ts';
import { AgentError } from '../errors.ts';
import { withNextHopProblem, assertNextHopReachable } from '../net/next-hop/assert-reachable.ts';
import { usableFamily } from '../net/ip-family.ts';
import { toThousandths, statisticsOf } from '../net/time-statistics.ts';
import { resolveByOs } from '../net/dns/resolve.ts';
import type { Observation, RunnerContext } from './runner.ts';

const intervalMs = 500;
const lastReplyMs = 4_000;

export async function runIcmp(
  definition: CheckDefinition<IcmpRequest>,
  context: RunnerContext,
): Promise<Observation> {
  const request = definition.request;
  const { clock, network, signal } = context;
  const { hostname, pingCount } = request;
  if (network.icmp === null) {
    throw new AgentError('ICMP_UNAVAILABLE', network.icmpProblem ?? 'echo requests cannot be sent');
  }
  const startedAt = clock.now();
  const start = clock.monotonic();
  const family = usableFamily(request.ipFamily, hostname, context.log);
  const resolution = await withNextHopProblem(context, () => resolveByOs(hostname, family));
  const dnsResolutionTime = clock.monotonic() - start;
  if ('failure' in resolution) {
    return {
      startedAt,
      stoppedAt: startedAt + Math.ceil(dnsResolutionTime),
      responseTime: null,
      failure: resolution.failure,
      request: { hostname, targetIp: null, ipFamily: request.ipFamily, pingCount },
      response: null,
    };
  }
  const { address } = resolution.address;
  const replies = await network.icmp.echo({
    address,
    family,
    count: pingCount,
    intervalMs,
    timeoutMs: Math.min(lastReplyMs, context.timeoutMs),
    signal,
  });
  const stopped = clock.monotonic();
  const packetsReceived = replies.filter(({ success }) => success).length;
  if (replies.at(-1)?.success !== true) {
    await assertNextHopReachable({ code: 'TIMEOUT' }, { address, subject: hostname }, context);
  }
  const latency = statisticsOf(replies.flatMap(({ rtt }) => rtt ?? []));
  return {
    startedAt,
    stoppedAt: startedAt + Math.ceil(stopped - start),
    responseTime: latency?.avg ?? null,
    // Replies are stamped by the kernel, and read once more at the end.
    ...(network.icmp.way === 'ping' ? {} : { unexplainedMs: 0 }),
    failure: null,
    request: { hostname, targetIp: address, ipFamily: request.ipFamily, pingCount },
    response: {
      hostname,
      resolvedIp: address,
      ipFamily: family,
      pingCount,
      packetsSent: pingCount,
      packetsReceived,
      packetSize: network.icmp.packetSize,
      packetLoss: toThousandths(((pingCount - packetsReceived) / pingCount) * 100),
      dnsResolutionTime: toThousandths(dnsResolutionTime),
      latency,
      pingResults: replies,
    } satisfies ShownResponse,
  };
}
