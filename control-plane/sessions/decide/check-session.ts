/**
 * The status of a session, from its runs.
 *
 *   STARTED            nothing has come in yet
 *   PROGRESS           some runs have ended, all well so far
 *   PROGRESS_DEGRADED  … at least one degraded
 *   PROGRESS_FAILED    … at least one failed
 *   PASSED, DEGRADED, FAILED   all runs have ended; the worst of them decides
 *   TIMED_OUT          at least one run has not ended by the deadline
 *   CANCELLED          called off before all runs had ended
 */
import { terminalStatuses, type SessionStatus } from '@monitor/shared/contract/check-trigger.ts';

export interface SessionRun {
  isCancelled: boolean;
  /** The FINAL result; null until there is one. */
  outcome: { hasFailures: boolean; hasErrors: boolean; isDegraded: boolean } | null;
}

const terminal: ReadonlySet<SessionStatus> = new Set(terminalStatuses);

/** True for a final status. */
export function isTerminal(status: SessionStatus): boolean {
  return terminal.has(status);
}

/** The status of a session at `now`; `deadline` in milliseconds since the epoch. Spec: open. */
export function sessionStatusOf(
  runs: readonly SessionRun[],
  deadline: number,
  now: number,
): SessionStatus {
  const outcomes = runs.flatMap(({ outcome }) => (outcome === null ? [] : [outcome]));
  const hasFailed = outcomes.some(({ hasFailures, hasErrors }) => hasFailures || hasErrors);
  const isDegraded = outcomes.some((outcome) => outcome.isDegraded);
  const open = runs.filter(({ outcome }) => outcome === null);
  if (open.length === 0) return hasFailed ? 'FAILED' : isDegraded ? 'DEGRADED' : 'PASSED';
  if (open.every(({ isCancelled }) => isCancelled)) return hasFailed ? 'FAILED' : 'CANCELLED';
  if (now >= deadline) return 'TIMED_OUT';
  if (outcomes.length === 0) return 'STARTED';
  return hasFailed ? 'PROGRESS_FAILED' : isDegraded ? 'PROGRESS_DEGRADED' : 'PROGRESS';
}
