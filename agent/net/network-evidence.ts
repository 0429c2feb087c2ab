/**
 * What is gathered when an attempt failed in the network: the packets of the failing connection, the
 * way to its target, and what its sockets saw. All of it is over within seconds, none of it can make
 * a run fail, and none of it counts as time of the attempt: it is gathered afterwards.
 */
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type {
  NetworkDiagnostics,
  TracerouteReport,
} from '@monitor/shared/contract/check-result.ts';
import { AgentError } from '../errors.ts';
import type { NetworkAccess } from './network-access.ts';
import type { ConnectionTrail } from './connection-trail.ts';
import { withNextHopProblem, type NextHopTools } from './next-hop/assert-reachable.ts';
import { tracerouteText } from './traceroute/text.ts';

/**
 * How much is gathered: `all` takes seconds, `packets` a fraction of one, since it waits for no
 * traceroute, and `events` no time at all.
 */
export type EvidenceLevel = 'all' | 'packets' | 'events';

/** What was found about a failure in the network. */
export interface Evidence {
  readonly diagnostics: NetworkDiagnostics;
  /** What refers to the capture among the files of the run. */
  readonly pcapReference: string | null;
}

/** Takes a file of the run; gives what refers to it in the result until it is read. */
interface EvidenceSink {
  add(file: {
    bytes: Uint8Array;
    name: string;
    type: 'pcap' | 'log';
    contentType: string;
    isFleeting: true;
  }): Promise<string>;
}

/** What a run gives to it; part of the context of a runner. */
export interface EvidenceTools {
  readonly network: Pick<
    NetworkAccess,
    'capture' | 'captureProblem' | 'traceroute' | 'tracerouteProblem'
  >;
  readonly artifacts: EvidenceSink;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

const withinMs = 8_000;
/** The last packets of a connection come after its failure: its end, errors from afar. */
const lastPacketsMs = 200;

type Capture = NetworkDiagnostics['capture'] & { pcapReference: string | null };
type Way = Pick<NetworkDiagnostics, 'traceroute' | 'tracerouteMissing'>;

function events(missing: string): Capture {
  return {
    kind: 'events',
    packets: 0,
    missing: `${missing}; the events of the socket are listed instead`,
    pcapReference: null,
  };
}

async function cutPackets(
  trail: ConnectionTrail,
  { network, artifacts, clock }: EvidenceTools,
  signal: AbortSignal,
): Promise<Capture> {
  const { capture, captureProblem } = network;
  if (capture === null) return events(captureProblem ?? 'packets cannot be captured');
  const { flow } = trail;
  if (flow === null) return events('no connection was begun, so there are no packets of it');
  await sleep(clock, lastPacketsMs, signal);
  const cut = await capture.cut({ ...flow, to: flow.to + lastPacketsMs }, signal);
  if ('missing' in cut) return events(cut.missing);
  const pcapReference = await artifacts.add({
    bytes: cut.bytes,
    name: 'capture.pcap',
    type: 'pcap',
    contentType: 'application/vnd.tcpdump.pcap',
    isFleeting: true,
  });
  const missing =
    cut.leftOut === 0
      ? null
      : `${cut.leftOut} packets in the middle of the connection were left out`;
  return { kind: 'packets', packets: cut.packets, missing, pcapReference };
}

async function keepTable(report: TracerouteReport, artifacts: EvidenceSink): Promise<void> {
  await artifacts.add({
    bytes: Buffer.from(tracerouteText(report)),
    name: 'traceroute.txt',
    type: 'log',
    contentType: 'text/plain; charset=utf-8',
    isFleeting: true,
  });
}

async function traceWay(
  { target }: ConnectionTrail,
  { network, artifacts }: EvidenceTools,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<Way> {
  const without = (tracerouteMissing: string): Way => ({ traceroute: null, tracerouteMissing });
  const { traceroute: tracer, tracerouteProblem } = network;
  if (target === null) return without('no address was found, so there is no way to trace');
  if (target.isProxy) {
    return without('the proxy of the location stands before the target and alone knows the way');
  }
  if (tracer === null) return without(tracerouteProblem ?? 'the way cannot be traced');
  try {
    const { address, family, port } = target;
    const report = await tracer.trace({ address, family, port }, { timeoutMs, signal });
    await keepTable(report, artifacts);
    return { traceroute: report, tracerouteMissing: null };
  } catch (error) {
    const isKnown = error instanceof AgentError;
    return without(isKnown ? error.message : `the tracer failed: ${String(error)}`);
  }
}

async function collect(
  trail: ConnectionTrail,
  tools: EvidenceTools,
  level: 'all' | 'packets',
  deadline: AbortSignal = tools.signal,
): Promise<Evidence> {
  const timeout = new AbortController();
  const cancel = tools.clock.after(withinMs, () => {
    timeout.abort();
  });
  const signal = AbortSignal.any([tools.signal, deadline, timeout.signal]);
  try {
    const [{ pcapReference, ...capture }, way] = await Promise.all([
      cutPackets(trail, tools, signal).catch((error: unknown) =>
        events(`the packets could not be kept: ${String(error)}`),
      ),
      traceWay(trail, tools, signal, level === 'all' ? withinMs : 0),
    ]);
    return { pcapReference, diagnostics: { capture, events: trail.events, ...way } };
  } finally {
    cancel();
  }
}

const tooMany = 'so many attempts failed at the same time';

function justEvents(trail: ConnectionTrail): Evidence {
  const { pcapReference, ...capture } = events(`${tooMany} that these packets were not kept`);
  const tracerouteMissing = `${tooMany} that the way was not traced`;
  return {
    pcapReference,
    diagnostics: { capture, events: trail.events, traceroute: null, tracerouteMissing },
  };
}

/** True for failures that packets and the way to the target can explain. */
function isOfNetwork(failure: Failure, trail: ConnectionTrail): boolean {
  if (failure.code === 'CANCELLED') return false;
  if (failure.isNetworkError) return true;
  return trail.target !== null && ['connect', 'tls'].includes(failure.phase);
}

/** The part of an observation that gathers evidence once the attempt is judged; empty without need. */
export function evidenceOf(
  failure: Failure | null,
  trail: ConnectionTrail,
  tools: EvidenceTools,
): { evidence?: (level: EvidenceLevel, deadline?: AbortSignal) => Promise<Evidence> } {
  if (failure === null || !isOfNetwork(failure, trail)) return {};
  return {
    evidence: (level, deadline) =>
      level === 'events'
        ? Promise.resolve(justEvents(trail))
        : collect(trail, tools, level, deadline),
  };
}

const agentError = 'the cause is this machine or its next hop';

/** Does the work of an attempt; an agent error that ends it carries what the sockets saw until then. */
export async function withEventsOf<T>(
  trail: ConnectionTrail,
  tools: NextHopTools,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await withNextHopProblem(tools, work);
  } catch (error) {
    const { events: seen } = trail;
    if (error instanceof AgentError && seen.length > 0) {
      const { pcapReference: _none, ...capture } = events(`${agentError}, so no packets were kept`);
      error.diagnostics ??= {
        ...{ capture, events: seen, traceroute: null },
        tracerouteMissing: `${agentError}, so there is no way to trace`,
      };
    }
    throw error;
  }
}
