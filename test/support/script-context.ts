/** What runs of code need, on this machine: script host, browser, sessions, and a place for files. */
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { X509Certificate } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import type { CheckDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { artifactReference, type ArtifactType } from '@monitor/shared/contract/check-result.ts';
import { createBrowserPool, type BrowserPool } from '../../agent/browsers/browser-pool.ts';
import type { FoundBrowser } from '../../agent/browsers/find-browser.ts';
import { createScriptSessions } from '../../agent/browsers/script-sessions.ts';
import type { RunnerContext, Scripting } from '../../agent/runners/runner.ts';
import type { InstalledRuntime } from '../../agent/runtimes/installed-runtime.ts';
import { createGateway } from '../../agent/net/gateway/gateway.ts';
import { createScriptHost } from '../../agent/script-host/create-script-host.ts';
import { trustOfRuns } from '../../agent/script-host/trust-of-runs.ts';
import type { ScriptLimits } from '../../agent/script-host/script-host.ts';
import { foundBrowser } from './found-browser.ts';
import { runnerContext } from './runner-context.ts';
import { withoutScripting } from './plain.ts';

const rootFolder = join(import.meta.dirname, '..', '..');

/** The packages the agent itself comes with. */
export const builtinRuntime: InstalledRuntime = {
  ...{ id: 'builtin', folder: rootFolder, nodePath: process.execPath, packages: {} },
};

const limits: ScriptLimits = {
  ...{ memoryBytes: 2_700_000_000, diskBytes: 1_000_000_000, files: 100_000, processes: 256 },
  outputBytes: 10_000_000,
};

/** A browser or multi-step check with this script and no limits. */
export const definitionOfScript = (
  script: string | null,
  further: object = {},
): CheckDefinition => ({
  ...{ request: { assertions: [] }, shouldFail: false, degradedResponseTime: null },
  ...{ maxResponseTime: null, script },
  ...further,
});

export interface ScriptWorld extends AsyncDisposable {
  readonly folder: string;
  readonly workFolder: string;
  readonly scripting: Scripting;
  readonly retired: string[];
  /** Resolves after the next run, when its child is gone, or kept: true. */
  afterRun(): Promise<boolean>;
  context(given?: Partial<RunnerContext>): ScriptContext;
}

export type ScriptContext = RunnerContext & {
  readonly secrets: string[];
  readonly files: { name: string; type: ArtifactType; path: string; contentType: string }[];
  readonly logged: string[];
};

/** Opens it; `isWarm` false starts a browser and a child for each run. */
export async function openScriptWorld(
  options: {
    isWarm?: boolean;
    /** Children that wait for a run of any check. The last ones wait for nothing, and cost as much as a short run. */
    spare?: number;
    limits?: Partial<ScriptLimits>;
    runtime?: InstalledRuntime;
    maxRuns?: number;
    /** Children that are kept for further runs of their checks, and the runs that each may serve. */
    maxKept?: number;
    maxRunsKept?: number;
    browser?: () => Promise<FoundBrowser>;
    /** What runs trust besides the well-known authorities. */
    extraAuthorities?: readonly string[];
  } = {},
): Promise<ScriptWorld> {
  const { isWarm = true, spare = 0, runtime = builtinRuntime } = options;
  const folder = await mkdtemp(join(tmpdir(), 'sw-'));
  // Runs have a user of their own, who must get through to their folders.
  await chmod(folder, 0o711);
  const workFolder = join(folder, 'w');
  const gateway = createGateway({ now: () => Date.now() });
  const extra = (options.extraAuthorities ?? []).map((pem) => new X509Certificate(pem));
  const host = await createScriptHost({
    workFolder,
    limits: { ...limits, ...options.limits },
    trust: await trustOfRuns(extra, gateway.certificate),
  });
  const browser =
    options.browser ??
    (async () => {
      const one = await foundBrowser();
      return { ...one, args: [...one.args, ...gateway.browserArgs] };
    });
  const retired: string[] = [];
  const ends = new EventEmitter();
  const sessions = createScriptSessions({
    ...{ host, clock: systemClock, spare },
    onAfterRun: (isKept) => ends.emit('run', isKept),
    maxKept: isWarm ? (options.maxKept ?? 2) : 0,
    ...(options.maxRunsKept === undefined ? {} : { maxRuns: options.maxRunsKept }),
  });
  const browsers: BrowserPool | null = isWarm
    ? createBrowserPool({
        ...{ host, clock: systemClock, browser, maxRuns: options.maxRuns ?? 50 },
        onRetired: (_cause, reason) => retired.push(reason),
      })
    : null;
  const scripting: Scripting = {
    ...withoutScripting,
    ...{ host, sessions, browsers, gateway },
    runtime: () => Promise.resolve(runtime),
    browser,
  };
  return {
    ...{ folder, workFolder, scripting, retired },
    afterRun: () => once(ends, 'run').then(([isKept]) => isKept === true),
    context: (given = {}) => scriptContext(scripting, folder, given),
    async [Symbol.asyncDispose]() {
      await sessions[Symbol.asyncDispose]();
      await browsers?.[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The world of a test file or test, gone after it. */
export async function scriptWorld(
  t: Pick<TestContext, 'after'>,
  options: Parameters<typeof openScriptWorld>[0] = {},
): Promise<ScriptWorld> {
  const world = await openScriptWorld(options);
  t.after(() => world[Symbol.asyncDispose]());
  return world;
}

function scriptContext(
  scripting: Scripting,
  folder: string,
  given: Partial<RunnerContext>,
): ScriptContext {
  const secrets: string[] = [];
  const files: ScriptContext['files'] = [];
  return {
    ...runnerContext(60_000),
    run: {
      ...{ accountId: 'account', checkId: 'check', checkName: 'Shop', checkType: 'BROWSER' },
      ...{ runId: '7e4c9b1e-0000-4000-8000-000000000002', resultId: 'result' },
      ...{ location: 'private-1', attempt: 1, scheduledFor: null, source: null },
    },
    ...{ environment: [], runtimeId: null, setupScripts: [], teardownScripts: [], snippets: [] },
    ...{ clientCertificates: [], proxyUrl: null, learnedScript: null, secrets },
    addSecret: (value) => secrets.push(value),
    files,
    artifacts: {
      async add({ name, type, contentType, ...given }) {
        const kept = `${files.length}-${name.replaceAll('/', '-')}`;
        const target = join(dirname(join(folder, kept)), kept);
        if ('bytes' in given) await writeFile(target, given.bytes);
        else await rename(given.path, target);
        files.push({ name, type, path: target, contentType });
        return artifactReference(kept);
      },
    },
    scripting: () => scripting,
    ...given,
  };
}
