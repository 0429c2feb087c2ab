/** Everything that running code of customers takes, from the settings. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import { cachedImages } from './browsers/cached-images.ts';
import { createBrowserPool } from './browsers/browser-pool.ts';
import { findBrowser, type FoundBrowser } from './browsers/find-browser.ts';
import { createScriptSessions } from './browsers/script-sessions.ts';
import { fetch as fetchBy, type Dispatcher } from 'undici';
import type { AgentConfig } from './config.ts';
import { createDispatcher } from './link/dispatcher.ts';
import type { AgentMetrics } from './observability/metrics.ts';
import { readExtraAuthorities } from './net/tls/extra-authorities.ts';
import { createGateway } from './net/gateway/gateway.ts';
import { builtinRuntime } from './runtimes/builtin-runtime.ts';
import { publicBaseUrls } from './runners/agentic/model-client.ts';
import { fetchMissing } from './runtimes/fetch-missing.ts';
import { openRuntimes, type Runtimes } from './runtimes/runtimes.ts';
import type { ModelSettings, Scripting } from './runners/runner.ts';
import { createScriptHost } from './script-host/create-script-host.ts';
import { ways } from './script-host/isolation.ts';
import type { ScriptHost } from './script-host/script-host.ts';
import { trustOfRuns } from './script-host/trust-of-runs.ts';

const megabyte = 1_048_576;
const maxFiles = 200_000;
const outputBytes = 16 * megabyte;

function modelOf(config: AgentConfig, dispatcher: Dispatcher): ModelSettings | null {
  if (config.LLM_MODEL === undefined) return null;
  return {
    fetch: (url, init) =>
      // The types of undici and of Node's own copy of it differ in name only.
      fetchBy(url, { ...(init as object), dispatcher }) as unknown as Promise<Response>,
    provider: config.LLM_PROVIDER,
    baseUrl: (config.LLM_BASE_URL ?? publicBaseUrls[config.LLM_PROVIDER]).replace(/\/+$/, ''),
    model: config.LLM_MODEL,
    apiKey: config.LLM_API_KEY ?? null,
    maxTokens: config.LLM_MAX_TOKENS,
    maxSteps: config.LLM_MAX_STEPS,
  };
}

/** How installations reach the network. Both cases: tools differ in which one they read. */
function proxyEnvironmentOf(config: AgentConfig): Record<string, string> {
  const { HTTP_PROXY, HTTPS_PROXY, NO_PROXY: none, ALL_PROXY: all } = config;
  const [http, https] = [HTTP_PROXY ?? all, HTTPS_PROXY ?? all];
  const values = {
    ...(http === undefined ? {} : { HTTP_PROXY: http.reveal() }),
    ...(https === undefined ? {} : { HTTPS_PROXY: https.reveal() }),
    ...(none === undefined ? {} : { NO_PROXY: none }),
  };
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => [
      [name, value],
      [name.toLowerCase(), value],
    ]),
  );
}

/** How long the Node of a runtime may take to say its version. */
const startWithinMs = 20_000;

export interface OpenScripting extends AsyncDisposable {
  scripting: Scripting;
  /** Ids of the runtimes that checks can be given to this agent for. Each call looks again, for the next. */
  runtimes: () => string[];
  /** What browsers there are, for the control plane to know. */
  browsers: string[];
}

export interface ScriptingParts {
  config: AgentConfig;
  logger: Logger;
  clock: Clock;
  /** What no run may see: the data of the agent, files with its keys. */
  hidden: readonly string[];
  /** Runs no code where it would see it all the same. */
  mustHide?: boolean;
  downloadCodeBundle: Scripting['downloadCodeBundle'];
  /** How images are fetched; absent where there are none, as for a single run. */
  downloadBaseline?: Scripting['baselineImage'];
  /** How npm reaches a registry; absent where no runtime is to be fetched, as for a single run. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** A command that makes a single run has no metrics. */
  metrics?: Pick<AgentMetrics, 'browserLaunches' | 'browserEnds'>;
}

/** Looks for the browser once; one that is installed later is found by the next run. */
function browserFinder(
  config: AgentConfig,
  packagesFolder: string,
  gateway: { browserArgs: readonly string[] },
): () => Promise<FoundBrowser> {
  let found: Promise<FoundBrowser> | null = null;
  return () => {
    if (found !== null) return found;
    const search = findBrowser({ packagesFolder, chosenPath: config.AGENT_CHROMIUM_PATH }).then(
      (one) => ({ ...one, args: [...one.args, ...gateway.browserArgs] }),
    );
    search.catch(() => (found = null));
    found = search;
    return search;
  };
}

