/** A whole examination: what it needs is opened, every step is run, and all is closed again. */
import type { Clock } from '@monitor/shared/clock.ts';
import { findBrowser, type FoundBrowser } from '../browsers/find-browser.ts';
import { readConfig, type AgentConfig } from '../config.ts';
import { AgentError } from '../errors.ts';
import { openNetwork } from '../network.ts';
import { builtinRuntime } from '../runtimes/builtin-runtime.ts';
import {
  fail,
  follows,
  ok,
  toReport,
  type StepFinding,
  type Report,
  type Finding,
} from './finding.ts';
import { Link } from './link.ts';
import { openMachine, type Machine } from './machine.ts';
import { cpuWaitMs, clockWithoutCpuWaits, watchStarvation } from './busy-machine.ts';
import { chooseSteps, runSteps, type RunOptions } from './run-steps.ts';
import { askStatus } from './running-agent.ts';
import type { DoctorContext, Step } from './step.ts';
import { steps as allSteps } from './steps.ts';
import { describeVersions } from './steps/versions.ts';

/** What is healthy takes seconds. What does not answer is waited for about as long as the agent would, and longer on a busy machine. */
const withinMs = 28_500;

export interface DoctorRun {
  report: Report;
  /** False when the settings cannot be used, and hardly anything was looked at. */
  isUsable: boolean;
}

export interface CollectOptions {
  environment: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  choice?: Parameters<typeof chooseSteps>[1];
  onWaiting?: RunOptions['onWaiting'];
  onFinding?: RunOptions['onFinding'];
  machine?: Machine;
  steps?: readonly Step[];
}

function once<T>(find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | null = null;
  return () => (found ??= find());
}

/** The browser that checks would get, or why there is none. */
export async function findBrowserFor(config: AgentConfig): Promise<FoundBrowser | AgentError> {
  try {
    return await findBrowser({
      packagesFolder: builtinRuntime()?.folder ?? import.meta.dirname,
      chosenPath: config.AGENT_CHROMIUM_PATH,
    });
  } catch (error) {
    if (error instanceof AgentError) return error;
    throw error;
  }
}

/** What can be said where the settings cannot be used: which they are. */
function withoutConfig(
  error: AgentError,
  chosen: readonly { step: Step }[],
  machine: Machine,
): StepFinding[] {
  const problems = Array.isArray(error.cause) ? error.cause.map(String) : [error.message];
  const findings = (id: string): Finding[] => {
    if (id === 'versions') return ok(describeVersions(machine));
    if (id !== 'settings') return follows('settings');
    return problems.flatMap((problem) =>
      fail(problem, 'correct it; "monitor-agent start --help" lists every setting'),
    );
  };
  return chosen.flatMap(({ step }) =>
    toReport(findings(step.id), step, () => 'to read the settings', 0),
  );
}

/** Never throws for what it finds; throws CONFIG_INVALID for a choice of steps that do not exist. */
export async function collectFindings(options: CollectOptions): Promise<DoctorRun> {
  const { environment, choice = {}, onWaiting, onFinding } = options;
  const clock = clockWithoutCpuWaits(options.clock, cpuWaitMs);
  const { machine = openMachine('/', clock), steps = allSteps } = options;
  const startedAt = new Date(clock.now()).toISOString();
  const began = clock.monotonic();
  const chosen = chooseSteps(steps, choice);
  const reportOf = (findings: StepFinding[]): Report => ({
    ok: findings.every(({ verdict }) => verdict !== 'fail' && verdict !== 'unknown'),
    startedAt,
    durationMs: Math.round(clock.monotonic() - began),
    findings,
  });

  let given: ReturnType<typeof readConfig>;
  try {
    given = readConfig({ environment });
  } catch (error) {
    if (!(error instanceof AgentError)) throw error;
    const findings = withoutConfig(error, chosen, machine);
    for (const finding of findings) onFinding?.(finding);
    return { report: reportOf(findings), isUsable: false };
  }
  const { config, warnings } = given;
  await using network = await openNetwork(config, environment);
  await using link = new Link(config, machine, network.nextHops, clock);
  const context: DoctorContext = {
    ...{ environment, config, warnings, clock, machine, network, link },
    isOffline: choice.isOffline === true,
    isQuick: choice.isQuick === true,
    runningAgent: once(async () => (await askStatus(config.AGENT_DATA_DIR)).answer),
    browser: once(() => findBrowserFor(config)),
  };
  const { AGENT_CHECK_TYPES: types } = config;
  const isNeeded = ({ servesOnly }: Step): boolean =>
    servesOnly === undefined ||
    types === undefined ||
    types.some((type) => servesOnly.includes(type));
  const needed = chosen.map(({ step, leftOut }) => ({
    step,
    leftOut: leftOut ?? (isNeeded(step) ? null : 'AGENT_CHECK_TYPES has no type that needs it'),
  }));
  const findings = await runSteps(needed, context, {
    limitMs: withinMs - (clock.monotonic() - began),
    clock,
    starvation: watchStarvation(machine, clock),
    ...(onWaiting && { onWaiting }),
    ...(onFinding && { onFinding }),
  });
  return { report: reportOf(findings), isUsable: true };
}
