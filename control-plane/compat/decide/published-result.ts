/** A result as clients of test sessions print it: what was seen stands in it, so that they fetch no files. */
import type { z } from 'zod';
import type { CheckResult } from '@monitor/shared/contract/check-result-routes.ts';
import { exchangeFields, resultFields } from '@monitor/shared/contract/check-result.ts';
import type { jobLogLine } from '@monitor/shared/contract/check-result.ts';

type LogLine = z.input<typeof jobLogLine>;
type Exchange = NonNullable<CheckResult['apiCheckResult']>;
interface Script {
  errors: { message: string }[];
  jobLog: LogLine[];
}

/** A message beyond this leaves out what is long: it can be read through the API. */
export const maxMessageLength = 1_000_000;
const keptLogLines = 200;
const keptTextLength = 10_000;

const shortened = (text: string): string =>
  text.length > keptTextLength ? `${text.slice(0, keptTextLength)}…` : text;

function shortLines(lines: readonly LogLine[]): LogLine[] {
  return lines.slice(-keptLogLines).map((line) => ({ ...line, msg: shortened(line.msg) }));
}

function exchangeOf(result: CheckResult): Exchange | null {
  for (const field of exchangeFields) {
    const exchange = result[field];
    if (exchange !== null) return exchange as Exchange;
  }
  return null;
}

function scriptOf(result: CheckResult): Script | null {
  for (const field of resultFields) {
    const details = result[field] as Partial<Script> | null;
    if (Array.isArray(details?.jobLog)) return details as Script;
  }
  return null;
}

/** Why it says nothing about the target, or what the script threw; null for other failures. */
function runErrorOf(result: CheckResult, script: Script | null): string | null {
  const errors = script?.errors.map(({ message }) => message) ?? [];
  if (errors.length > 0) return shortened(errors.join('\n'));
  if (!result.hasErrors) return null;
  return exchangeOf(result)?.requestError ?? 'the agent could not run it';
}

/** What stands in a `result` message; `snapshots` are files that the client stores. */
export function publishedResult(
  result: CheckResult,
  snapshots: readonly { key: string; path: string }[] = [],
): Record<string, unknown> {
  const exchange = exchangeOf(result);
  const script = scriptOf(result);
  const runError = runErrorOf(result, script);
  const facts = {
    name: result.name,
    checkType: result.checkType,
    // Clients look at failures alone: an agent error is not a pass.
    hasFailures: result.hasFailures || result.hasErrors,
    hasErrors: result.hasErrors,
    isDegraded: result.isDegraded,
    isCancelled: result.isCancelled,
    runLocation: result.runLocation,
    responseTime: result.responseTime,
    startedAt: result.startedAt,
    stoppedAt: result.stoppedAt,
    attempts: result.attempts,
    assets: snapshots.length === 0 ? null : { snapshots },
    ...(runError === null ? {} : { runError }),
  };
  const { request = {}, response = null, requestError = null, assertions = [] } = exchange ?? {};
  const whole = {
    ...facts,
    logs: exchange?.jobLog ?? script?.jobLog ?? [],
    ...(exchange === null
      ? {}
      : {
          checkRunData: {
            request: { ...request, data: request['body'] ?? '' },
            response: response === null ? null : { ...response, body: response['body'] ?? '' },
            ...{ requestError, assertions },
          },
        }),
    ...(result.agenticCheckResult === null ? {} : { metadata: result.agenticCheckResult }),
  };
  if (JSON.stringify(whole).length <= maxMessageLength) return whole;
  const { setup = [], request: ofRequest = [], teardown = [] } = exchange?.jobLog ?? {};
  return {
    ...facts,
    logs:
      exchange === null
        ? shortLines(script?.jobLog ?? [])
        : {
            setup: shortLines(setup).slice(-keptLogLines / 4),
            request: shortLines(ofRequest).slice(-keptLogLines / 4),
            teardown: shortLines(teardown).slice(-keptLogLines / 4),
          },
  };
}
