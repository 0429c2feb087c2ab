/** One attempt of a run: measure, judge, remove secrets, and build the result. */
import type { Clock } from '@monitor/shared/clock.ts';
import { z } from 'zod';
import {
  resultSubmission,
  type AssignedCheck,
  type ResultSubmission,
  type Shard,
} from '@monitor/shared/contract/agent-protocol.ts';
import {
  exchangeOf,
  noDetails,
  type ResultDetails,
  type ResultField,
} from '@monitor/shared/contract/check-result.ts';
import type { AgentCheckType, Measurement } from '@monitor/shared/contract/checks/check-type.ts';
import { detailsOfAgentError, type JobLog } from '@monitor/shared/domain/agent-error-details.ts';
import { judge, type Verdict } from '@monitor/shared/domain/verdict.ts';
import { WithoutCpuError } from '@monitor/shared/time-limit.ts';
import type { ResultEncrypter } from '../encryption/result-encryption.ts';
import type { RunArtifacts } from '../artifacts/run-artifacts.ts';
import { withoutDeadLinks } from '../artifacts/without-dead-links.ts';
import { AgentError } from '../errors.ts';
import type { TracedRequest } from '../net/http/traced-request.ts';
import { proxyLogin } from '../net/http/proxy-login.ts';
import type { RunnerRegistry } from '../runners/index.ts';
import type {
  Observation,
  Runner,
  RunnerContext,
  Scripting,
  SuitePart,
} from '../runners/runner.ts';
import type { Evidence } from '../net/network-evidence.ts';
import type { NetworkAccess } from '../net/network-access.ts';
import type { RunFacts } from '../script-host/run-variables.ts';
import { createScrubber } from '../scrub/create-scrubber.ts';
import type { Scrubber } from '../scrub/scrubber.ts';
import { socketsFirst } from '../net/deadline.ts';
import { droppedBody, withScrubbedBody } from './stored-body.ts';
import type { AttemptEvidence } from './evidence-budget.ts';
import { decideAttempt, mayRepeat, type VoidCause } from './decide-attempt.ts';
import { parseCheck } from './parsed-check.ts';
import type { ProcessTime, TimeFacts } from './process-time.ts';
import { minSuspensionMs } from './time-ledger.ts';
import { withShapeOf } from './scrubbed-shape.ts';

export interface AttemptTools {
  clock: Clock;
  runners: RunnerRegistry;
  network: NetworkAccess;
  processTime: ProcessTime;
  /** Null when customer code cannot run; `scriptingProblem` then says why. */
  scripting: Scripting | null;
  scriptingProblem: string | null;
  /** Called for each text and file in which something secret was removed. */
  onScrubbed?: () => void;
  /** Called for each void attempt: the process did not have its time. */
  onVoid?: (run: RunFacts, attempt: VoidAttempt) => void;
  /** Whether the agent is about to stop, and whether runs wait for a permit. */
  pace?: (check: AssignedCheck) => { isStopping: boolean; isCrowded: boolean };
  /** Collects the files of one attempt. */
  artifactsOf(
    resultId: string,
    scrubber: Scrubber,
    encrypter: ResultEncrypter | null,
    /** Whose files they are, when they are those of a shard. */
    shard?: Shard,
  ): RunArtifacts;
}

/** The check to run, and the identity of the run. */
export interface Attempt {
  check: AssignedCheck;
  run: RunFacts;
  /** From a trigger. */
  environmentUrl: string | null;
  /** The latest start of a repeated attempt, if this process is suspended during the first one. */
  latestStart: number;
  /** Called when the attempt is repeated. */
  onRepeat?: () => void;
  /** Takes what the run prints while it runs, without secrets; absent when nobody watches it. */
  onPrinted?: (line: string) => void;
  /** Snapshots are made anew, for a client that stores them. */
  updatesSnapshots?: boolean;
  /** Encrypts its files; absent where nothing is encrypted. */
  encrypter?: ResultEncrypter | null;
  part?: SuitePart;
  /** Where less time is left than its type has. */
  leftMs?: number;
}

type EvidenceShare = Pick<AttemptEvidence, 'begin' | 'deadline'>;

export interface VoidAttempt {
  cause: VoidCause;
  time: TimeFacts;
  isRepeated: boolean;
}

type ResultFields = Required<
  Pick<
    ResultSubmission,
    | 'startedAt'
    | 'stoppedAt'
    | 'responseTime'
    | 'hasFailures'
    | 'hasErrors'
    | 'isDegraded'
    | 'overMaxResponseTime'
    | 'underLoad'
    | 'agentWaitMs'
    | ResultField
    | 'errorMessages'
    | 'artifacts'
    | 'learnedScript'
  >
>;

