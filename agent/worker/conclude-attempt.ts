/** Concludes a finished attempt: its result, and whether and where a retry is made. */
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { decideRetry } from '@monitor/shared/domain/retry.ts';
import type { AttemptOutcome } from './attempt.ts';
import type { Run } from './run.ts';

/** Instants are milliseconds since the epoch. */
export interface EndedAttempt {
  run: Run;
  outcome: AttemptOutcome;
  resultId: string;
  /** A user cancelled the run: there is no retry, and no statement about the target. */
  isCancelled: boolean;
  /** When the first attempt of the run began. */
  sequenceStartedAt: number;
  /** End of the attempt itself, without the time for evidence. */
  endedAt: number;
}

export interface Conclusion {
  submission: ResultSubmission;
  /** The retry of this agent, and when it is due. */
  retry: { run: Run; dueAt: number } | null;
  /** Where the next attempt is made; null for a FINAL result. `elsewhere` is a label of the metric. */
  retriedWhere: 'here' | 'elsewhere' | null;
}

/** Only with `isLinkUp` can another location take over. */
export function concludeAttempt(ended: EndedAttempt, isLinkUp: boolean): Conclusion {
  const { run, outcome, isCancelled, sequenceStartedAt, endedAt } = ended;
  const { check } = run;
  const decision = decideRetry({
    strategy: check.retryStrategy,
    attempt: run.attempt,
    hasFailures: outcome.hasFailures && !isCancelled,
    isNetworkError: outcome.isNetworkError,
    elapsedMs: endedAt - sequenceStartedAt,
    hasOtherLocation: check.locations.length > 1 && !check.runParallel && isLinkUp,
  });
  if (decision.kind === 'final') {
    return { submission: submissionOf(ended, 'FINAL', null), retry: null, retriedWhere: null };
  }
  const dueAt = endedAt + decision.delayMs;
  const isHere = decision.where === 'here';
  const rescheduled = isHere ? null : { notBefore: dueAt, sequenceStartedAt };
  return {
    submission: submissionOf(ended, 'ATTEMPT', rescheduled),
    retry: isHere ? { run: { ...run, attempt: run.attempt + 1, sequenceStartedAt }, dueAt } : null,
    retriedWhere: decision.where,
  };
}

const noVerdict = {
  hasFailures: false,
  hasErrors: false,
  isDegraded: false,
  overMaxResponseTime: false,
  errorMessages: [],
};

function submissionOf(
  { run, outcome, resultId, isCancelled }: EndedAttempt,
  resultType: ResultSubmission['resultType'],
  retryElsewhere: ResultSubmission['retryElsewhere'],
): ResultSubmission {
  const {
    isNetworkError: _network,
    reason: _reason,
    faultCode,
    requests: _requests,
    ...fields
  } = outcome;
  const { check, runId, slotLocation, runLocation, scheduledFor, jobId, attempt, epoch } = run;
  return {
    kind: 'result',
    ...{ id: resultId, runId, checkId: check.id, checkRevision: check.revision },
    ...{ checkType: check.type, name: check.name, slotLocation, runLocation },
    ...{ scheduledFor, jobId, attempt, resultType, retryElsewhere, epoch },
    ...fields,
    ...(faultCode === null || isCancelled ? {} : { faultCode }),
    ...(isCancelled ? noVerdict : {}),
    isCancelled,
  };
}
