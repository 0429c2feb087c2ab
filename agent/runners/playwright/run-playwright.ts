/**
 * Playwright check suite: a whole project of a customer, in stages, each with its lines in the log.
 *
 *   fetch → unpack → dependency cache → install → test → collect → save cache
 *
 * What goes wrong in the bundle, its installation or its tests is a failure of the check; what goes
 * wrong on this machine is thrown.
 */
import { access, chown, constants, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import type { ScreenshotComparison } from '@monitor/shared/contract/baseline.ts';
import type { CheckDefinition, Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { PlaywrightCheckResult } from '@monitor/shared/contract/check-result.ts';
import { AgentError } from '../../errors.ts';
import { RunPictures } from '../../browsers/pictures.ts';
import { RunBaselines, type SeenAttempt, undecidedBy } from '../../browsers/run-baselines.ts';
import { proxyOfRuns } from '../../script-host/proxy-of-runs.ts';
import type { ScriptLimits, Workspace } from '../../script-host/script-host.ts';
import { openProxySession } from '../scripts/proxy-session.ts';
import { countedUntil, failedAt, unjudged } from '../scripts/run-failure.ts';
import { imagesOf, type Observation, type RunnerContext } from '../runner.ts';
import type { BundleListing } from './bundle-listing.ts';
import { chooseNode } from './choose-node.ts';
import { collectArtifacts } from './collect-artifacts.ts';
import { fetchBundle } from './fetch-bundle.ts';
import { watchForHangs } from './hang-watch.ts';
import { installSuite } from './install-suite.ts';
import { processesWith } from './processes-of-run.ts';
import { eventsFile, pagesFile, runTests, type TestRun } from './run-tests.ts';
import { suiteSettings, type SuiteSettings } from './settings.ts';
import { failureOfShard, shardOf, withShardNames } from './shard.ts';
import { prepareBrowsers } from './suite-browsers.ts';
import { suiteVariables } from './suite-environment.ts';
import { readSuiteEvents, type SuiteEvents } from './suite-events.ts';
import { SuiteFailure } from './suite-failure.ts';
import { SuiteLog } from './suite-log.ts';
import { readSuitePages } from './suite-pages.ts';
import {
  failureOfSuite,
  nameOf,
  outcomeOfSuite,
  type Quarantine,
  quarantineAt,
} from './suite-outcome.ts';
import { lastLines, markerOf, openSuiteShell, ownFolder, projectFolder } from './suite-shell.ts';
import { ownerOf, unpackBundle } from './unpack-bundle.ts';

/** A suite installs a project and runs browsers side by side. */
export function suiteLimits(script: ScriptLimits): ScriptLimits {
  return {
    memoryBytes: script.memoryBytes * 2.5,
    diskBytes: script.diskBytes * 4,
    files: Math.max(script.files, 500_000),
    processes: script.processes * 2,
    outputBytes: script.outputBytes * 4,
  };
}

interface Seen {
  failure: Failure | null;
  events: SuiteEvents;
  measured: Awaited<ReturnType<typeof readSuitePages>>;
  isCacheHit: boolean;
  artifacts: Awaited<ReturnType<typeof collectArtifacts>>;
  reportFile: string | null;
  degraded: string | null;
  comparisons: readonly ScreenshotComparison[];
  /** At the start of the run. */
  isQuarantined: Quarantine;
}

function nothingSeen(): Omit<Seen, 'events' | 'isQuarantined'> {
  return {
    failure: null,
    measured: { pages: [], metrics: {} },
    isCacheHit: false,
    artifacts: { traces: [], videos: [], all: [], references: new Map() },
    comparisons: [],
    reportFile: null,
    degraded: null,
  };
}

/** The working folder of a suite, inside its bundle. */
function workingFolder({ workingDir }: SuiteSettings, listing: BundleListing): string {
  const folder = posix.normalize(workingDir?.trim() || '.').replace(/(?<=.)\/+$/, '');
  const isInside = !posix.isAbsolute(folder) && folder !== '..' && !folder.startsWith('../');
  if (isInside && (folder === '.' || listing.folders.has(folder))) return folder;
  throw new SuiteFailure(
    'unpack',
    'WORKING_DIR_MISSING',
    `the working directory ${JSON.stringify(workingDir)} is not in the code bundle; it is relative to its root`,
  );
}

/** Suites start what they install, which no file system that is mounted with noexec allows: not their failure. */
export async function assertStartsPrograms(folder: string): Promise<void> {
  const program = join(folder, 'program');
  await writeFile(program, '', { mode: 0o700 });
  try {
    await access(program, constants.X_OK);
  } catch (cause) {
    throw new AgentError(
      'SCRIPTING_UNAVAILABLE',
      `${folder} is mounted with noexec, and suites start programs from it: mount it with exec (docker --tmpfs /tmp:exec), or set AGENT_WORK_DIR to a folder on another file system`,
      { cause },
    );
  } finally {
    await rm(program);
  }
}

async function unpack(workspace: Workspace, file: string) {
  const project = join(workspace.folder, projectFolder);
  await mkdir(project, { mode: 0o700 });
  const owner = await ownerOf(workspace.folder);
  if (owner !== null) await chown(project, owner.uid, owner.gid);
  const listing = await unpackBundle(file, project);
  const read = (path: string): string | undefined =>
    listing.files.has(path) ? readFileSync(join(project, path), 'utf8') : undefined;
  return { project, listing, read };
}

/** By the proxy of the location; client certificates are for suites to configure. */
function proxySessionOf(context: RunnerContext, log: SuiteLog) {
  return openProxySession({ ...context, clientCertificates: [] }, (sentence) => {
    log.add(sentence, 'WARN');
  });
}

async function perform(
  settings: SuiteSettings,
  context: RunnerContext,
  log: SuiteLog,
  workspace: Workspace,
  seen: Seen,
): Promise<void> {
  await assertStartsPrograms(workspace.folder);
  const deadline = context.clock.monotonic() + context.timeoutMs;
  const leftMs = (): number => Math.max(1, deadline - context.clock.monotonic());
  const bundle = join(workspace.folder, 'bundle.tgz');
  const { digest, sizeBytes } = await log.during('fetch', () =>
    fetchBundle(settings, context, bundle),
  );
  log.add(`code bundle ${settings.codeBundlePath}: ${sizeBytes} bytes, SHA-256 ${digest}`);
  const { project, listing, read } = await log.during('unpack', () => unpack(workspace, bundle));
  log.add(`${listing.files.size} files in the bundle`);
  const workingDir = workingFolder(settings, listing);
  const baselines = new RunBaselines(workspace, projectFolder, (msg) => log.add(msg, 'WARN'));
  await baselines.lay(context.baselines ?? [], [], imagesOf(context));

  const nodePath = await chooseNode(settings, context, log);
  const engine = settings.engine ?? 'node';
  const shell = await openSuiteShell(
    { workspace, log, nodePath, runId: context.run.runId, signal: context.signal },
    workingDir,
    read,
  );
  const variables = suiteVariables(context);
  const installed = await installSuite({
    ...{ settings, context, log, shell, listing, project, workingDir, read, engine, variables },
    timeoutMs: leftMs(),
  });
  seen.isCacheHit = installed.isCacheHit;

  const browsers = await log.during('browsers', () =>
    prepareBrowsers(settings, context, workspace, log, { workingDir, nodePath }),
  );
  await using proxySession = await proxySessionOf(context, log);
  proxySession?.admit(workspace.allowedClient);
  const proxy = proxyOfRuns(proxySession?.server ?? null, variables);
  const environment = { ...proxy, ...variables, ...browsers };
  const pictures = new RunPictures(context.environment, context.scripting().pictures);
  const suite = { workspace, shell, workingDir, shard: shardOf(context) };
  const run = await log.during('test', () =>
    runTests(settings, suite, environment, pictures, leftMs()),
  );
  const parts = { settings, context, log, workspace, seen, workingDir, pictures, baselines };
  await finish(run, parts);
  // What the suite could not reach because of us says nothing about the target.
  if (seen.failure !== null && proxySession?.agentError) throw proxySession.agentError;
  if (seen.failure === null) await installed.keep();
}

/** From the end of the test command to everything that is known of it. */
async function finish(
  { end, failure, reportFile }: TestRun,
  parts: {
    settings: SuiteSettings;
    context: RunnerContext;
    log: SuiteLog;
    workspace: Workspace;
    seen: Seen;
    workingDir: string;
    pictures: RunPictures;
    baselines: RunBaselines;
  },
): Promise<void> {
  const { settings, context, log, workspace, seen, workingDir, pictures } = parts;
  seen.events = await readSuiteEvents(await workspace.read(eventsFile));
  seen.measured = await readSuitePages(await workspace.read(pagesFile));
  const outcome = outcomeOfSuite(seen.events, seen.isQuarantined);
  if (outcome.forgiven.length > 0) {
    log.add(`failed in quarantine: ${outcome.forgiven.join('; ').slice(0, 4_000)}`, 'WARN');
  }
  const { exitCode } = end;
  const judged =
    failure ?? failureOfSuite(seen.events, outcome, settings.testCommand, exitCode, lastLines(end));
  seen.failure = failureOfShard(judged, shardOf(context), { events: seen.events, exitCode }, log);
  if (context.signal.aborted) return;
  await log.during('collect', async () => {
    const { lines, withheld } = pictures.seen(await pictures.notes(workspace, ownFolder));
    for (const { msg, level } of lines) log.add(msg, level);
    const ways = { log, withheldPictures: withheld };
    seen.artifacts = await collectArtifacts(seen.events, workspace, context.artifacts, ways);
    const attempts = attemptsOf(seen.events, workspace);
    seen.comparisons = await parts.baselines.comparisons(attempts, seen.artifacts.references);
    const undecided = undecidedBy(seen.comparisons, outcome.undecided);
    if (undecided !== null) log.add(undecided, 'WARN');
    const report = await workspace.read(reportFile);
    if (report === null) return;
    await report.close();
    seen.reportFile = await context.artifacts.add({
      path: join(workspace.folder, reportFile),
      name: 'report.json',
      type: 'report',
      contentType: 'application/json',
    });
    seen.artifacts.all.push(seen.reportFile);
  });
  // compatibility: @checkly/playwright-helpers writes it into the working folder
  seen.degraded = await degradedBy(
    workspace,
    posix.join(projectFolder, workingDir, 'degraded.json'),
  );
}

/** With paths of the workspace. */
function attemptsOf(events: SuiteEvents, { folder }: Workspace): SeenAttempt[] {
  return [...events.tests.values()].flatMap(({ project, attempts }) =>
    attempts.map(({ errors, attachments }, index) => ({
      ...{ project, errors, isLast: index === attempts.length - 1 },
      attachments: attachments.map((one) => ({ ...one, path: relative(folder, one.path) })),
    })),
  );
}

async function degradedBy(workspace: Workspace, path: string): Promise<string | null> {
  const handle = await workspace.read(path);
  if (handle === null) return null;
  await using file = handle;
  try {
    const { messages } = JSON.parse(await readFile(file, 'utf8')) as { messages?: unknown };
    const texts = Array.isArray(messages) ? messages.filter((one) => typeof one === 'string') : [];
    return texts.join('; ').slice(0, 1_000) || 'marked as degraded by the suite';
  } catch {
    return null;
  }
}

function detailsOf(
  seen: Seen,
  log: SuiteLog,
  startTime: number,
  endTime: number,
  outcome: ReturnType<typeof outcomeOfSuite>,
): PlaywrightCheckResult {
  const version = seen.events.playwrightVersion;
  return {
    errors: outcome.errors,
    startTime,
    endTime,
    runtimeVersion: version === null ? '' : `Playwright ${version}`,
    jobLog: log.lines,
    jobAssets: seen.artifacts.all,
    playwrightTestTraces: seen.artifacts.traces.map(({ url }) => url),
    playwrightTestJsonReportFile: seen.reportFile,
    tests: outcome.tests,
    pages: seen.measured.pages,
    playwrightTestVideos: seen.artifacts.videos,
    playwrightTraceFiles: seen.artifacts.traces,
    ...(seen.comparisons.length > 0 && { screenshotComparisons: [...seen.comparisons] }),
    metrics: {
      ...outcome.counts,
      durationMs: Math.round(log.durations.get('test') ?? 0),
      installMs: Math.round(log.durations.get('install') ?? 0),
      cacheHit: seen.isCacheHit,
      ...seen.measured.metrics,
    },
  };
}

export async function runPlaywright(
  definition: CheckDefinition,
  given: RunnerContext,
): Promise<Observation> {
  const shard = shardOf(given);
  const context =
    shard === null ? given : { ...given, artifacts: withShardNames(given.artifacts, shard) };
  const settings = suiteSettings(definition);
  const scripting = context.scripting();
  const log = new SuiteLog(context);
  const startedAt = context.clock.now();
  const start = context.clock.monotonic();
  if (context.part !== undefined && 'whyWhole' in context.part) {
    log.add(`this run is not shared among agents: ${context.part.whyWhole}`);
  }
  const seen: Seen = {
    ...{ ...nothingSeen(), events: await readSuiteEvents(null) },
    isQuarantined: quarantineAt(settings.quarantinedTests, startedAt),
  };
  await using workspace = await scripting.host.open(suiteLimits(scripting.scriptLimits));
  await using _watch = watchForHangs({
    clock: context.clock,
    log,
    progress: () => progressOf(workspace),
    processes: () => processesWith(markerOf(context.run.runId)),
  });
  try {
    await perform(settings, context, log, workspace, seen);
  } catch (error) {
    if (!(error instanceof SuiteFailure)) {
      if (!context.signal.aborted) throw error;
      // What was asked to stop is not broken.
      seen.failure = new SuiteFailure(log.stage, 'CANCELLED', 'the run was cancelled').failure;
    } else seen.failure = error.failure;
  }
  if (seen.failure !== null) log.add(seen.failure.message, 'ERROR');
  log.close();
  const outcome = outcomeOfSuite(seen.events, seen.isQuarantined);
  // Of a shard the others may have the tests that ran.
  const skipped = shard === null ? unjudged(outcome.tests) : null;
  const brokeAt =
    seen.failure?.code === 'TESTS_FAILED'
      ? failedAt(outcome.tests.filter(({ quarantined }) => quarantined !== true))
      : null;
  const end = countedUntil(brokeAt, performance.now());
  const undecided = undecidedBy(seen.comparisons, outcome.undecided);
  const stoppedAt = startedAt + Math.ceil(context.clock.monotonic() - start);
  return {
    startedAt,
    stoppedAt,
    responseTime: log.durations.get('test') ?? null,
    processesWaitedMs: (lastMs) => workspace.waits.between(end - lastMs, end),
    failure: seen.failure,
    request: { testCommand: settings.testCommand, workingDir: settings.workingDir },
    response: seen.failure === null ? { degraded: seen.degraded ?? undecided ?? skipped } : null,
    errorMessages:
      seen.failure === null
        ? []
        : outcome.errorMessages.length > 0
          ? outcome.errorMessages
          : [seen.failure.message],
    details: { playwrightCheckResult: detailsOf(seen, log, startedAt, stoppedAt, outcome) },
  };
}

async function progressOf(workspace: Workspace) {
  const events = await readSuiteEvents(await workspace.read(eventsFile));
  const tests = [...events.tests.values()];
  return {
    running: tests.filter(({ runningSince }) => runningSince !== null).map(nameOf),
    reported: tests.reduce(
      (sum, { attempts, runningSince }) => sum + attempts.length + (runningSince === null ? 0 : 1),
      events.begun + events.ended + events.errors.length,
    ),
  };
}