/** The fields of a result that the attempt decides. */
export type AttemptOutcome = ResultFields & {
  isNetworkError: boolean;
  /** Why it is not a clean pass, as a sentence; null for a clean pass. */
  reason: string | null;
  /** Code of the agent error; null without one. */
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
  ...noDetails,
  errorMessages: [],
  artifacts: [],
  learnedScript: null,
} satisfies Partial<ResultFields>;

/** The outcome of a run that was cancelled before it began. */
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
    agentWaitMs: 0,
    isNetworkError: false,
    reason: null,
    faultCode: null,
    requests: [],
  };
}

const maxErrorMessageLength = 16_384;
const maxErrorMessages = 100;

/** Milliseconds of an attempt that the agent did not use, to a tenth. */
function agentWait({ suspendedMs, waitedMs }: TimeFacts): number {
  return Math.round((suspendedMs + waitedMs) * 10) / 10;
}

/** The exchange of a monitor or an API check, in the result field of its type. */
function exchangeDetails(
  type: AgentCheckType,
  measurement: Measurement,
  { hasFailures, isDegraded, assertions, reason }: Verdict,
  jobLog: JobLog,
  evidence: Evidence | undefined,
): Partial<ResultDetails> {
  const isExplained = isDegraded && reason !== null && type.degradedBy === 'own-rules';
  return {
    [type.resultField]: {
      assertions,
      request: measurement.request,
      response:
        hasFailures || isDegraded
          ? measurement.response
          : droppedBody(measurement.response, type.storedBodyLimit ?? 0),
      requestError: measurement.failure?.message ?? null,
      jobLog,
      jobAssets: null,
      pcapDataUrl: evidence?.pcapReference ?? null,
      networkDiagnostics: evidence?.diagnostics ?? null,
      ...(isExplained ? { degradedReason: reason } : {}),
      ...type.headline?.(measurement),
    },
  };
}

function fromObservation(
  type: AgentCheckType,
  observation: Observation,
  measurement: Measurement,
  verdict: Verdict,
  jobLog: JobLog,
  evidence: Evidence | undefined,
): AttemptOutcome {
  const { hasFailures, isDegraded, overMaxResponseTime, reason } = verdict;
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
    underLoad: false,
    agentWaitMs: 0,
    isNetworkError: measurement.failure?.isNetworkError ?? false,
    reason,
    faultCode: null,
    requests: observation.requests ?? [],
    errorMessages: hasFailures
      ? messages
          .slice(0, maxErrorMessages)
          .map((message) => message.slice(0, maxErrorMessageLength))
      : [],
    learnedScript: observation.learnedScript ?? null,
    ...(observation.details ?? exchangeDetails(type, measurement, verdict, jobLog, evidence)),
  };
}

/** An agent error is never a failure of the target: `hasErrors`, and nothing is claimed about the target. */
function fromAgentError(
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
    agentWaitMs: 0,
    isNetworkError: false,
    reason,
    faultCode: isKnown ? error.code : 'RUNNER_BROKEN',
    requests: [],
    ...detailsOfAgentError({
      ...{ type: check.type, definition: check.definition, runtimeId: check.runtimeId },
      ...{ reason, startedAt, stoppedAt, jobLog },
      diagnostics: isKnown ? error.diagnostics : null,
    }),
  };
}

/** An agent error of which nothing of the check may be shown: it was not verified, or not scrubbed. */
export function outcomeWithoutDefinition(
  error: unknown,
  check: AssignedCheck,
  startedAt: number,
  stoppedAt: number,
): AttemptOutcome {
  const nothing: JobLog = { setup: [], request: [], teardown: [] };
  return fromAgentError(error, { ...check, definition: {} }, startedAt, stoppedAt, nothing);
}

const outcomeShape = resultSubmission
  .extend({
    isNetworkError: z.boolean(),
    reason: z.string().nullable(),
    faultCode: z.string().nullable(),
  })
  .partial();

/** A learned script is replayed unchanged: one that contains a secret is not kept at all. */
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

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

function errorOfVoid({ cause, time }: VoidAttempt, tries: number): AgentError {
  const attempts = tries > 1 ? ` (${tries} attempts were affected)` : '';
  if (cause === 'suspended') {
    return new AgentError(
      'AGENT_SUSPENDED',
      `the agent was stopped, or its machine slept, for ${seconds(time.suspendedMs)} during this attempt${attempts}: ` +
        'this says nothing about the target. Look for what stops it: a frozen or paused container, a suspended machine, a snapshot.',
    );
  }
  return new AgentError(
    'AGENT_OVERLOADED',
    `a time limit was exceeded while the agent and the programs of the run waited for a CPU, ${seconds(time.waitedMs)} in all${attempts}: ` +
      'whether the target was too slow is undecided. Give the agent more CPU, or fewer checks; "monitor-agent status" shows its load.',
  );
}