/** The runtimes of this machine, and those that its policy lets it fetch. */
function runtimesFor(
  { config, logger, clock, environment }: ScriptingParts,
  host: ScriptHost,
  builtin: ReturnType<typeof builtinRuntime>,
  signal: AbortSignal,
): Promise<Runtimes> {
  const directory = config.AGENT_RUNTIMES_DIR;
  const now = (): number => clock.now();
  const isFetched = config.RUNTIME_POLICY === 'fetch' && environment !== undefined;
  return openRuntimes({
    ...{ directory, builtin, now, isStrict: config.RUNTIME_POLICY === 'strict' },
    ...(isFetched && {
      onMissing: fetchMissing({
        ...{ directory, environment, signal, now },
        onFetched: (id) => logger.info({ runtime: id }, 'a runtime that checks name was installed'),
        onFailed: (id, reason) => {
          logger.info({ runtime: id, reason }, 'a runtime that checks name cannot be installed');
        },
      }),
    }),
    problemOfRuns: async (command) => {
      await using workspace = await host.open();
      const end = await workspace.start({
        ...{ command, args: ['--version'], environment: {}, timeoutMs: startWithinMs, signal },
      }).done;
      if (end.exitCode === 0) return null;
      return end.explanation ?? `ended with ${end.signal ?? end.exitCode}: ${end.stderr}`;
    },
    onUnusable: ({ id, problem }) => {
      logger.warn({ runtime: id, problem }, 'runtime is not offered');
    },
  });
}

/** Prepares this machine for running code. Throws an AgentError when it cannot be prepared. */
export async function openScripting(parts: ScriptingParts): Promise<OpenScripting> {
  const { config, logger, clock, hidden, mustHide = false, metrics } = parts;
  const { downloadCodeBundle, downloadBaseline = () => Promise.resolve(null) } = parts;
  const limits = {
    memoryBytes: config.SCRIPT_MEMORY_MB * megabyte,
    diskBytes: config.SCRIPT_DISK_MB * megabyte,
    files: maxFiles,
    processes: config.SCRIPT_PROCESSES,
    outputBytes,
  };
  const extra = readExtraAuthorities(config.NODE_EXTRA_CA_CERTS);
  if (extra.problem !== null)
    logger.warn({ problem: extra.problem }, 'authorities are not trusted');
  const gateway = createGateway({ now: () => clock.now() });
  const builtin = builtinRuntime();
  const browser = browserFinder(config, builtin?.folder ?? import.meta.dirname, gateway);
  // A browser says slowly what it is: meanwhile the rest is prepared.
  const browsersFound = browser().then(
    () => ['chromium'],
    (error: unknown) => {
      logger.warn({ err: error }, 'no browser: browser checks will end with an error');
      return [];
    },
  );
  await using stack = new AsyncDisposableStack();
  const host = stack.use(
    await createScriptHost({
      workFolder: config.AGENT_WORK_DIR,
      trust: await trustOfRuns(extra.certificates, gateway.certificate),
      limits,
      hidden,
      ...(mustHide ? { ways: ways.filter(({ isolation }) => isolation !== 'process-group') } : {}),
      logger: logger.child({ subsystem: 'script-host' }),
    }),
  );
  const stopping = new AbortController();
  stack.defer(() => stopping.abort());
  const runtimes = await runtimesFor(parts, host, builtin, stopping.signal);
  const isWarm = config.BROWSER_MODE === 'warm';
  const sessions = stack.use(
    createScriptSessions({
      ...{ host, clock, spare: isWarm ? 1 : 0 },
      // Each can be as large as a run; so many runs may be there at once in any case.
      maxKept: isWarm ? config.JOB_CONCURRENCY : 0,
      onAfterRun: (isKept) => {
        logger.debug({ isKept }, 'the process of a run is kept for the next run of its check');
      },
    }),
  );
  const pool = isWarm
    ? stack.use(
        createBrowserPool({
          host,
          clock,
          browser,
          onLaunched: () => metrics?.browserLaunches.inc(),
          onRetired: (cause, reason) => {
            metrics?.browserEnds.inc({ reason: cause });
            logger.debug({ reason }, 'browser is replaced');
          },
        }),
      )
    : null;
  const toModel = createDispatcher(config, 'LLM_BASE_URL');
  stack.defer(() => toModel.destroy());
  const cacheFolder =
    config.DEPENDENCY_CACHE === 'OFF' ? null : join(config.AGENT_DATA_DIR, 'dependency-cache');
  if (cacheFolder !== null) await mkdir(cacheFolder, { recursive: true, mode: 0o700 });
  const browsers = await browsersFound;
  const opened = stack.move();
  return {
    scripting: {
      host,
      scriptLimits: limits,
      runtime: (id) => Promise.resolve().then(() => runtimes.choose(id)),
      browser,
      sessions,
      browsers: pool,
      pictures: config.SECRETS_IN_PICTURES,
      gateway,
      model: modelOf(config, toModel),
      downloadCodeBundle,
      baselineImage: cachedImages(join(config.AGENT_DATA_DIR, 'baselines'), downloadBaseline),
      cacheFolder,
      cacheMaxBytes: config.DEPENDENCY_CACHE_MAX_MB * megabyte,
      isWorkSigned: config.SIGNED_WORK_POLICY_FILE !== undefined,
      proxyEnvironment: proxyEnvironmentOf(config),
    },
    runtimes: () => {
      runtimes.lookAgain();
      return [...runtimes.ids];
    },
    browsers,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
