/** One attempt of a run: measure, judge, remove secrets, and say what it amounts to. */
import type { Clock } from '@monitor/shared/clock.ts';
import { z } from 'zod';
import {
  resultSubmission,
  type AssignedCheck,
  type ResultSubmission,
} from '@monitor/shared/contract/agent-protocol.ts';
import type { Measurement } from '@monitor/shared/contract/checks/check-type.ts';
import { detailsOfFault, type JobLog } from '@monitor/shared/domain/fault-details.ts';
import { judge, type Verdict } from '@monitor/shared/domain/verdict.ts';
import type { RunArtifacts } from '../artifacts/run-artifacts.ts';
import { AgentError } from '../errors.ts';
import type { TracedRequest } from '../net/traced-request.ts';
import { proxyLogin } from '../net/proxy-login.ts';
import type { RunnerRegistry } from '../runners/index.ts';
import type {
  Evidence,
  EvidenceExtent,
  NetworkAccess,
  Observation,
  RunFacts,
  Runner,
  RunnerContext,
  Scripting,
} from '../runners/runner.ts';
import { createScrubber } from '../scrub/create-scrubber.ts';
import type { Scrubber } from '../scrub/scrubber.ts';
import { droppedBody, withScrubbedBody } from './body-of-pass.ts';
import type { LagMeter } from './lag-meter.ts';
import { parseCheck } from './parsed-check.ts';
import { withShapeOf } from './scrubbed-shape.ts';

export interface AttemptTools {
  clock: Clock;
  runners: RunnerRegistry;
  network: NetworkAccess;
  lagMeter: LagMeter;
  /** Null where code of customers cannot run; `scriptingProblem` then says why. */
  scripting: Scripting | null;
  scriptingProblem: string | null;
  /** Told of each text and file in which something secret was removed. */
  onScrubbed?: () => void;
  /** Takes the files of one attempt. */
  artifactsOf(resultId: string, scrubber: Scrubber): RunArtifacts;
}

/** What is to be run, and as which run. */
export interface Attempt {
  check: AssignedCheck;
  run: RunFacts;
  /** Given with a trigger. */
  environmentUrl: string | null;
}

type ResultFields = Pick<
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
  | 'browserCheckResult'
  | 'multiStepCheckResult'
  | 'playwrightCheckResult'
  | 'agenticCheckResult'
  | 'errorMessages'
  | 'artifacts'
  | 'learnedScript'
>;

