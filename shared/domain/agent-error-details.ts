/** Result details of an agent error: its reason, in the shape of the check type. */
import type { ResultSubmission } from '../contract/agent-protocol.ts';
import {
  isExchangeField,
  type ExchangeField,
  type NetworkDiagnostics,
  type ResultField,
} from '../contract/check-result.ts';
import { findAgentType, findCheckType } from '../contract/checks/index.ts';

/** A log line of a run. */
type JobLogLine = { time: number; msg: string; level: string };
export type JobLog = Record<'setup' | 'request' | 'teardown', JobLogLine[]>;

interface AgentErrorFacts {
  readonly type: string;
  /** As received: it may be the part that was not understood. */
  readonly definition: Readonly<Record<string, unknown>>;
  readonly reason: string;
  readonly startedAt: number;
  readonly stoppedAt: number;
  readonly runtimeId: string | null;
  readonly jobLog: JobLog;
  /** Socket events of the attempt, if there were any. */
  readonly diagnostics?: NetworkDiagnostics | null;
}

function scriptRun({ reason, startedAt, stoppedAt, runtimeId, jobLog }: AgentErrorFacts) {
  return {
    errors: [{ message: reason, stack: null, title: null }],
    startTime: startedAt,
    endTime: stoppedAt,
    runtimeVersion: runtimeId ?? '',
    jobLog: [...jobLog.setup, ...jobLog.request, ...jobLog.teardown],
    jobAssets: [],
    playwrightTestTraces: [],
    playwrightTestJsonReportFile: null,
    tests: [],
  };
}

const noErrors = { consoleErrors: 0, networkErrors: 0, documentErrors: 0, userScriptErrors: 0 };
const noTests = { total: 0, passed: 0, failed: 0, flaky: 0, skipped: 0, retries: 0 };

function exchange({ type, reason, jobLog, diagnostics = null }: AgentErrorFacts) {
  return {
    assertions: [],
    request: {},
    response: null,
    requestError: reason,
    jobLog,
    jobAssets: null,
    pcapDataUrl: null,
    networkDiagnostics: diagnostics,
    ...findAgentType(type)?.headline?.({ request: {}, response: null, failure: null }),
  };
}

const scripted = {
  browserCheckResult: (error: AgentErrorFacts) => ({
    type: 'PLAYWRIGHT_TEST',
    ...scriptRun(error),
    traceSummary: noErrors,
    pages: [],
    playwrightTestVideos: [],
  }),
  multiStepCheckResult: (error: AgentErrorFacts) => ({ ...scriptRun(error), requests: [] }),
  playwrightCheckResult: (error: AgentErrorFacts) => ({
    ...scriptRun(error),
    playwrightTestVideos: [],
    playwrightTraceFiles: [],
    metrics: { ...noTests, durationMs: 0, installMs: 0, cacheHit: false },
  }),
  agenticCheckResult: ({ reason, definition: { prompt } }: AgentErrorFacts) => ({
    summary: reason,
    prompt: typeof prompt === 'string' ? prompt : '',
    assertions: [],
    suggestions: [],
    steps: [],
    errors: [{ error: { message: reason } }],
    artifactManifest: {},
  }),
} satisfies {
  [Field in Exclude<ResultField, ExchangeField>]: (
    error: AgentErrorFacts,
  ) => ResultSubmission[Field];
};

/** The detail field of the type, filled with the reason. */
export function detailsOfAgentError(
  error: AgentErrorFacts,
): Partial<Pick<ResultSubmission, ResultField>> {
  const { type } = error;
  const field = findCheckType(type)?.resultField ?? 'apiCheckResult';
  return { [field]: isExchangeField(field) ? exchange(error) : scripted[field](error) };
}
