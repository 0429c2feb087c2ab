/**
 * Collects evidence after a network failure: the packets of the failed connection, a traceroute,
 * and socket events. It takes seconds, cannot fail a run, and does not count as time of the
 * attempt.
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
 * The extent of the evidence: `all` takes seconds, `packets` a fraction of one because it waits for
 * no traceroute, and `events` no time.
 */
export type EvidenceLevel = 'all' | 'packets' | 'events';

/** Evidence of a network failure. */
export interface Evidence {
  readonly diagnostics: NetworkDiagnostics;
  /** Reference to the capture file of the run. */
  readonly pcapReference: string | null;
}

/** Stores a file of the run; gives its reference for the result. */
interface EvidenceSink {
  add(file: {
    bytes: Uint8Array;
    name: string;
    type: 'pcap' | 'log';
    contentType: string;
    isFleeting: true;
  }): Promise<string>;
}

/** The tools of a run for evidence; part of the context of a runner. */
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
/** The last packets arrive after the failure: the end of the connection, and errors of distant routers. */
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
  const cancel = tools.clock.after(withinMs, () => timeout.abort());
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

/** True for failures that packets and routes can explain. */
function isOfNetwork(failure: Failure, trail: ConnectionTrail): boolean {
  if (failure.code === 'CANCELLED') return false;
  if (failure.isNetworkError) return true;
  return trail.target !== null && ['connect', 'tls'].includes(failure.phase);
}

/** Collects evidence once the attempt is judged; empty when it is not needed. */
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

/**
 * Runs an attempt whose failure may be explained by packets: they are kept from before it begins. An
 * agent error that ends it carries the socket events so far.
 */
export async function withEventsOf<T>(
  trail: ConnectionTrail,
  tools: NextHopTools & { readonly network: Pick<NetworkAccess, 'capture'> },
  work: () => Promise<T>,
): Promise<T> {
  using _packets = tools.network.capture?.start();
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
