/** One attempt of a run: measure, judge, and say what it amounts to. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { AssignedCheck, ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import type { Measurement } from '@monitor/shared/contract/checks/check-type.ts';
import { judge, type Verdict } from '@monitor/shared/domain/verdict.ts';
import { AgentError } from '../errors.ts';
import type { RunnerRegistry } from '../runners/index.ts';
import type { NetworkAccess, Runner, RunnerContext } from '../runners/runner.ts';
import type { LagMeter } from './lag-meter.ts';
import { parseCheck } from './parsed-check.ts';

export interface AttemptTools {
  clock: Clock;
  runners: RunnerRegistry;
  network: NetworkAccess;
  lagMeter: LagMeter;
}

type JobLogLine = { time: number; msg: string; level: string };

/** The fields of a result that the attempt itself decides. */
export type AttemptOutcome = Pick<
  ResultSubmission,
  | 'startedAt'
  | 'stoppedAt'
  | 'responseTime'
  | 'hasFailures'
  | 'hasErrors'
  | 'isDegraded'
  | 'overMaxResponseTime'
  | 'underLoad'
  | 'apiCheckResult'
> & {
  isNetworkError: boolean;
  /** Why it is not a clean pass, as a sentence; null for one. */
  reason: string | null;
  /** Code of the fault when it was ours. */
  faultCode: string | null;
};

const loaded = new Map<string, Promise<Runner>>();

function loadRunner(type: string, load: () => Promise<Runner>): Promise<Runner> {
  let runner = loaded.get(type);
  if (runner === undefined) {
    runner = load();
    loaded.set(type, runner);
    // A failed load is not remembered: the next run tries again.
    runner.catch(() => loaded.delete(type));
  }
  return runner;
}

/** The body of a clean pass is worth nothing to anybody and is most of what a result weighs. */
function worthKeeping(
  response: Record<string, unknown> | null,
  isCleanPass: boolean,
): Record<string, unknown> | null {
  if (response === null || !isCleanPass || !('body' in response)) return response;
  const { body: _body, ...rest } = response;
  return rest;
}

function fromMeasurement(
  measurement: Measurement,
  verdict: Verdict,
  log: JobLogLine[],
): AttemptOutcome {
  const { hasFailures, isDegraded, overMaxResponseTime, assertions, reason } = verdict;
  return {
    startedAt: measurement.startedAt,
    stoppedAt: measurement.stoppedAt,
    responseTime: Math.floor(measurement.responseTime ?? 0),
    hasFailures,
    hasErrors: false,
    isDegraded,
    overMaxResponseTime,
    underLoad: measurement.underLoad,
    isNetworkError: measurement.failure?.isNetworkError ?? false,
    reason,
    faultCode: null,
    apiCheckResult: {
      assertions,
      request: measurement.request,
      response: worthKeeping(measurement.response, !hasFailures && !isDegraded),
      requestError: measurement.failure?.message ?? null,
      jobLog: { setup: [], request: log, teardown: [] },
      jobAssets: null,
      pcapDataUrl: null,
    },
  };
}

/** Our faults are never the target's faults: `hasErrors`, and nothing is claimed about the target. */
function fromFault(
  error: unknown,
  startedAt: number,
  stoppedAt: number,
  log: JobLogLine[],
): AttemptOutcome {
  const isKnown = error instanceof AgentError;
  const reason = isKnown
    ? error.message
    : `the agent failed: ${error instanceof Error ? error.message : String(error)}`;
  return {
    startedAt,
    stoppedAt,
    responseTime: 0,
    hasFailures: false,
    hasErrors: true,
    isDegraded: false,
    overMaxResponseTime: false,
    underLoad: false,
    isNetworkError: false,
    reason,
    faultCode: isKnown ? error.code : 'RUNNER_BROKEN',
    apiCheckResult: {
      assertions: [],
      request: {},
      response: null,
      requestError: reason,
      jobLog: { setup: [], request: log, teardown: [] },
      jobAssets: null,
      pcapDataUrl: null,
    },
  };
}

/** Runs one attempt. Never rejects: what breaks on our side is an outcome with `hasErrors`. */
export async function makeAttempt(
  check: AssignedCheck,
  tools: AttemptTools,
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  const { clock, network, lagMeter } = tools;
  const startedAt = clock.now();
  const log: JobLogLine[] = [];
  const endLag = lagMeter.begin();
  try {
    const { definition, judging, entry } = parseCheck(check, tools.runners);
    const run = await loadRunner(check.type, entry.load);
    const context: RunnerContext = {
      signal,
      timeoutMs: entry.timeoutMs,
      clock,
      network,
      log(msg, level = 'INFO') {
        log.push({ time: clock.now(), msg, level });
      },
    };
    const observation = await run(definition, context);
    const measurement = { ...observation, underLoad: endLag() };
    return fromMeasurement(measurement, judge(judging, definition, measurement), log);
  } catch (error) {
    return fromFault(error, startedAt, clock.now(), log);
  } finally {
    endLag();
  }
}
