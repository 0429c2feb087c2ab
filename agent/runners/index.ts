/** The registry of runners: type → how to load it. A runner is loaded at its first run. */
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import type { JudgedRequest } from '@monitor/shared/contract/checks/check-type.ts';
import type { AgentType, RequestOf } from '@monitor/shared/contract/checks/index.ts';
import type { Runner } from './runner.ts';

type Pool = 'light' | 'heavy';

export interface RunnerEntry<Request extends JudgedRequest = JudgedRequest> {
  load: () => Promise<Runner<Request>>;
  /** Heavy runs never take a place that a light one needs. `by-scripts`: heavy with scripts. */
  pool: Pool | 'by-scripts';
  /** Ceiling of one attempt where it is not the one of the type. */
  timeoutMs?: number;
}

/** An agent reports the types it has here and is assigned no others. */
export const runners = {
  URL: { load: async () => (await import('./url.ts')).runUrl, pool: 'light' },
  TCP: { load: async () => (await import('./tcp.ts')).runTcp, pool: 'light' },
  DNS: { load: async () => (await import('./dns.ts')).runDns, pool: 'light' },
  ICMP: { load: async () => (await import('./icmp.ts')).runIcmp, pool: 'light' },
  SSL: { load: async () => (await import('./ssl.ts')).runSsl, pool: 'light' },
  TRACEROUTE: { load: async () => (await import('./traceroute.ts')).runTraceroute, pool: 'light' },
  GRPC: { load: async () => (await import('./grpc.ts')).runGrpc, pool: 'light' },
  API: { load: async () => (await import('./api.ts')).runApi, pool: 'by-scripts' },
  BROWSER: {
    load: async () => (await import('./scripts/browser-and-multi-step.ts')).runBrowser,
    pool: 'heavy',
  },
  MULTI_STEP: {
    load: async () => (await import('./scripts/browser-and-multi-step.ts')).runMultiStep,
    pool: 'heavy',
  },
  PLAYWRIGHT: {
    load: async () => (await import('./playwright/run-playwright.ts')).runPlaywright,
    pool: 'heavy',
  },
  AGENTIC: { load: async () => (await import('./agentic/agentic.ts')).runAgentic, pool: 'heavy' },
} as const satisfies { [Type in AgentType]: RunnerEntry<RequestOf<Type>> };

export type RunnerRegistry = Readonly<Record<string, RunnerEntry>>;

/** The runners of the types that an agent takes: all of them unless the settings name some. */
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
