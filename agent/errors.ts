/**
 * Errors of the agent outside of a check: one row per code. No code compares message texts.
 * A message says what was attempted, on what, and what to do next.
 */
import type { NetworkDiagnostics } from '@monitor/shared/contract/check-result.ts';

const catalogue = {
  CONFIG_INVALID: { retryable: false },
  CONTROL_PLANE_UNREACHABLE: { retryable: true },
  CONTROL_PLANE_REFUSED: { retryable: false },
  CONTROL_PLANE_ANSWER: { retryable: true },
  KEY_REFUSED: { retryable: false },
  /** The other side is of a version that does not know this one; it passes with the upgrade of one. */
  PROTOCOL_REFUSED: { retryable: false },
  DATA_DIR_IN_USE: { retryable: false },
  DATA_DIR_UNUSABLE: { retryable: false },
  RESOLVER_UNAVAILABLE: { retryable: true },
  NETWORK_UNAVAILABLE: { retryable: true },
  ICMP_UNAVAILABLE: { retryable: false },
  TRACEROUTE_UNAVAILABLE: { retryable: false },
  CHECK_TYPE_UNKNOWN: { retryable: false },
  JOB_INVALID: { retryable: false },
  SCRIPTING_UNAVAILABLE: { retryable: false },
  /** The kernel ended a run for want of memory before the run had reached its own limit. */
  MACHINE_MEMORY: { retryable: true },
  RUNTIME_MISSING: { retryable: false },
  RUNTIME_BROKEN: { retryable: false },
  BROWSER_MISSING: { retryable: false },
  BROWSER_BROKEN: { retryable: true },
  MODEL_UNAVAILABLE: { retryable: true },
  AGENT_LIMIT: { retryable: false },
  /** The registry of packages cannot be reached, or is not trusted. */
  PACKAGES_UNAVAILABLE: { retryable: true },
  /** The disk of this machine takes no more. */
  DISK_UNUSABLE: { retryable: true },
  CODE_BUNDLE_UNAVAILABLE: { retryable: true },
  /** The control plane has none for the check: a mistake in the check, not of the agent. */
  CODE_BUNDLE_NOT_FOUND: { retryable: false },
  /** Nobody signed the work whom the policy of this agent names, or not as it came. */
  WORK_REFUSED: { retryable: false },
  SCRUBBING_FAILED: { retryable: false },
  /** Packets are not kept at the moment; it mends itself. */
  CAPTURE_BROKEN: { retryable: true },
  /** So many failures at once that the way to each target cannot be traced. */
  TRACEROUTE_BUSY: { retryable: true },
  /** The process was stopped, or the machine slept, while an attempt was open. */
  AGENT_SUSPENDED: { retryable: true },
  /** A time limit was exceeded while the agent waited for a CPU. */
  AGENT_OVERLOADED: { retryable: true },
  /** Agents that took part in a shared run did not end in time. */
  SHARDS_UNFINISHED: { retryable: true },
  RUNNER_BROKEN: { retryable: false },
} as const satisfies Record<string, { retryable: boolean }>;

export type AgentErrorCode = keyof typeof catalogue;

/**
 * Something on our side failed. Thrown inside a run it ends as a result with `hasErrors`: our
 * errors are never failures of the target.
 */
export class AgentError extends Error {
  readonly code: AgentErrorCode;
  /** What the sockets of the attempt saw, where it had any. */
  diagnostics: NetworkDiagnostics | null = null;

  constructor(code: AgentErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AgentError';
    this.code = code;
  }

  get retryable(): boolean {
    return catalogue[this.code].retryable;
  }
}