/** The same, with the body of a clean pass cut to its stored length. */
function withoutSecretsAndShort(
  outcome: AttemptOutcome,
  storedBodyLimit: number,
  scrubber: Scrubber,
): AttemptOutcome {
  const { hasFailures, hasErrors, isDegraded, apiCheckResult } = outcome;
  const isCleanPass = !hasFailures && !hasErrors && !isDegraded;
  // No other shape has a body.
  const body = apiCheckResult?.response?.['body'];
  if (!isCleanPass || apiCheckResult === null || typeof body !== 'string') {
    return withoutSecrets(outcome, scrubber);
  }
  const bodyless = { ...apiCheckResult, response: { ...apiCheckResult.response, body: null } };
  const rest = withoutSecrets({ ...outcome, apiCheckResult: bodyless }, scrubber);
  const result = rest.apiCheckResult;
  if (result === null) return rest;
  const response = withScrubbedBody(result.response, body, storedBodyLimit, scrubber);
  return { ...rest, apiCheckResult: { ...result, response } };
}

async function nothingOf(artifacts: RunArtifacts): Promise<[]> {
  await artifacts.discard();
  return [];
}

interface Tried {
  outcome: AttemptOutcome;
  /** Set for a void attempt, of which nothing else counts. */
  isVoid: { cause: VoidCause; time: TimeFacts } | null;
}

function environmentOf(
  { environment }: AssignedCheck,
  environmentUrl: string | null,
): AssignedCheck['environment'] {
  if (environmentUrl === null) return environment;
  return [
    ...environment.filter(({ key }) => key !== 'ENVIRONMENT_URL'),
    { key: 'ENVIRONMENT_URL', value: environmentUrl, secret: false },
  ];
}

function scrubberOf(
  check: AssignedCheck,
  environment: AssignedCheck['environment'],
  { onScrubbed }: AttemptTools,
): Scrubber {
  return createScrubber({
    secrets: [
      ...environment.filter(({ secret }) => secret).map(({ value }) => value),
      ...proxyLogin(check.proxyUrl),
      ...check.clientCertificates.flatMap(({ key, passphrase }) => [key, passphrase ?? '']),
    ],
    detect: check.detectSecrets,
    ...(onScrubbed === undefined ? {} : { onFound: onScrubbed }),
  });
}

/** What a runner may use of this run. */
function contextOf(
  { check, run, onPrinted, updatesSnapshots = false, part }: Attempt,
  { clock, network, scripting, scriptingProblem }: AttemptTools,
  {
    scrubber,
    jobLog,
    ...own
  }: Pick<RunnerContext, 'signal' | 'timeoutMs' | 'waitedMs' | 'environment' | 'artifacts'> & {
    scrubber: Scrubber;
    jobLog: JobLog;
  },
): RunnerContext {
  const print = (line: string): void => onPrinted?.(scrubber.text(line));
  return {
    ...own,
    clock: socketsFirst(clock),
    network,
    run,
    runtimeId: check.runtimeId,
    setupScripts: check.setupScripts,
    teardownScripts: check.teardownScripts,
    snippets: check.snippets,
    clientCertificates: check.clientCertificates,
    proxyUrl: check.proxyUrl,
    learnedScript: check.learnedScript,
    baselines: check.baselines ?? [],
    updatesSnapshots,
    ...(part === undefined ? {} : { part }),
    ...(onPrinted === undefined ? {} : { printed: print }),
    log(msg, level = 'INFO', section = 'request') {
      print(msg);
      jobLog[section].push({ time: clock.now(), msg, level });
    },
    scrub: (text) => scrubber.text(text),
    addSecret(value) {
      scrubber.add(value);
    },
    scripting() {
      if (scripting !== null) return scripting;
      throw new AgentError(
        'SCRIPTING_UNAVAILABLE',
        `this agent cannot run code: ${scriptingProblem ?? 'its image has no runtime'}`,
      );
    },
  };
}

