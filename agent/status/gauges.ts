/** Metrics that are read from the parts of the agent rather than counted by them. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { UploadLoop } from '../artifacts/upload-loop.ts';
import type { NetworkAccess } from '../net/network-access.ts';
import type { AgentMetrics } from '../observability/metrics.ts';
import type { Executor } from '../worker/executor.ts';
import type { Outbox } from '../worker/outbox.ts';
import type { Overload } from '../worker/overload.ts';

export interface ObservedParts {
  clock: Clock;
  outbox: Outbox;
  executor: Executor;
  uploads: UploadLoop;
  overload: Overload;
}

/** Brings them up to date; call it before metrics are read. */
export function updateGauges(metrics: AgentMetrics, parts: ObservedParts): void {
  const { clock, outbox, executor, uploads, overload } = parts;
  const { depth, bytes, oldestAt, droppedTotal } = outbox.state();
  metrics.outboxRecords.set(depth);
  metrics.outboxBytes.set(bytes);
  metrics.outboxOldest.set(oldestAt === null ? 0 : (clock.now() - oldestAt) / 1000);
  metrics.outboxDropped.set(droppedTotal);
  executor.observe();
  uploads.observe();
  const { overloadedSince, cpuWaitRatio } = overload.load;
  metrics.overloaded.set(overloadedSince === null ? 0 : 1);
  metrics.cpuWait.set(cpuWaitRatio ?? 0);
}

/** What this agent can do, which does not change while it runs. */
export function setAbilities(
  metrics: AgentMetrics,
  { icmp, capture, traceroute }: NetworkAccess,
  browsers: readonly string[],
): void {
  const abilities = {
    icmp: icmp !== null,
    capture: capture !== null,
    traceroute: traceroute !== null,
    browser: browsers.length > 0,
  };
  for (const [ability, works] of Object.entries(abilities)) {
    metrics.abilities.set({ ability }, works ? 1 : 0);
  }
}
