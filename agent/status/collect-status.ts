/** Gathers the status of a running agent from its parts. */
import { hostname } from 'node:os';
import { protocolVersion } from '@monitor/shared/contract/agent-protocol.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import type { ArtifactSpool } from '../artifacts/artifact-spool.ts';
import type { AgentConfig } from '../config.ts';
import type { NetworkAccess } from '../net/network-access.ts';
import { version } from '../version.ts';
import type { NotedDamage } from '../damage.ts';
import type { AgentSession } from '../worker/agent-session.ts';
import type { CheckInLoop } from '../worker/check-in-loop.ts';
import type { Executor } from '../worker/executor.ts';
import type { Outbox } from '../worker/outbox.ts';
import type { Overload } from '../worker/overload.ts';
import type { PoolState } from '../worker/run-queue.ts';
import type { SubmitLoop } from '../worker/submit-loop.ts';
import type { AgentStatus } from './agent-status.ts';
import type { AgentMetrics } from '../observability/metrics.ts';
import { probeDataFolder } from './probe-folder.ts';

export interface StatusParts {
  config: AgentConfig;
  clock: Clock;
  rawClock: Clock;
  network: NetworkAccess;
  session: AgentSession;
  startedAt: number;
  healthPort: number;
  /** Masked. */
  key: string;
  checks: number;
  runtimes: readonly string[];
  browsers: readonly string[];
  scriptingProblem: string | null;
  outbox: Outbox;
  spool: ArtifactSpool;
  executor: Executor;
  checkIns: CheckInLoop;
  submitLoop: SubmitLoop;
  metrics: AgentMetrics;
  overload: Overload;
  damages: readonly NotedDamage[];
  logProblem: string | null;
  encryption: AgentStatus['encryption'];
}

async function countsByCode(metrics: AgentMetrics): Promise<Record<string, number>> {
  const { values } = await metrics.internalErrors.get();
  return Object.fromEntries(
    values
      .filter(({ value }) => value > 0)
      .map(({ labels, value }) => [String(labels.code ?? 'UNKNOWN'), value]),
  );
}

function poolStatus({ running, queued, permits }: PoolState): AgentStatus['pools']['light'] {
  return { running, queued, places: permits };
}

/** Everything as it is this moment. */
export async function collectStatus(parts: StatusParts): Promise<AgentStatus> {
  const { config, network, outbox, spool, session, executor, checkIns, submitLoop } = parts;
  const { clock, rawClock } = parts;
  const { icmp, icmpProblem, capture, captureProblem, traceroute, tracerouteProblem } = network;
  // Deliveries are noted by the clock of this machine, all else by that of the control plane.
  const correctionMs = clock.now() - rawClock.now();
  const deliveredAt = submitLoop.lastDeliveredAt;
  return {
    pid: process.pid,
    hostname: hostname(),
    version,
    protocol: protocolVersion,
    agentId: outbox.agentId,
    startedAt: parts.startedAt + correctionMs,
    now: clock.now(),
    state: session.state,
    notReady: session.notReady,
    location: session.location,
    controlPlane: config.CONTROL_PLANE_URL,
    healthPort: parts.healthPort,
    key: parts.key,
    link: {
      ...checkIns.history,
      clockOffsetMs: checkIns.offsetMs,
      clockUncertaintyMs: checkIns.uncertaintyMs,
    },
    checks: parts.checks,
    pools: { light: poolStatus(executor.pools.light), heavy: poolStatus(executor.pools.heavy) },
    outbox: {
      ...outbox.state(),
      maxBytes: config.OUTBOX_MAX_BYTES,
      lastDeliveredAt: deliveredAt === null ? null : deliveredAt + correctionMs,
    },
    artifacts: { ...spool.state(), maxBytes: config.ARTIFACTS_MAX_BYTES },
    runtimes: [...parts.runtimes],
    browsers: [...parts.browsers],
    scriptingProblem: parts.scriptingProblem,
    network: {
      icmp: icmp?.way ?? icmpProblem ?? 'none',
      capture: capture === null ? (captureProblem ?? 'none') : 'packets',
      traceroute: traceroute === null ? (tracerouteProblem ?? 'none') : 'works',
    },
    load: parts.overload.load,
    undecidedRuns: parts.overload.undecidedRuns,
    logProblem: parts.logProblem,
    dataProblem: probeDataFolder(config.AGENT_DATA_DIR)?.message ?? null,
    damages: parts.damages.map(({ lostSlots, ...damage }) => ({
      ...damage,
      lostSlots: [...lostSlots],
    })),
    encryption: parts.encryption,
    internalErrors: await countsByCode(parts.metrics),
  };
}
