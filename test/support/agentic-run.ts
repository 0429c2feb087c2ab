/** Runs an agentic check as the worker does, with a real browser and a model of the test's own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import type { EnvironmentEntry, LearnedScript } from '@monitor/shared/contract/agent-protocol.ts';
import { artifactReference, agenticCheckResult } from '@monitor/shared/contract/check-result.ts';
import type { CheckDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { runAgentic } from '../../agent/runners/agentic/agentic.ts';
import type {
  ModelSettings,
  Observation,
  RunnerContext,
  Scripting,
} from '../../agent/runners/runner.ts';
import { createScriptHost } from '../../agent/script-host/create-script-host.ts';
import { createScrubber } from '../../agent/scrub/create-scrubber.ts';
import { Secret } from '../../agent/secret.ts';
import { modelKey, type ModelServer } from './model-server.ts';
import { foundBrowser } from './found-browser.ts';
import { withoutScripting } from './plain.ts';
import { plainNetwork } from './plain-network.ts';

const gigabyte = 1_073_741_824;
const root = fileURLToPath(new URL('../..', import.meta.url));

export interface AgenticRun {
  prompt: string;
  skills?: string[];
  model?: ModelServer | null;
  provider?: ModelSettings['provider'];
  key?: string;
  maxTokens?: number;
  maxSteps?: number;
  timeoutMs?: number;
  environment?: EnvironmentEntry[];
  learnedScript?: LearnedScript | null;
  signal?: AbortSignal;
  clock?: Clock;
}

export interface AgenticOutcome extends Omit<Observation, 'details'> {
  result: ReturnType<typeof agenticCheckResult.parse>;
  artifacts: string[];
  logged: string[];
}

const unused = (): never => {
  throw new Error('an agentic check has no business with this');
};

function modelSettings(run: AgenticRun): ModelSettings | null {
  if (run.model == null) return null;
  return {
    ...{ provider: run.provider ?? 'openai', baseUrl: `${run.model.url}/v1`, model: 'test-model' },
    ...{ apiKey: new Secret(run.key ?? modelKey), maxTokens: run.maxTokens ?? 200_000 },
    maxSteps: run.maxSteps ?? 40,
  };
}

/** One run of an agentic check. Rejects where the runner throws. */
export async function runAgenticCheck(run: AgenticRun): Promise<AgenticOutcome> {
  const workFolder = await mkdtemp(join(tmpdir(), 'ag-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(workFolder, { recursive: true, force: true }));
  const host = stack.use(
    await createScriptHost({
      workFolder,
      limits: {
        ...{ memoryBytes: 3 * gigabyte, diskBytes: gigabyte, files: 100_000, processes: 256 },
        outputBytes: 1_048_576,
      },
    }),
  );
  const scripting: Scripting = {
    ...withoutScripting,
    host,
    runtime: () =>
      Promise.resolve({
        ...{ id: 'builtin', folder: root, nodePath: process.execPath },
        packages: { playwright: '1.65.1' },
      }),
    browser: foundBrowser,
    model: modelSettings(run),
  };
  const artifacts: string[] = [];
  const logged: string[] = [];
  const environment = run.environment ?? [];
  const secrets = environment.flatMap(({ value, secret }) => (secret ? [value] : []));
  const scrubber = createScrubber({ secrets, detect: true });
  const context: RunnerContext = {
    signal: run.signal ?? new AbortController().signal,
    timeoutMs: run.timeoutMs ?? 60_000,
    clock: run.clock ?? systemClock,
    waitedMs: () => 0,
    log: (message) => logged.push(message),
    network: plainNetwork,
    run: {
      ...{ accountId: 'account', checkId: 'check', checkName: 'shop', checkType: 'AGENTIC' },
      ...{ runId: '7e4c9b1e-0000-4000-8000-000000000002', resultId: 'result', location: 'here' },
      ...{ attempt: 1, scheduledFor: null, source: null },
    },
    ...{ environment, runtimeId: null, setupScripts: [], teardownScripts: [], snippets: [] },
    ...{ clientCertificates: [], proxyUrl: null, learnedScript: run.learnedScript ?? null },
    addSecret: unused,
    scrub: (text) => scrubber.text(text),
    artifacts: {
      add: ({ name }) => {
        artifacts.push(name);
        return Promise.resolve(artifactReference(name));
      },
    },
    scripting: () => scripting,
  };
  const definition = {
    prompt: run.prompt,
    agentRuntime: { skills: run.skills ?? [] },
  } as unknown as CheckDefinition;
  const { details, ...observation } = await runAgentic(definition, context);
  const result = agenticCheckResult.parse(details?.agenticCheckResult);
  return { ...observation, result, artifacts, logged };
}
