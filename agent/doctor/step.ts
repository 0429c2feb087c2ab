/** One thing `doctor` looks at. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { AgentConfig } from '../config.ts';
import type { AgentError } from '../errors.ts';
import type { FoundBrowser } from '../browsers/find-browser.ts';
import type { NetworkAccess } from '../net/network-access.ts';
import type { Finding } from './finding.ts';
import type { Link } from './link.ts';
import type { Machine } from './machine.ts';
import type { StatusAnswer } from './running-agent.ts';

/** What steps look at. They change nothing that stays. */
export interface DoctorContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly config: AgentConfig;
  /** What reading the settings complained about. */
  readonly warnings: readonly string[];
  readonly clock: Clock;
  /** Nothing is asked of the network. */
  readonly isOffline: boolean;
  readonly isQuick: boolean;
  readonly machine: Machine;
  readonly network: NetworkAccess;
  /** The way to the control plane; each part is found out once. */
  readonly link: Link;
  /** The agent that runs on the same AGENT_DATA_DIR, if it answers. */
  readonly runningAgent: () => Promise<StatusAnswer | null>;
  /** The browser that checks would get, or why there is none. */
  readonly browser: () => Promise<FoundBrowser | AgentError>;
}

/** Steps that each see one part of the way to the control plane. */
const way = [
  'dns',
  'route',
  'proxy',
  'connect',
  'tls',
  'control-plane',
  'key',
  'protocol',
] as const;

/** What a step needs that looks at what lies behind this part. */
export function wayUntil(last: (typeof way)[number]): readonly string[] {
  return way.slice(0, way.indexOf(last) + 1);
}

export interface Step {
  readonly id: string;
  readonly name: string;
  /** What is tried, and on what; said of a failure. */
  readonly tries: (context: DoctorContext) => string;
  /** Earlier steps whose failure is the reason for a failure here: this one is then skipped. */
  readonly needs?: readonly string[];
  /** Earlier steps that this one would disturb: it begins after them, however they end. */
  readonly after?: readonly string[];
  /** Left out by `--offline`. */
  readonly isOnline?: boolean;
  /** Only checks of such types need it: left out where AGENT_CHECK_TYPES has none of them. */
  readonly servesOnly?: readonly string[];
  /** Left out by `--quick`. */
  readonly isSlow?: boolean;
  readonly check: Check;
}

/** At least one finding. Rejecting is a bug of the agent and shown as such. */
export type Check = (context: DoctorContext, signal: AbortSignal) => Finding[] | Promise<Finding[]>;
