/** One run of a browser or multi-step check, up to what both say of it in the same way. */
import { hash } from 'node:crypto';
import { posix } from 'node:path';
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import type { ScriptError, ScriptStep, ScriptTest } from '@monitor/shared/contract/check-result.ts';
import type { ScreenshotComparison } from '@monitor/shared/contract/baseline.ts';
import type { CheckDefinition, Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { z } from 'zod';
import { imagesOf, type Observation, type RunnerContext } from '../runner.ts';
import type { BrowserLease } from '../../browsers/browser-pool.ts';
import type { FoundBrowser } from '../../browsers/find-browser.ts';
import { substituteNote, type InstalledRuntime } from '../../runtimes/installed-runtime.ts';
import type { ScriptSession } from '../../browsers/script-sessions.ts';
import type { ProxySession } from '../../net/gateway/gateway.ts';
import { beginTrace } from '../../net/http/trace-context.ts';
import { runVariables } from '../../script-host/run-variables.ts';
import { canRecordVideo } from '../../browsers/browsers-folder.ts';
import { RunPictures } from '../../browsers/pictures.ts';
import {
  RunBaselines,
  screenshotSettings,
  type SeenAttempt,
  undecidedBy,
} from '../../browsers/run-baselines.ts';
import { collectArtifacts, updatedSnapshots, type CollectedArtifacts } from './run-artifacts.ts';
import { LiveOutput } from './live-output.ts';
import {
  eventsOf,
  readRunEvents,
  readRunFile,
  type RunEvent,
  type SeenStep,
} from './run-events.ts';
import type { CpuWaits } from '../../script-host/cpu-waits.ts';
import type { Workspace } from '../../script-host/script-host.ts';
import { openProxySession } from './proxy-session.ts';
import {
  countedUntil,
  failedAt,
  failureOfBrowser,
  failureOfRun,
  failureOfScript,
  isOfTestsAlone,
  isOnlySoft,
  testsWithoutBaselines,
  unansweredMs,
  unjudged,
} from './run-failure.ts';
import { testRunnerConfig, writeScript } from './run-files.ts';

/** What the part of a type adds to the common part. */
export interface RunSeen {
  readonly events: readonly RunEvent[];
  readonly artifacts: CollectedArtifacts;
  readonly common: CommonDetails;
  readonly comparisons: readonly ScreenshotComparison[];
  readonly updated: readonly { path: string; name: string }[];
  readonly isTest: boolean;
}

export interface CommonDetails {
  errors: ScriptError[];
  startTime: number;
  endTime: number;
  runtimeVersion: string;
  jobLog: { time: number; msg: string; level: string }[];
  jobAssets: string[];
  playwrightTestTraces: string[];
  playwrightTestJsonReportFile: string | null;
  tests: ScriptTest[];
}

const noArtifacts: CollectedArtifacts = {
  all: [],
  traces: [],
  videos: [],
  report: null,
  screenshots: new Map(),
  references: new Map(),
};

const definitionParts = z.object({
  script: z.string().nullable(),
  scriptPath: z.string().nullish(),
  dependencies: z.array(z.object({ path: z.string(), content: z.string() })).nullish(),
  playwrightConfig: z.looseObject({}).nullish(),
});

/** Read by Node or by the test runner when they start: too late for a child that has started. */
const readAtStart = /^(NODE_|PLAYWRIGHT_|PW|DEBUG$|TZ$|LANG$|LC_|SSL_)/;

const degradedFile = z.object({ messages: z.array(z.string()) });

/** compatibility: helper packages of the field say so by a file in the working folder. */
async function degradedMessage(session: ScriptSession): Promise<string | null> {
  const text = await readRunFile(session.workspace, 'check/degraded.json', 65_536);
  if (text === null) return null;
  try {
    const { messages } = degradedFile.parse(JSON.parse(text));
    return messages.filter((message) => message !== '').join('; ') || 'marked by the script';
  } catch {
    return 'marked by the script';
  }
}

/** Requests by where they were made, `worker:number`, to their number in the result. */
export function requestNumbers(events: readonly RunEvent[]): Map<string, number> {
  return new Map(
    eventsOf(events, 'request').map(({ worker, number }, index) => [`${worker}:${number}`, index]),
  );
}

function toStep(step: SeenStep, numbers: Map<string, number>): ScriptStep {
  return {
    ...step,
    requests: step.requests.flatMap((key) => numbers.get(key) ?? []),
    steps: step.steps.map((inner) => toStep(inner, numbers)),
  };
}

function testsOf(events: readonly RunEvent[]): ScriptTest[] {
  const numbers = requestNumbers(events);
  return eventsOf(events, 'test').map(({ test }) => ({
    ...test,
    steps: test.steps.map((step) => toStep(step, numbers)),
  }));
}

/** Tests with their files: these follow their test. */
function attemptsOf(events: readonly RunEvent[]): SeenAttempt[] {
  const attempts: (SeenAttempt & { attachments: SeenAttempt['attachments'][number][] })[] = [];
  const last = new Map(eventsOf(events, 'test').map(({ test }) => [test.title, test.retries]));
  for (const event of events) {
    if (event.type === 'test') {
      const isLast = event.test.retries === last.get(event.test.title);
      attempts.push({ project: 'chromium', errors: event.test.errors, isLast, attachments: [] });
    } else if (event.type === 'attachment') {
      const { name, path, contentType } = event;
      const inside = posix.normalize(posix.join('monitor', path));
      attempts.at(-1)?.attachments.push({ name, path: inside, contentType });
    }
  }
  return attempts;
}

/** Writes what the screenshots of a run are compared with. */
async function layImages(
  definition: CheckDefinition,
  context: RunnerContext,
  workspace: Workspace,
  note: (message: string) => void,
): Promise<{ baselines: RunBaselines; masks: string[] }> {
  const baselines = new RunBaselines(workspace, 'check', note);
  const { snapshots, masks } = screenshotSettings(definition);
  await baselines.lay(context.baselines ?? [], snapshots, imagesOf(context));
  return { baselines, masks };
}

/** Screenshots that the run compared, or snapshots that it made anew. */
async function imagesOfRun(
  context: RunnerContext,
  baselines: RunBaselines,
  of: {
    workspace: Workspace;
    events: readonly RunEvent[];
    file: string;
    references: ReadonlyMap<string, string>;
    withheld: string | null;
    note: (message: string) => void;
  },
): Promise<Pick<Ended, 'comparisons' | 'updated'>> {
  if (context.updatesSnapshots === true) {
    const { workspace, file, withheld, note } = of;
    const updated = await updatedSnapshots(workspace, file, context.artifacts, withheld, note);
    return { comparisons: [], updated };
  }
  const comparisons = await baselines.comparisons(attemptsOf(of.events), of.references);
  return { comparisons, updated: [] };
}

interface Ended {
  readonly events: readonly RunEvent[];
  readonly isTest: boolean;
  readonly failure: Failure | null;
  readonly degraded: string | null;
  readonly comparisons: readonly ScreenshotComparison[];
  readonly updated: readonly { path: string; name: string }[];
  readonly artifacts: CollectedArtifacts;
  readonly lines: CommonDetails['jobLog'];
  /** When its own processes waited. */
  readonly waits: CpuWaits | null;
  /** The end of the script itself, of `performance.now()`. */
  readonly endedAt: number;
}

const beforeStart = (failure: Failure): Ended => ({
  events: [],
  isTest: true,
  failure,
  degraded: null,
  ...{ comparisons: [], updated: [] },
  artifacts: noArtifacts,
  lines: [],
  waits: null,
  endedAt: performance.now(),
});

interface Surroundings {
  readonly context: RunnerContext;
  readonly runtime: InstalledRuntime;
  readonly browser: FoundBrowser | null;
  readonly lease: BrowserLease | null;
  readonly pictures: RunPictures;
  /** Null when the run may go its own way. */
  readonly proxySession: ProxySession | null;
}

function environmentOf(context: RunnerContext, runtime: InstalledRuntime): Record<string, string> {
  const given = context.environment.map(({ key, value }) => [key, value] as const);
  return {
    ...runVariables(context.run, runtime.id, beginTrace(context.run)),
    ...Object.fromEntries(given),
  };
}

/** A browser that ended: so long until it is known why. */
const knownWithinMs = 5_000;

/** A page that exceeds the memory limit of a run ends its browser: this is a failure of the page. */
async function failureOfMemory(
  lease: BrowserLease | null,
  events: readonly RunEvent[],
  clock: Clock,
): Promise<Failure | null> {
  if (lease === null || eventsOf(events, 'browserGone').length === 0) return null;
  const waiting = new AbortController();
  const unknown = sleep(clock, knownWithinMs, waiting.signal).then(() => ({
    isOutOfMemory: false,
  }));
  const { isOutOfMemory } = await Promise.race([lease.ended, unknown]);
  waiting.abort();
  return isOutOfMemory ? failureOfBrowser(events) : null;
}

/**
 * The same for runs of one check at one revision with the same values. A child that has run code of a
 * check may know its secrets: it runs nothing else.
 */
function keyOf(definition: CheckDefinition, { context, runtime, browser }: Surroundings): string {
  const ofCheck = definitionParts.parse(definition);
  const { accountId, checkId } = context.run;
  const { environment, snippets } = context;
  const parts = { ...ofCheck, environment, snippets, runtime };
  const whole = { accountId, checkId, hasBrowser: browser !== null, ...parts };
  return hash('sha256', JSON.stringify(whole), 'hex');
}

async function runInSession(
  definition: CheckDefinition,
  surroundings: Surroundings,
): Promise<Ended> {
  const { context, runtime, browser, lease, pictures, proxySession } = surroundings;
  const proxyServer = proxySession?.server ?? null;
  const { script, scriptPath, dependencies, playwrightConfig } = definitionParts.parse(definition);
  if (script === null || script.trim() === '') {
    return beforeStart(failureOfScript('SCRIPT_INVALID', 'the check has no script; write one'));
  }
  const environment = environmentOf(context, runtime);
  const early = Object.entries(environment).filter(([name]) => readAtStart.test(name));
  await using session = await context.scripting().sessions.take({
    runtime,
    environment: Object.fromEntries(early),
    key: keyOf(definition, surroundings),
  });
  const { workspace } = session;
  const { waits } = workspace;
  proxySession?.admit(workspace.allowedClient);
  if (lease !== null) proxySession?.admit(lease.allowedClient);
  const written = await writeScript(workspace, {
    script,
    scriptPath: scriptPath ?? null,
    dependencies: dependencies ?? [],
    snippets: context.snippets,
  });
  if ('code' in written) return beforeStart(written);
  const lines: CommonDetails['jobLog'] = [];
  const note = (msg: string) => lines.push({ time: context.clock.now(), msg, level: 'WARN' });
  const { baselines, masks } = await layImages(definition, context, workspace, note);
  const settings = {
    browser,
    masks,
    endpoint: lease?.endpoint ?? null,
    recordRequests: browser === null,
    traceScripts: browser !== null && !written.isTest,
    nodeOptions: environment['NODE_OPTIONS'] ?? null,
    // Of tests it is an option in their configuration, which the customer's comes after.
    proxyServer: written.isTest ? null : proxyServer,
  };
  await pictures.write(workspace, 'monitor');
  const job: Record<string, unknown> = { environment: withoutOwn(environment), settings };
  if (written.isTest) {
    await workspace.write(
      'monitor/playwright.config.cjs',
      testRunnerConfig({
        folder: workspace.folder,
        written,
        given: playwrightConfig ?? null,
        hasBrowser: browser !== null,
        canRecordVideo: canRecordVideo(runtime.folder),
        updatesSnapshots: context.updatesSnapshots === true,
        proxyServer,
      }),
    );
    job['config'] = `${workspace.folder}/monitor/playwright.config.cjs`;
  } else {
    job['script'] = written.file;
  }
  const { printed } = context;
  await using live = printed === undefined ? null : new LiveOutput(workspace, context, printed);
  const { end, isTimeout } = await session.run(job, {
    timeoutMs: context.timeoutMs,
    signal: context.signal,
    onLine(line, stream) {
      const level = stream === 'stderr' ? 'ERROR' : 'INFO';
      live?.add(line);
      if (lines.length < 4_000) lines.push({ time: context.clock.now(), msg: line, level });
    },
  });
  const endedAt = performance.now();
  await live?.end();
  // Before anything that it was admitted by can be another's.
  await proxySession?.[Symbol.asyncDispose]();
  const events = await readRunEvents(workspace);
  const learned = eventsOf(events, 'secret').map(({ value }) => value);
  for (const value of learned) context.addSecret(value);
  if (isTimeout) {
    lease?.release(false);
    const seconds = context.timeoutMs / 1_000;
    const message = `the script did not end within ${seconds} seconds and was stopped`;
    const failure = failureOfScript('TIMEOUT', message);
    return { ...beforeStart(failure), events, isTest: written.isTest, lines, waits, endedAt };
  }
  const failure =
    (await failureOfMemory(lease, events, context.clock)) ??
    failureOfRun(end, events, written.isTest);
  const marked = await degradedMessage(session);
  const withoutBaselines = testsWithoutBaselines(events);
  const isForgiven =
    isOfTestsAlone(failure, events) &&
    ((marked !== null && isOnlySoft(events)) || withoutBaselines.length > 0);
  const isUsual =
    (failure === null || eventsOf(events, 'end').length > 0) &&
    !['rawProtocol', 'crash', 'browserGone'].some((type) =>
      events.some((event) => event.type === type),
    );
  const notes = [...(lease?.pictureNotes ?? []), ...(await pictures.notes(workspace, 'monitor'))];
  const seen = pictures.seen(notes, learned);
  lines.push(...seen.lines.map((line) => ({ time: context.clock.now(), ...line })));
  // Before files are moved: the browser can be looked at meanwhile.
  lease?.release(isUsual);
  const artifacts = await collectArtifacts(workspace, events, context.artifacts, seen.withheld);
  const compared = await imagesOfRun(context, baselines, {
    ...{ workspace, events, file: written.file, withheld: seen.withheld },
    references: artifacts.references,
    note,
  });
  const undecided = undecidedBy(compared.comparisons, withoutBaselines);
  if (undecided !== null) note(undecided);
  const because = marked ?? undecided ?? unjudged(testsOf(events));
  return {
    events,
    isTest: written.isTest,
    failure: isForgiven ? null : failure,
    degraded: failure === null || isForgiven ? because : null,
    ...{ artifacts, ...compared },
    lines,
    waits,
    endedAt,
  };
}

/** Customer variables must not replace variables that start the agent's own processes. */
function withoutOwn(environment: Record<string, string>): Record<string, string> {
  const own = /^(MONITOR_|NODE_OPTIONS$|NODE_PATH$|PLAYWRIGHT_BROWSERS_PATH$)/;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !own.test(name)));
}

