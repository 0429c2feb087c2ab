/** Turns a measurement into the flags of a result, for all types. Spec: Check result. */
import type { EvaluatedAssertion } from '../contract/assertion.ts';
import type { CheckDefinition, Judging, Measurement } from '../contract/checks/check-type.ts';
import { evaluateAssertions } from './assertions.ts';

export interface Verdict {
  hasFailures: boolean;
  isDegraded: boolean;
  overMaxResponseTime: boolean;
  assertions: EvaluatedAssertion[];
  /** The first cause of a failure or degradation as a sentence; null for a clean pass. */
  reason: string | null;
}

/**
 * Judges a measurement. `shouldFail` inverts only failures that the type marks: an error status for
 * HTTP, a refused connection for TCP. Failed assertions and an exceeded `maxResponseTime` always
 * fail; a late failure exceeds the maximum as well. A limit is exceeded above its value, unless the
 * type says otherwise. A failed result is not degraded.
 */
export function judge(
  judging: Judging,
  definition: CheckDefinition,
  measurement: Measurement,
): Verdict {
  const own = judging.ownVerdict(measurement, definition);
  const { failure, responseTime } = measurement;
  const isForgiven = definition.shouldFail && own.isInvertible;
  const ownProblem = isForgiven ? null : (failure?.message ?? own.failed);
  const assertions =
    failure === null ? evaluateAssertions(definition.request.assertions, judging, measurement) : [];
  const failedAssertion = assertions.find((assertion) => assertion.error !== undefined);

  const isOver = (limit: number | null) => {
    if (!judging.hasResponseTimeLimits || limit == null || responseTime === null) return false;
    return responseTime > limit || (judging.areLimitsInclusive === true && responseTime === limit);
  };
  const overMaxResponseTime = isOver(definition.maxResponseTime);
  const isSlow = failure === null && isOver(definition.degradedResponseTime);

  const problem =
    ownProblem ??
    failedAssertion?.error ??
    (overMaxResponseTime
      ? `response time above the maximum of ${String(definition.maxResponseTime)} ms`
      : null);
  const hasFailures = problem !== null;
  const degradedReason = isSlow
    ? `response time above ${String(definition.degradedResponseTime)} ms`
    : own.degraded;
  const isDegraded = !hasFailures && degradedReason !== null;
  return {
    hasFailures,
    isDegraded,
    overMaxResponseTime,
    assertions,
    reason: problem ?? (isDegraded ? degradedReason : null),
  };
}