async function tryAttempt(
  attempt: Attempt,
  tools: AttemptTools,
  signal: AbortSignal,
  { begin, deadline }: EvidenceShare,
): Promise<Tried> {
  const { check, run, environmentUrl, encrypter = null } = attempt;
  const { clock, processTime } = tools;
  const startedAt = clock.now();
  const jobLog: JobLog = { setup: [], request: [], teardown: [] };
  const environment = environmentOf(check, environmentUrl);
  const scrubber = scrubberOf(check, environment, tools);
  const { part, leftMs = Number.POSITIVE_INFINITY } = attempt;
  const shard = part !== undefined && 'shard' in part ? part.shard : undefined;
  const artifacts = tools.artifactsOf(run.resultId, scrubber, encrypter, shard);
  let storedBodyLimit = 0;
  const seen: { isVoid: Tried['isVoid'] } = { isVoid: null };
  const measuring = processTime.begin();
  const measure = async (): Promise<AttemptOutcome> => {
    try {
      const { type, definition, entry } = parseCheck(check, tools.runners);
      const { judging } = type;
      storedBodyLimit = type.storedBodyLimit ?? 0;
      const runner = await loadRunner(check.type, entry.load);
      const context = contextOf(attempt, tools, {
        ...{ scrubber, jobLog, signal, environment, artifacts },
        timeoutMs: Math.min(leftMs, entry.timeoutMs ?? type.maxRunMs),
        waitedMs() {
          const { suspendedMs, waitedMs } = measuring.facts(true);
          return suspendedMs + waitedMs;
        },
      });
      const observation = await runner(definition, context);
      const {
        details: _d,
        errorMessages: _e,
        learnedScript: _l,
        requests: _r,
        unexplainedMs = Number.POSITIVE_INFINITY,
        processesWaitedMs,
        unansweredMs,
        evidence: collect,
        ...measurement
      } = observation;
      const verdict = judge(judging, definition, measurement);
      const own = measuring.facts(verdict.hasFailures || verdict.isDegraded);
      const time =
        processesWaitedMs === undefined
          ? own
          : {
              ...own,
              waitedWithin: processesWaitedMs,
              // The agent starts and ends the run, and may forward its requests.
              waitedMs: own.waitedMs + processesWaitedMs(Infinity),
            };
      const facts = { judging, definition, measurement, time, unexplainedMs, unansweredMs };
      const cause = decideAttempt(facts, verdict);
      if (cause !== null) seen.isVoid = { cause, time };
      const evidence =
        seen.isVoid === null && verdict.hasFailures && collect !== undefined
          ? await collect(begin(), deadline)
          : undefined;
      return fromObservation(
        ...([type, observation, measurement, verdict, jobLog, evidence] as const),
      );
    } catch (error) {
      const fault = fromAgentError(error, check, startedAt, clock.now(), jobLog);
      const time = measuring.facts(true);
      if (time.suspendedMs >= minSuspensionMs) seen.isVoid = { cause: 'suspended', time };
      else if (error instanceof WithoutCpuError) seen.isVoid = { cause: 'overloaded', time };
      return fault;
    } finally {
      measuring.end();
    }
  };
  const outcome = await measure();
  const { isVoid } = seen;
  try {
    const isDiscarded = signal.aborted || isVoid !== null;
    // Files first: secrets that are found in them are removed from the result too.
    const declared = isDiscarded ? await nothingOf(artifacts) : await artifacts.finish();
    const isWhole = !isDiscarded && declared.every(({ withheld }) => withheld === null);
    const shown = isWhole ? outcome : withoutDeadLinks(outcome, declared, clock.now());
    return {
      outcome: withoutSecretsAndShort({ ...shown, artifacts: declared }, storedBodyLimit, scrubber),
      isVoid,
    };
  } catch (error) {
    // A file that cannot be scrubbed stays on the agent.
    return {
      outcome: outcomeWithoutDefinition(error, check, startedAt, clock.now()),
      isVoid: null,
    };
  }
}

/**
 * Runs one attempt. Never rejects: an error of the agent is an outcome with `hasErrors`. `evidence`
 * is collected after a failed attempt. An attempt is void when this process was suspended during
 * it, or waited so long that an exceeded time limit means nothing. A void attempt is repeated while
 * there is time; otherwise it ends as an agent error.
 */
export async function makeAttempt(
  attempt: Attempt,
  tools: AttemptTools,
  signal: AbortSignal,
  evidence: EvidenceShare = { begin: () => 'all', deadline: signal },
): Promise<AttemptOutcome> {
  const { check, run, latestStart } = attempt;
  const before: Record<VoidCause, number> = { suspended: 0, overloaded: 0 };
  for (;;) {
    const { outcome, isVoid } = await tryAttempt(attempt, tools, signal, evidence);
    if (isVoid === null || signal.aborted) return outcome;
    const { cause, time } = isVoid;
    const pace = tools.pace?.(check) ?? { isStopping: false, isCrowded: false };
    const isRepeated = mayRepeat({ ...pace, cause, before, now: tools.clock.now(), latestStart });
    const voided: VoidAttempt = { cause, time, isRepeated };
    tools.onVoid?.(run, voided);
    before[cause] += 1;
    if (isRepeated) {
      attempt.onRepeat?.();
      continue;
    }
    const fault = errorOfVoid(voided, before.suspended + before.overloaded);
    const { startedAt, stoppedAt } = outcome;
    const jobLog = exchangeOf(outcome)?.jobLog ?? { setup: [], request: [], teardown: [] };
    return {
      ...fromAgentError(fault, check, startedAt, stoppedAt, jobLog),
      ...{ underLoad: true, agentWaitMs: agentWait(time) },
    };
  }
}
