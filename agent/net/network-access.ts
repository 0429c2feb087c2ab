import type { PacketCapture } from './capture/packet-capture.ts';
import type { IcmpTransport } from './icmp/icmp.ts';
import type { NextHops } from './next-hop/next-hop.ts';
import type { Traceroute } from './traceroute/traceroute.ts';

/** What runners may use to reach targets; built once per process. */
export interface NetworkAccess {
  /** Names of TCP targets are resolved by the operating system rather than by a DNS query. */
  readonly useOsResolver: boolean;
  /** Echo requests, or null when this process may not send them; `icmpProblem` then says why. */
  readonly icmp: IcmpTransport | null;
  readonly icmpProblem: string | null;
  /** The packets of the last moments, or null; `captureProblem` then says why, and what would help. */
  readonly capture: PacketCapture | null;
  readonly captureProblem: string | null;
  /** The way to a target, or null; `tracerouteProblem` then says why, and what would help. */
  readonly traceroute: Traceroute | null;
  readonly tracerouteProblem: string | null;
  /** What comes first on the way to a target, asked for when nothing came back from there. */
  readonly nextHops: NextHops;
}
