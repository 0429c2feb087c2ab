import { resultFields } from '@monitor/shared/contract/check-result.ts';
import type { Submission } from '@monitor/shared/contract/agent-protocol.ts';

/** Enough for the text of an alert; longer messages would displace other verdicts. */
const maxMessageLength = 300;

/** Details of a run. The protocol allows to omit them. */
const seen = [
  ...resultFields,
  ...(['encryptedResult', 'errorMessages', 'artifacts', 'learnedScript'] as const),
] as const;

/**
 * The part of a submission that is kept when there is no room, as JSON: the verdict and the times
 * of a run. Null for a submission that can be dropped: an ATTEMPT that this agent follows up
 * itself, because the FINAL tells how the run ended, and a certificate, which is read again.
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
    // Older control planes require this field.
    apiCheckResult: null,
    ...(message === undefined ? {} : { errorMessages: [message] }),
    isPayloadDropped: true,
  });
}
