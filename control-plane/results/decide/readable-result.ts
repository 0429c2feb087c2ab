/**
 * A result as existing clients print it: the method and URL of a request and the status of a response, of
 * every type and of exchanges without a response, where they would fail.
 */
import { targetOf } from '@monitor/shared/contract/checks/target.ts';

type Fields = Record<string, unknown>;

interface Result {
  checkType: string;
  apiCheckResult: { request: Fields; response: Fields | null; requestError: string | null } | null;
}

/** What was answered, of types without a status. */
function answerOf({ returnCode, packetsReceived, packetsSent }: Fields): string {
  if (returnCode !== undefined) return String(returnCode);
  if (packetsReceived !== undefined)
    return `${String(packetsReceived)} of ${String(packetsSent)} packets answered`;
  return 'connected';
}

/** `json` is a result of the API, and so is the answer. */
export function readableResult(json: string): string {
  const result = JSON.parse(json) as Result;
  const { checkType, apiCheckResult: seen } = result;
  if (seen === null) return json;
  const { request, response, requestError } = seen;
  const statusText = response === null ? (requestError ?? 'no response') : answerOf(response);
  return JSON.stringify({
    ...result,
    apiCheckResult: {
      ...seen,
      request: { method: checkType, url: targetOf(checkType, { request }), ...request },
      response: { status: 0, statusText, headers: {}, ...response },
    },
  });
}
