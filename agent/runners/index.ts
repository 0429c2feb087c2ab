/** The registry of runners: type → how to load it. A runner is loaded at its first run. */
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { checkTypes, type KnownCheckType } from '@monitor/shared/contract/checks/index.ts';
import type { Runner } from './runner.ts';

type Pool = 'light' | 'heavy';

export interface RunnerEntry {
  load: () => Promise<Runner>;
  /** Heavy runs never take a place that a light one needs. `by-scripts`: heavy with scripts. */
  pool: Pool | 'by-scripts';
  /** Ceiling of one attempt. */
  timeoutMs: number;
}

/** Types that wait on the control plane. */
type WithoutRunner = 'HEARTBEAT';

/** An agent reports the types it has here and is assigned no others. */
export const runners = {
  URL: {
    load: async () => (await import('./url.ts')).runUrl,
    pool: 'light',
    timeoutMs: checkTypes.URL.longestRunMs,
  },
  TCP: {
    load: async () => (await import('./tcp.ts')).runTcp,
    pool: 'light',
    timeoutMs: checkTypes.TCP.longestRunMs,
  },
  DNS: {
    load: async () => (await import('./dns.ts')).runDns,
    pool: 'light',
    timeoutMs: checkTypes.DNS.longestRunMs,
  },
  ICMP: {
    load: async () => (await import('./icmp.ts')).runIcmp,
    pool: 'light',
    timeoutMs: checkTypes.ICMP.longestRunMs,
  },
  API: {
    load: async () => (await import('./api.ts')).runApi,
    pool: 'by-scripts',
    timeoutMs: checkTypes.API.longestRunMs,
  },
  BROWSER: {
    load: async () => (await import('./browser/run-browser.ts')).runBrowser,
    pool: 'heavy',
    timeoutMs: checkTypes.BROWSER.longestRunMs,
  },
  MULTI_STEP: {
    load: async () => (await import('./multi-step/run-multi-step.ts')).runMultiStep,
    pool: 'heavy',
    timeoutMs: checkTypes.MULTI_STEP.longestRunMs,
  },
  PLAYWRIGHT: {
    load: async () => (await import('./playwright/run-playwright.ts')).runPlaywright,
    pool: 'heavy',
    timeoutMs: checkTypes.PLAYWRIGHT.longestRunMs,
  },
  AGENTIC: {
    load: async () => (await import('./agentic/agentic.ts')).runAgentic,
    pool: 'heavy',
    timeoutMs: checkTypes.AGENTIC.longestRunMs,
  },
} as const satisfies Record<Exclude<KnownCheckType, WithoutRunner>, RunnerEntry>;

export type RunnerRegistry = Readonly<Record<string, RunnerEntry>>;

/** The runners of the types that an agent takes: all of them unless it was told which. */
export function runnersFor(
  types: readonly string[] | undefined,
  registry: RunnerRegistry = runners,
): RunnerRegistry {
  if (types === undefined) return registry;
  return Object.fromEntries(Object.entries(registry).filter(([type]) => types.includes(type)));
}

/** Whether runs of these types can execute code of customers. */
export function canRunCode(registry: RunnerRegistry): boolean {
  return Object.values(registry).some(({ pool }) => pool !== 'light');
}

/** Where the runs of a check wait for a place. */
export function poolOf({ pool }: RunnerEntry, check: AssignedCheck): Pool {
  if (pool !== 'by-scripts') return pool;
  return check.setupScripts.length + check.teardownScripts.length > 0 ? 'heavy' : 'light';
}
