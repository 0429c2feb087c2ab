import { resultFields } from '@monitor/shared/contract/check-result.ts';
import type { Submission } from '@monitor/shared/contract/agent-protocol.ts';

/** Enough for an alert to say why; more would take the room of other verdicts. */
const maxMessageLength = 300;

/** What a run saw. The protocol supposes nothing where they are left out. */
const seen = [...resultFields, 'errorMessages', 'artifacts', 'learnedScript'] as const;

/**
 * What is kept of a submission for which there is no room, as JSON: the verdict of a run and its times,
 * without what the run saw. Null for what can go whole: an ATTEMPT that this agent follows up itself,
 * since the FINAL of its run says how it ended, and a certificate, which is read again.
 */
export function tombstoneOf(submission: Submission): string | null {
  if (submission.kind === 'certificate') return null;
  if (submission.kind !== 'result') return JSON.stringify(submission);
  if (submission.resultType === 'ATTEMPT' && submission.retryElsewhere === null) return null;
  const verdict: Partial<typeof submission> = { ...submission };
  for (const field of seen) delete verdict[field];
  const message = submission.errorMessages?.[0]?.slice(0, maxMessageLength);
  return JSON.stringify({
    ...verdict,
    // The protocol once needed this one.
    apiCheckResult: null,
    ...(message === undefined ? {} : { errorMessages: [message] }),
    isPayloadDropped: true,
  });
}
