/** One echo request, as the `icmp` prober sends it. */
import { AgentError } from '../errors.ts';
import { chooseAddress } from './choose-address.ts';
import type { IcmpModule } from './module-schema.ts';
import type { ProbeReport } from './report.ts';
import type { ProbeSurroundings } from './surroundings.ts';

const phases = ['resolve', 'setup', 'rtt'] as const;

/** Gives whether the probe succeeded. Throws an AgentError where the target is not the cause. */
export async function probeIcmp(
  target: string,
  module: IcmpModule,
  report: ProbeReport,
  surroundings: ProbeSurroundings,
): Promise<boolean> {
  const { clock, network, signal, timeoutMs } = surroundings;
  if (network.icmp === null) {
    throw new AgentError('ICMP_UNAVAILABLE', network.icmpProblem ?? 'echo requests cannot be sent');
  }
  const begunAt = clock.monotonic();
  const durations = (resolve: number, setup: number, rtt: number): void => {
    const sums = { resolve, setup, rtt };
    for (const phase of phases) {
      report.set(
        'probe_icmp_duration_seconds',
        'Duration of icmp request by phase',
        sums[phase] / 1000,
        { phase },
      );
    }
  };
  const { address, lookupMs } = await chooseAddress(target, module, clock, report);
  durations(lookupMs, 0, 0);
  if (address === null) return false;
  const sentAt = clock.monotonic();
  const [reply] = await network.icmp.echo({
    ...{ address: address.address, family: address.family, count: 1, intervalMs: 0, signal },
    timeoutMs: Math.max(1, timeoutMs - (sentAt - begunAt)),
  });
  const tookMs = clock.monotonic() - sentAt;
  if (reply?.success !== true || reply.rtt === null) {
    report.note('no echo reply came');
    durations(lookupMs, 0, 0);
    return false;
  }
  durations(lookupMs, Math.max(0, tookMs - reply.rtt), reply.rtt);
  if (reply.ttl !== null) {
    report.set('probe_icmp_reply_hop_limit', 'Replied packet hop limit (TTL for ipv4)', reply.ttl);
  }
  return true;
}
