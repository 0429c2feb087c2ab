/**
 * Runs steps side by side, and gives their findings in order. A step waits for those it needs;
 * where one of them failed it is skipped, since its own failure would only be an echo. It also waits for
 * those it would disturb.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import { AgentError } from '../errors.ts';
import { Permits } from '../permits.ts';
import { nearestWord } from '@monitor/shared/nearest-word.ts';
import { fail, follows, skip, toReport, type StepFinding, type Finding } from './finding.ts';
import type { DoctorContext, Step } from './step.ts';
import { retiredSteps } from './steps.ts';

/** Some measure, some start browsers: more at once would disturb each other. */
const atOnce = 6;
/** Each step has shorter limits of its own for what it waits for. */
const stepLimitMs = 25_000;

export interface RunOptions {
  /** Everything together takes no longer. */
  readonly limitMs: number;
  readonly clock: Clock;
  /** Why limits of time say nothing here; null where they do. */
  readonly starvation?: () => string | null;
  /** Called with the step that is waited for, and with each finding in order. */
  readonly onWaiting?: (step: Step) => void;
  readonly onFinding?: (finding: StepFinding) => void;
}

/** Ids that were named, and what they need. Throws CONFIG_INVALID for an id that does not exist. */
export function chooseSteps(
  steps: readonly Step[],
  choice: {
    only?: readonly string[] | undefined;
    skip?: readonly string[];
    isOffline?: boolean;
    isQuick?: boolean;
  },
): { step: Step; leftOut: string | null }[] {
  const { only, skip: without = [], isOffline = false, isQuick = false } = choice;
  const byId = new Map(steps.map((step) => [step.id, step]));
  const skipped = without.filter((id) => !retiredSteps.has(id));
  const misspelt = [...(only ?? []), ...skipped].find((id) => !byId.has(id));
  if (misspelt !== undefined) {
    const meant = nearestWord(misspelt, [...byId.keys()]);
    const hint = meant === null ? '' : `, did you mean ${meant}?`;
    throw new AgentError(
      'CONFIG_INVALID',
      `doctor has no step "${misspelt}"${hint}; there are ${[...byId.keys()].join(', ')}`,
    );
  }
  const wanted = new Set<string>();
  const want = (id: string): void => {
    if (wanted.has(id)) return;
    wanted.add(id);
    for (const needed of byId.get(id)?.needs ?? []) want(needed);
  };
  for (const id of only ?? byId.keys()) want(id);
  return steps
    .filter(({ id }) => wanted.has(id) && !without.includes(id))
    .map((step) => ({
      step,
      leftOut:
        isOffline && step.isOnline === true
          ? 'left out by --offline'
          : isQuick && step.isSlow === true
            ? 'left out by --quick'
            : null,
    }));
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;

/** A step under its own limit, and that of all. Never rejects. */
async function checkWithin(
  step: Step,
  context: DoctorContext,
  over: AbortSignal,
  clock: Clock,
): Promise<Finding[]> {
  const controller = new AbortController();
  const { promise: tooLate, resolve } = Promise.withResolvers<Finding[]>();
  const began = clock.monotonic();
  const end = (): void => {
    const took = seconds(clock.monotonic() - began);
    const fix = `see the findings above; if there is none: run "monitor-agent doctor --only ${step.id}"`;
    resolve(fail(`not known after ${took}`, fix, 'TIMEOUT'));
    controller.abort();
  };
  const cancel = clock.after(stepLimitMs, end);
  over.addEventListener('abort', end);
  try {
    const checking = Promise.resolve(step.check(context, controller.signal));
    // What ends after its limit is not listened to any more.
    checking.catch(() => undefined);
    return await Promise.race([checking, tooLate]);
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return fail(`could not be tested: ${what}`, 'please report this: doctor should know better');
  } finally {
    cancel();
    over.removeEventListener('abort', end);
  }
}

/** What others need and was not tested is no success. What follows from a failure is skipped all the same. */
function asFailure(finding: Finding): Finding[] {
  return finding.verdict === 'skip' && finding.cause === undefined
    ? fail(finding.evidence, 'see the findings above, and run doctor again')
    : [finding];
}

/** Findings of all steps, in order. */
export async function runSteps(
  chosen: readonly { step: Step; leftOut: string | null }[],
  context: DoctorContext,
  { limitMs, clock, starvation = () => null, onWaiting, onFinding }: RunOptions,
): Promise<StepFinding[]> {
  const over = new AbortController();
  const cancel = clock.after(limitMs, () => over.abort());
  const outcomes = new Map<string, Promise<StepFinding[]>>();
  const permits = new Permits(atOnce);

  /** A limit of time is no verdict where this machine had no CPU for what it limits. */
  const undecided = (finding: Finding): Finding => {
    const why = finding.isLate === true ? starvation() : null;
    if (why === null) return finding;
    const evidence = `not decided: ${finding.evidence}, but ${why}`;
    return { verdict: 'unknown', evidence, fix: 'run doctor again when it is less busy' };
  };
  /** The step whose failure keeps this one from being tested. */
  const cause = async ({ needs = [] }: Step): Promise<string | null> => {
    for (const id of needs) {
      const findings = (await outcomes.get(id)) ?? [];
      const failed = findings.find(({ verdict }) => verdict === 'fail' || verdict === 'unknown');
      if (failed !== undefined) return failed.id;
      const root = causes.get(id);
      if (root !== undefined) return root;
    }
    return null;
  };
  const causes = new Map<string, string>();
  const neededOnes = new Set(chosen.flatMap(({ step: { needs = [] } }) => needs));

  const runStep = async (step: Step, leftOut: string | null): Promise<StepFinding[]> => {
    const { id } = step;
    const finish = (given: Finding[], durationMs: number): StepFinding[] => {
      let findings = given.map(undecided);
      if (neededOnes.has(id) && leftOut === null) findings = findings.flatMap(asFailure);
      const inherited = findings.find(({ cause: root }) => root !== undefined)?.cause;
      if (inherited !== undefined) causes.set(id, inherited);
      return toReport(findings, step, () => step.tries(context), durationMs);
    };
    if (leftOut !== null) return finish(skip(leftOut), 0);
    const root = await cause(step);
    if (root !== null) return finish(follows(root), 0);
    for (const id of step.after ?? []) await outcomes.get(id);
    return permits.run(async () => {
      const startedAt = clock.monotonic();
      const findings = over.signal.aborted
        ? fail(
            'the time of doctor was used up by what is above',
            `run "monitor-agent doctor --only ${id}"`,
            'TIMEOUT',
          )
        : await checkWithin(step, context, over.signal, clock);
      return finish(findings, Math.round(clock.monotonic() - startedAt));
    });
  };

  for (const { step, leftOut } of chosen) outcomes.set(step.id, runStep(step, leftOut));
  const all: StepFinding[] = [];
  for (const { step } of chosen) {
    onWaiting?.(step);
    for (const finding of (await outcomes.get(step.id)) ?? []) {
      all.push(finding);
      onFinding?.(finding);
    }
  }
  cancel();
  return all;
}
