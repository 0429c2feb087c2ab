/** The registry of runners: type → how to load it. A runner is loaded at its first run. */
import type { KnownCheckType } from '@monitor/shared/contract/checks/index.ts';
import type { Runner } from './runner.ts';

export interface RunnerEntry {
  load: () => Promise<Runner>;
  /** Heavy runs never take a place that a light one needs. */
  pool: 'light' | 'heavy';
  /** Ceiling of one attempt. */
  timeoutMs: number;
}

const uptimeTimeoutMs = 30_000;

/** Types that wait on the control plane, and those whose runner this build does not carry. */
type WithoutRunner = 'HEARTBEAT' | 'API' | 'BROWSER' | 'MULTI_STEP' | 'PLAYWRIGHT' | 'AGENTIC';

/** An agent reports the types it has here and is assigned no others. */
export const runners = {
  URL: {
    load: async () => (await import('./url.ts')).runUrl,
    pool: 'light',
    timeoutMs: uptimeTimeoutMs,
  },
  TCP: {
    load: async () => (await import('./tcp.ts')).runTcp,
    pool: 'light',
    timeoutMs: uptimeTimeoutMs,
  },
  DNS: {
    load: async () => (await import('./dns.ts')).runDns,
    pool: 'light',
    timeoutMs: uptimeTimeoutMs,
  },
  ICMP: {
    load: async () => (await import('./icmp.ts')).runIcmp,
    pool: 'light',
    timeoutMs: uptimeTimeoutMs,
  },
} as const satisfies Record<Exclude<KnownCheckType, WithoutRunner>, RunnerEntry>;

export type RunnerRegistry = Readonly<Record<string, RunnerEntry>>;
