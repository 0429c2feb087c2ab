import { isIPv6 } from 'node:net';
import type { TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import { AgentError } from '../../errors.ts';
import { ok, warn, type Finding } from '../finding.ts';
import type { Check } from '../step.ts';

const traceWithinMs = 2_000;

/** What a real trace showed; null where none was made. */
export function judgeTraceroute(
  isWanted: boolean,
  problem: string | null,
  report: TracerouteReport | null,
): Finding[] {
  if (!isWanted) return ok('switched off by TRACEROUTE=off');
  if (problem !== null) {
    return warn(
      problem,
      'see the reason, or set TRACEROUTE=off; failures come without a trace then',
    );
  }
  if (report === null) return ok('ways can be traced');
  const last = report.hops.findLast(({ received }) => received > 0);
  const far =
    last === undefined
      ? 'no hop answered'
      : `hop ${last.hop} (${last.addresses[0] ?? '?'}) answered last`;
  return ok(
    report.isReached
      ? `ways can be traced: ${report.address} is hop ${report.hops.at(-1)?.hop ?? 1}`
      : `ways can be traced; of the way to ${report.address} ${far} within ${traceWithinMs / 1_000} s`,
  );
}

export const checkTraceroute: Check = async ({ network, config, link }, signal) => {
  const { traceroute: tracer } = network;
  const problem = tracer === null ? (network.tracerouteProblem ?? 'no way can be traced') : null;
  if (tracer === null) return judgeTraceroute(config.TRACEROUTE, problem, null);
  const [address] = (await link.names()).os.addresses;
  if (address === undefined) return judgeTraceroute(config.TRACEROUTE, null, null);
  try {
    const report = await tracer.trace(
      { address, family: isIPv6(address) ? 'IPv6' : 'IPv4', port: link.destination.hop.port },
      { timeoutMs: traceWithinMs, signal },
    );
    return judgeTraceroute(config.TRACEROUTE, null, report);
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    return judgeTraceroute(config.TRACEROUTE, error.message, null);
  }
};
