import type { Submission } from '@monitor/shared/contract/agent-protocol.ts';

/** Enough for an alert to say why; more would take the room of other verdicts. */
const longestMessage = 300;

/**
 * What is kept of a submission for which there is no room: the verdict of a run and its times, without
 * what the run saw. Null for what can go whole: an ATTEMPT that this agent follows up itself, since the
 * FINAL of its run says how it ended, and a certificate, which is read again.
 */
export function tombstoneOf(submission: Submission): Submission | null {
  if (submission.kind === 'certificate') return null;
  if (submission.kind !== 'result') return submission;
  if (submission.resultType === 'ATTEMPT' && submission.retryElsewhere === null) return null;
  return {
    ...submission,
    apiCheckResult: null,
    browserCheckResult: null,
    multiStepCheckResult: null,
    playwrightCheckResult: null,
    agenticCheckResult: null,
    errorMessages: submission.errorMessages
      .slice(0, 1)
      .map((message) => message.slice(0, longestMessage)),
    artifacts: [],
    learnedScript: null,
    isPayloadDropped: true,
  };
}
