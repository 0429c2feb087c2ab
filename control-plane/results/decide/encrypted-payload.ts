/** Payloads of encrypted results: the envelope comes first, then the numbers that analytics read. */
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { noDetails, resultFields } from '@monitor/shared/contract/check-result.ts';
import { readableMetrics } from '@monitor/shared/domain/readable-metrics.ts';

type EncryptedResult = NonNullable<ResultSubmission['encryptedResult']>;

interface EncryptedPayload {
  envelope: EncryptedResult['envelope'];
  [metric: string]: unknown;
}

const beginning = '{"envelope":';

/** The payload of an encrypted result, without anything else that an agent may have put there. */
export function encryptedPayload(
  checkType: string,
  { envelope, metrics }: EncryptedResult,
): EncryptedPayload {
  return { envelope, ...readableMetrics(checkType, metrics) };
}

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

/** The verdict, the times and the metrics alone. */
export function withoutContent(
  item: ResultSubmission,
): ResultSubmission & { encryptedResult: EncryptedResult } {
  const field = resultFields.find((one) => item[one] !== null);
  const metrics = field === undefined ? {} : readableMetrics(item.checkType, item[field]);
  return {
    ...{ ...item, ...noDetails, errorMessages: [], artifacts: [], learnedScript: null },
    encryptedResult: { envelope: null, metrics },
    isPayloadDropped: true,
  };
}
