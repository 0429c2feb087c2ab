/** Payloads of encrypted results: the envelope comes first, then the numbers that analytics read. */
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { noDetails, resultFields } from '@monitor/shared/contract/check-result.ts';

export interface EncryptedPayload {
  envelope: NonNullable<ResultSubmission['encryptedResult']>['envelope'];
  [metric: string]: unknown;
}

const beginning = '{"envelope":';

/** True for a stored payload, as JSON. The details of no type begin so. */
export function isEncryptedPayload(json: string): boolean {
  return json.startsWith(beginning);
}

/** True for a result with something that the target or the code of the check may have written. */
export function hasContent(item: ResultSubmission): boolean {
  return (
    resultFields.some((field) => item[field] !== null) ||
    item.errorMessages.length > 0 ||
    item.artifacts.length > 0 ||
    item.learnedScript !== null
  );
}

/** The verdict and the times alone. */
export function withoutContent(item: ResultSubmission): ResultSubmission {
  const nothing = { errorMessages: [], artifacts: [], learnedScript: null };
  return { ...item, ...noDetails, ...nothing, isPayloadDropped: true };
}
