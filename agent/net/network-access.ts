import type { ReceiveStamps } from '../native/receive-stamp.ts';
import type { ReadTcpTimes } from '../native/tcp-times.ts';
import type { PacketCapture } from './capture/packet-capture.ts';
import type { IcmpTransport } from './icmp/icmp.ts';
import type { NextHops } from './next-hop/next-hop.ts';
import type { Traceroute } from './traceroute/traceroute.ts';

/** How runners reach targets; built once per process. */
export interface NetworkAccess {
  /** Resolves names of TCP targets through the operating system instead of a DNS query. */
  readonly useOsResolver: boolean;
  /** Sends echo requests; null when this process may not, with the reason in `icmpProblem`. */
  readonly icmp: IcmpTransport | null;
  readonly icmpProblem: string | null;
  /** Captures packets; null when it cannot. `captureProblem` has reason and advice, also where it could not at the start. */
  readonly capture: PacketCapture | null;
  readonly captureProblem: string | null;
  /** Traces routes; null when it cannot, with reason and advice in `tracerouteProblem`. */
  readonly traceroute: Traceroute | null;
  readonly tracerouteProblem: string | null;
  /** The next hop of a target, checked after a target did not answer. */
  readonly nextHops: NextHops;
  /** What the kernel knows about the times of a connection. */
  readonly tcpTimes: ReadTcpTimes;
  /** When the kernel received datagrams. */
  readonly receiveStamps: ReceiveStamps;
}