/** The fields of a result that the attempt itself decides. */
export type AttemptOutcome = ResultFields & {
  isNetworkError: boolean;
  /** Why it is not a clean pass, as a sentence; null for one. */
  reason: string | null;
  /** Code of the fault when it was ours. */
  faultCode: string | null;
  /** The HTTP requests it made, for traces. */
  requests: readonly TracedRequest[];
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

const nothingElse = {
  apiCheckResult: null,
  browserCheckResult: null,
  multiStepCheckResult: null,
  playwrightCheckResult: null,
  agenticCheckResult: null,
  errorMessages: [],
  artifacts: [],
  learnedScript: null,
} satisfies Partial<ResultFields>;

/** Of a run that is called off before it begins. */
export function outcomeWithoutAttempt(at: number): AttemptOutcome {
  return {
    ...nothingElse,
    startedAt: at,
    stoppedAt: at,
    responseTime: 0,
    hasFailures: false,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    underLoad: false,
    isNetworkError: false,
    reason: null,
    faultCode: null,
    requests: [],
  };
}

const longestErrorMessage = 16_384;
const mostErrorMessages = 100;

function fromObservation(
  observation: Observation,
  measurement: Measurement,
  verdict: Verdict,
  jobLog: JobLog,
  evidence: Evidence | undefined,
  bodyOfPass: number,
): AttemptOutcome {
  const { hasFailures, isDegraded, overMaxResponseTime, assertions, reason } = verdict;
  const messages = observation.errorMessages ?? (reason === null ? [] : [reason]);
  return {
    ...nothingElse,
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
    requests: observation.requests ?? [],
    errorMessages: hasFailures
      ? messages.slice(0, mostErrorMessages).map((message) => message.slice(0, longestErrorMessage))
      : [],
    learnedScript: observation.learnedScript ?? null,
    ...(observation.details ?? {
      apiCheckResult: {
        assertions,
        request: measurement.request,
        response:
          hasFailures || isDegraded
            ? measurement.response
            : droppedBody(measurement.response, bodyOfPass),
        requestError: measurement.failure?.message ?? null,
        jobLog,
        jobAssets: null,
        pcapDataUrl: evidence?.pcapReference ?? null,
        networkDiagnostics: evidence?.diagnostics ?? null,
      },
    }),
  };
}

/** Our faults are never the target's faults: `hasErrors`, and nothing is claimed about the target. */
function fromFault(
  error: unknown,
  check: AssignedCheck,
  startedAt: number,
  stoppedAt: number,
  jobLog: JobLog,
): AttemptOutcome {
  const isKnown = error instanceof AgentError;
  const reason = isKnown
    ? error.message
    : `the agent failed: ${error instanceof Error ? error.message : String(error)}`;
  return {
    ...nothingElse,
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
    requests: [],
    ...detailsOfFault({
      ...{ type: check.type, definition: check.definition, runtimeId: check.runtimeId },
      ...{ reason, startedAt, stoppedAt, jobLog },
      diagnostics: isKnown ? error.diagnostics : null,
    }),
  };
}

const outcomeShape = resultSubmission
  .extend({
    isNetworkError: z.boolean(),
    reason: z.string().nullable(),
    faultCode: z.string().nullable(),
  })
  .partial();

/** What was learned is played back as it is: with a secret in it, it is not kept at all. */
function withoutSecrets(outcome: AttemptOutcome, scrubber: Scrubber): AttemptOutcome {
  const { learnedScript, artifacts, requests, ...rest } = outcome;
  const isClean =
    learnedScript !== null && scrubber.text(learnedScript.script) === learnedScript.script;
  const scrubbed = withShapeOf(outcomeShape, rest, scrubber.value(rest));
  return {
    ...scrubbed,
    artifacts,
    requests: requests.map((request) => ({ ...request, url: scrubber.text(request.url) })),
    learnedScript: isClean ? learnedScript : null,
  };
}

/** The same, with no more of the body of a clean pass than is kept. */
function withoutSecretsAndShort(
  outcome: AttemptOutcome,
  bodyOfPass: number,
  scrubber: Scrubber,
): AttemptOutcome {
  const { hasFailures, hasErrors, isDegraded, apiCheckResult } = outcome;
  const isCleanPass = !hasFailures && !hasErrors && !isDegraded;
  const body = apiCheckResult?.response?.['body'];
  if (!isCleanPass || apiCheckResult === null || typeof body !== 'string') {
    return withoutSecrets(outcome, scrubber);
  }
  const bodyless = { ...apiCheckResult, response: { ...apiCheckResult.response, body: null } };
  const rest = withoutSecrets({ ...outcome, apiCheckResult: bodyless }, scrubber);
  const result = rest.apiCheckResult;
  if (result === null) return rest;
  const response = withScrubbedBody(result.response, body, bodyOfPass, scrubber);
  return { ...rest, apiCheckResult: { ...result, response } };
}

async function nothingOf(artifacts: RunArtifacts): Promise<[]> {
  await artifacts.discard();
  return [];
}

/**
 * Runs one attempt. Never rejects: what breaks on our side is an outcome with `hasErrors`. `extentOf` is
 * asked when the attempt is over: how much evidence of its failure is to be gathered. `enough` ends that,
 * and costs evidence alone.
 */
export async function makeAttempt(
  { check, run, environmentUrl }: Attempt,
  tools: AttemptTools,
  signal: AbortSignal,
  extentOf: () => EvidenceExtent = () => 'all',
  enough: AbortSignal = signal,
): Promise<AttemptOutcome> {
  const { clock, network, lagMeter } = tools;
  const startedAt = clock.now();
  const jobLog: JobLog = { setup: [], request: [], teardown: [] };
  const environment =
    environmentUrl === null
      ? check.environment
      : [
          ...check.environment.filter(({ key }) => key !== 'ENVIRONMENT_URL'),
          { key: 'ENVIRONMENT_URL', value: environmentUrl, secret: false },
        ];
  const scrubber = createScrubber({
    secrets: [
      ...environment.filter(({ secret }) => secret).map(({ value }) => value),
      ...proxyLogin(check.proxyUrl),
      ...check.clientCertificates.flatMap(({ key, passphrase }) => [key, passphrase ?? '']),
    ],
    detect: check.detectSecrets,
    ...(tools.onScrubbed === undefined ? {} : { onFound: tools.onScrubbed }),
  });
  const artifacts = tools.artifactsOf(run.resultId, scrubber);
  let bodyOfPass = 0;
  const measure = async (): Promise<AttemptOutcome> => {
    const endLag = lagMeter.begin();
    try {
      const { definition, judging, entry, ...kept } = parseCheck(check, tools.runners);
      bodyOfPass = kept.bodyOfPass;
      const runner = await loadRunner(check.type, entry.load);
      const context: RunnerContext = {
        signal,
        timeoutMs: entry.timeoutMs,
        clock,
        network,
        run,
        environment,
        runtimeId: check.runtimeId,
        setupScripts: check.setupScripts,
        teardownScripts: check.teardownScripts,
        snippets: check.snippets,
        clientCertificates: check.clientCertificates,
        proxyUrl: check.proxyUrl,
        learnedScript: check.learnedScript,
        log(msg, level = 'INFO', section = 'request') {
          jobLog[section].push({ time: clock.now(), msg, level });
        },
        scrub: (text) => scrubber.text(text),
        addSecret(value) {
          scrubber.add(value);
        },
        artifacts,
        scripting() {
          if (tools.scripting !== null) return tools.scripting;
          throw new AgentError(
            'SCRIPTING_UNAVAILABLE',
            `this agent cannot run code: ${tools.scriptingProblem ?? 'its image has no runtime'}`,
          );
        },
      };
      const observation = await runner(definition, context);
      const {
        details: _d,
        errorMessages: _e,
        learnedScript: _l,
        requests: _r,
        evidence: collect,
        ...measured
      } = observation;
      const measurement = { ...measured, underLoad: endLag() };
      const verdict = judge(judging, definition, measurement);
      const evidence =
        verdict.hasFailures && collect !== undefined
          ? await collect(extentOf(), enough)
          : undefined;
      return fromObservation(observation, measurement, verdict, jobLog, evidence, bodyOfPass);
    } catch (error) {
      return fromFault(error, check, startedAt, clock.now(), jobLog);
    } finally {
      endLag();
    }
  };
  const outcome = await measure();
  try {
    // Files first: what they teach about secrets counts for the result as well.
    const declared = signal.aborted ? await nothingOf(artifacts) : await artifacts.finish();
    return withoutSecretsAndShort({ ...outcome, artifacts: declared }, bodyOfPass, scrubber);
  } catch (error) {
    // What cannot be freed of secrets stays here.
    const nothing: JobLog = { setup: [], request: [], teardown: [] };
    return fromFault(error, { ...check, definition: {} }, startedAt, clock.now(), nothing);
  }
}
