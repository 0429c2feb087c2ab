/** What every script can read about its run, in one place for all types. Spec: Variables. */
import type { TraceContext } from '../net/http/trace-context.ts';

/** Which run this is, for the variables that scripts can read. */
export interface RunFacts {
  readonly accountId: string;
  readonly checkId: string;
  readonly checkName: string;
  readonly checkType: string;
  readonly runId: string;
  readonly resultId: string;
  readonly location: string;
  readonly attempt: number;
  /** Null for a triggered run. */
  readonly scheduledFor: number | null;
  /** What triggered it, such as TRIGGER_API or CLI_TEST_SESSION; null for a scheduled run. */
  readonly source: string | null;
}

/**
 * Variables that describe a run. They stand below the variables of the customer, who may set any of
 * these names. `runtimeId` is that of the runtime in use, `2026.04`. The public addresses of this
 * network are empty: an agent talks to its control plane and to targets, and asks nobody else.
 */
export function runVariables(
  run: RunFacts,
  runtimeId: string | null,
  trace?: TraceContext,
): Record<string, string> {
  const variables: Record<string, string> = {
    ACCOUNT_ID: run.accountId,
    CHECK_ID: run.checkId,
    CHECK_NAME: run.checkName,
    CHECK_TYPE: run.checkType,
    REGION: run.location,
    RUNTIME_VERSION: runtimeId ?? '',
    PUBLIC_IP_V4: '',
    PUBLIC_IP_V6: '',
  };
  if (run.scheduledFor !== null) {
    variables['CHECK_RESULT_ID'] = run.resultId;
    variables['CHECK_RUN_ID'] = run.runId;
  }
  // compatibility: scripts of the field ask for this to know where they run
  variables['CHECKLY'] = '1';
  if (trace !== undefined) {
    const { traceparent } = trace;
    variables['TRACE_ID'] = trace.traceId;
    variables['TRACEPARENT'] = traceparent;
    variables['TRACESTATE'] = trace.tracestate;
    // compatibility: the names that existing scripts read
    variables['CHECKLY_TRACE_ID'] = trace.traceId;
    variables['CHECKLY_TRACEPARENT'] = traceparent;
    variables['CHECKLY_TRACESTATE'] = trace.tracestate;
  }
  return variables;
}
