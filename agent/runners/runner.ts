/**
 * The contract between the worker and the runners. A runner observes one attempt and never judges:
 * a refused connection is an observation with a `failure`. It throws only when our side is broken
 * (`AgentError`), which ends as `hasErrors`. It knows its definition and its context, nothing else:
 * no environment, no globals, no retries, no assertions.
 */
import type { CheckDefinition, Measurement } from '@monitor/shared/contract/checks/check-type.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import type { IcmpTransport } from '../net/icmp.ts';

/** A measurement before the worker adds whether the agent was too busy to time it well. */
export type Observation = Omit<Measurement, 'underLoad'>;

export interface RunnerContext {
  /** Aborted when the run is cancelled; the runner then stops within a moment. */
  readonly signal: AbortSignal;
  /** Ceiling of this attempt; reaching it is an observation (`failure.code` TIMEOUT), not an error. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** The log of the run, shown with its result. */
  log(message: string, level?: 'INFO' | 'WARN' | 'ERROR'): void;
  readonly network: NetworkAccess;
}

/** What runners may use to reach targets; built once per process. */
export interface NetworkAccess {
  /** Names of TCP targets are resolved by the operating system rather than by a DNS query. */
  readonly useOsResolver: boolean;
  /** Echo requests, or null when this process may not send them; `icmpProblem` then says why. */
  readonly icmp: IcmpTransport | null;
  readonly icmpProblem: string | null;
}

export type Runner = (definition: CheckDefinition, context: RunnerContext) => Promise<Observation>;
