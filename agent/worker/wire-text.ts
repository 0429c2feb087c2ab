import type { Submission } from '@monitor/shared/contract/agent-protocol.ts';
import { resultFields } from '@monitor/shared/contract/check-result.ts';

/** Older control planes require this field. */
const required = 'apiCheckResult';
const omittedWhenNull = [...resultFields.filter((field) => field !== required), 'learnedScript'];
const omittedWhenEmpty = ['errorMessages', 'artifacts'];

/**
 * JSON of a submission without details that are not there: the protocol allows to omit them, and they
 * are a tenth of most results.
 */
export function wireTextOf(submission: Submission): string {
  if (submission.kind !== 'result') return JSON.stringify(submission);
  const shown: Record<string, unknown> = { ...submission };
  for (const field of omittedWhenNull) if (shown[field] === null) shown[field] = undefined;
  for (const field of omittedWhenEmpty) {
    const list = shown[field];
    if (Array.isArray(list) && list.length === 0) shown[field] = undefined;
  }
  return JSON.stringify(shown);
}
