/** Everything that runners use to reach targets, opened and closed together. */
import type { AgentConfig } from './config.ts';
import { openLibc } from './native/libc.ts';
import { openReceiveStamps } from './native/receive-stamp.ts';
import { openByHelper } from './native/socket-helper.ts';
import { openTcpTimes } from './native/tcp-times.ts';
import { openNextHops } from './net/next-hop/kernel.ts';
import { openIcmp } from './net/icmp/open-icmp.ts';
import { openPacketCapture } from './net/capture/packet-capture.ts';
import { shareTraces } from './net/traceroute/shared-traces.ts';
import { openTraceroute } from './net/traceroute/traceroute.ts';
import type { NetworkAccess } from './net/network-access.ts';

export type OpenNetwork = NetworkAccess & AsyncDisposable;

const switchedOff = (setting: string): string => `switched off by ${setting}=off`;

/** Opens what this machine allows; what it does not allow is null, with the reason beside it. */
export async function openNetwork(
  config: Pick<
    AgentConfig,
    'USE_OS_DNS_RESOLVER' | 'PACKET_CAPTURE' | 'PACKET_CAPTURE_BUFFER_MB' | 'TRACEROUTE'
  >,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<OpenNetwork> {
  const { libc } = openLibc();
  const helperProblem = libc === null ? null : openByHelper(libc);
  const echo = openIcmp(environment);
  const packets = config.PACKET_CAPTURE
    ? openPacketCapture({ bufferMb: config.PACKET_CAPTURE_BUFFER_MB, helperProblem })
    : { capture: null, problem: switchedOff('PACKET_CAPTURE') };
  const tracing = config.TRACEROUTE
    ? await openTraceroute()
    : { traceroute: null, problem: switchedOff('TRACEROUTE') };
  return {
    useOsResolver: config.USE_OS_DNS_RESOLVER,
    icmp: echo.icmp,
    icmpProblem: 'problem' in echo ? echo.problem : null,
    capture: packets.capture,
    captureProblem: packets.problem,
    traceroute: tracing.traceroute === null ? null : shareTraces(tracing.traceroute),
    tracerouteProblem: 'problem' in tracing ? tracing.problem : null,
    nextHops: openNextHops(),
    tcpTimes: openTcpTimes(),
    receiveStamps: openReceiveStamps(),
    async [Symbol.asyncDispose]() {
      echo.icmp?.close();
      packets.capture?.[Symbol.dispose]();
      await tracing.traceroute?.[Symbol.asyncDispose]();
    },
  };
}
