/** Finished runs as alerting gets them, of a check in one location. */
import type { RunVerdict } from '../../control-plane/results/run-verdict.ts';
import type { TestControlPlane } from './control-plane.ts';

export function verdictOf(
  { accountId }: Pick<TestControlPlane, 'accountId'>,
  checkId: string,
  startedAt: number,
  { error, ...fields }: Partial<RunVerdict> & Pick<RunVerdict, 'hasFailures' | 'error'>,
): RunVerdict {
  return {
    ...{ accountId, checkId, checkType: 'URL', scheduledFor: startedAt, startedAt },
    resultId: `${checkId.slice(0, 8)}-0000-4000-8000-${String(startedAt).padStart(12, '0').slice(-12)}`,
    runLocation: 'eu-west-1',
    stoppedAt: startedAt + 20,
    ...{ hasErrors: false, isDegraded: false, responseTimeMs: 20 },
    ...{ statusCode: null, statusText: null },
    error: fields.hasFailures ? error : null,
    ...fields,
  };
}