/**
 * Runs the script of a check and describes it; `withBrowser` false starts none. `details` makes the
 * part of the result that the type has for itself.
 */
export async function runScript(
  definition: CheckDefinition,
  context: RunnerContext,
  withBrowser: boolean,
  details: (seen: RunSeen) => NonNullable<Observation['details']>,
): Promise<Observation> {
  const { clock } = context;
  const scripting = context.scripting();
  const runtime = await scripting.runtime(context.runtimeId);
  const browser = withBrowser ? await scripting.browser() : null;
  const notes: CommonDetails['jobLog'] = [];
  const substitute = substituteNote(context.runtimeId, runtime);
  if (substitute !== null) notes.push({ time: clock.now(), msg: substitute, level: 'WARN' });
  await using proxySession = await openProxySession(context, (msg) => {
    notes.push({ time: clock.now(), msg, level: 'WARN' });
  });
  const pictures = new RunPictures(context.environment, withBrowser ? scripting.pictures : 'keep');
  const lease = withBrowser
    ? ((await scripting.browsers?.lease(runtime, pictures.watched)) ?? null)
    : null;
  const startedAt = clock.now();
  const start = clock.monotonic();
  let ended: Ended;
  try {
    const parts = { context, runtime, browser, lease, pictures, proxySession };
    ended = await runInSession(definition, parts);
  } finally {
    // Whatever was thrown on the way here came unexpectedly; a second release has no effect.
    lease?.release(false);
  }
  const responseTime = clock.monotonic() - start;
  const stoppedAt = startedAt + Math.ceil(responseTime);
  const { events, failure, artifacts, comparisons, updated } = ended;
  // What the run could not reach because of us says nothing about the target.
  if (failure !== null && proxySession?.agentError) throw proxySession.agentError;
  const tests = testsOf(events);
  const errors: ScriptError[] = [
    ...eventsOf(events, 'error').map(({ message, stack, title }) => ({ message, stack, title })),
    ...tests.flatMap((test) => test.errors),
  ];
  if (failure !== null && errors.length === 0) {
    errors.push({ message: failure.message, stack: null, title: null });
  }
  const common: CommonDetails = {
    errors,
    startTime: startedAt,
    endTime: stoppedAt,
    runtimeVersion: runtime.id,
    jobLog: [
      ...eventsOf(events, 'warning').map(({ message }) => ({
        time: startedAt,
        msg: message,
        level: 'WARN',
      })),
      ...eventsOf(events, 'output').map(({ time, text, level }) => ({ time, msg: text, level })),
      ...notes,
      ...ended.lines,
    ],
    jobAssets: artifacts.all,
    playwrightTestTraces: artifacts.traces,
    playwrightTestJsonReportFile: artifacts.report,
    tests,
  };
  const thrownAt = eventsOf(events, 'error')[0]?.time ?? failedAt(tests);
  const brokeAt = failure?.code === 'SCRIPT_FAILED' ? thrownAt : null;
  const lastAt = countedUntil(brokeAt, ended.endedAt);
  const waited = (from: number, to: number): number =>
    [ended.waits, lease?.waits].reduce((sum, waits) => sum + (waits?.between(from, to) ?? 0), 0);
  return {
    startedAt,
    stoppedAt,
    responseTime,
    failure,
    request: {},
    response: ended.degraded === null ? {} : { degraded: ended.degraded },
    details: details({ events, artifacts, common, isTest: ended.isTest, comparisons, updated }),
    processesWaitedMs: (lastMs) => waited(lastAt - lastMs, lastAt),
    unansweredMs: unansweredMs(events, lastAt, waited),
    ...(failure === null ? {} : { errorMessages: errors.map(({ message }) => message) }),
  };
}
