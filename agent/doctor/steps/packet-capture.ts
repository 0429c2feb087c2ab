import { ok, warn, type Finding } from '../finding.ts';
import { hasCapability, netRaw } from '../limits.ts';
import type { Check } from '../step.ts';

export interface CaptureFacts {
  isWanted: boolean;
  /** Why packets cannot be captured; null where they can. */
  problem: string | null;
  mayHaveNetRaw: boolean | null;
}

export function judgeCapture({ isWanted, problem, mayHaveNetRaw }: CaptureFacts): Finding[] {
  if (!isWanted) return ok('switched off by PACKET_CAPTURE=off');
  if (problem === null) return ok('packets of failures are kept as evidence');
  const isOfHelper = problem.includes('the helper that opens sockets');
  const rights =
    problem.includes('CAP_NET_RAW') && !isOfHelper
      ? mayHaveNetRaw === false
        ? 'start the container with CAP_NET_RAW (docker --cap-add NET_RAW, capabilities.add of Kubernetes)'
        : 'give this user CAP_NET_RAW as an ambient capability (AmbientCapabilities of systemd, setpriv --ambient-caps +net_raw)'
      : 'see the reason';
  return warn(
    problem,
    `${rights}, or set PACKET_CAPTURE=off; without it failures come with a log of events in place of packets`,
  );
}

export const checkPacketCapture: Check = ({ network, config, machine }) =>
  judgeCapture({
    isWanted: config.PACKET_CAPTURE,
    problem: network.captureProblem,
    mayHaveNetRaw: hasCapability(machine, 'CapBnd', netRaw),
  });
