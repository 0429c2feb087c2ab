/**
 * Runs steps side by side, and tells what they found in their order. A step waits for those it needs;
 * where one of them failed it is skipped, since its own failure would only be an echo. It also waits for
 * those it would disturb.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import { AgentError } from '../errors.ts';
import { nearestWord } from '@monitor/shared/nearest-word.ts';
import { follows, skip, warn, type Finding, type Statement } from './finding.ts';
import type { DoctorContext, Step } from './step.ts';

/** Some measure, some start browsers: more at once would disturb each other. */
const atOnce = 6;

export interface RunOptions {
  /** Everything together takes no longer. */
  readonly limitMs: number;
  readonly clock: Clock;
  /** Told of the step that is waited for, and of each finding in order. */
  readonly onWaiting?: (step: Step) => void;
  readonly onFinding?: (finding: Finding) => void;
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
  const unknown = [...(only ?? []), ...without].find((id) => !byId.has(id));
  if (unknown !== undefined) {
    const meant = nearestWord(unknown, [...byId.keys()]);
    const hint = meant === null ? '' : `, did you mean ${meant}?`;
    throw new AgentError(
      'CONFIG_INVALID',
      `doctor has no step "${unknown}"${hint}; there are ${[...byId.keys()].join(', ')}`,
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

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}

/** A step under its own limit. Never rejects. */
async function lookWithin(
  step: Step,
  context: DoctorContext,
  limitMs: number,
  clock: Clock,
): Promise<Statement[]> {
  const controller = new AbortController();
  const { promise: tooLate, resolve } = Promise.withResolvers<Statement[]>();
  const cancel = clock.after(limitMs, () => {
    resolve([
      warn(
        `took longer than ${seconds(limitMs)}`,
        `look at the findings above; if there is none, run "monitor-agent doctor --only ${step.id}"`,
      ),
    ]);
    controller.abort();
  });
  try {
    const looking = Promise.resolve(step.look(context, controller.signal));
    // What ends after its limit is not listened to any more.
    looking.catch(() => undefined);
    return await Promise.race([looking, tooLate]);
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    return [warn(`could not be tested: ${what}`, 'please report this: doctor should know better')];
  } finally {
    cancel();
  }
}

/** Findings of all steps, in order. */
export async function runSteps(
  chosen: readonly { step: Step; leftOut: string | null }[],
  context: DoctorContext,
  { limitMs, clock, onWaiting, onFinding }: RunOptions,
): Promise<Finding[]> {
  const began = clock.monotonic();
  const outcomes = new Map<string, Promise<Finding[]>>();
  let free = atOnce;
  const queue: (() => void)[] = [];
  const enter = (): Promise<void> | undefined => {
    if (free > 0) {
      free -= 1;
      return undefined;
    }
    return new Promise((resolve) => queue.push(resolve));
  };
  const leave = (): void => {
    const next = queue.shift();
    if (next === undefined) free += 1;
    else next();
  };

  /** The step whose failure keeps this one from being tested. */
  const cause = async ({ needs }: Step): Promise<string | null> => {
    for (const id of needs) {
      const findings = (await outcomes.get(id)) ?? [];
      const failed = findings.find(({ verdict }) => verdict === 'fail');
      if (failed !== undefined) return failed.id;
      const root = causes.get(id);
      if (root !== undefined) return root;
    }
    return null;
  };
  const causes = new Map<string, string>();

  const examine = async (step: Step, leftOut: string | null): Promise<Finding[]> => {
    const { id, name } = step;
    const finish = (statements: Statement[], durationMs: number): Finding[] => {
      const inherited = statements.find(({ cause: root }) => root !== undefined)?.cause;
      if (inherited !== undefined) causes.set(id, inherited);
      return statements.map(({ cause: _root, ...told }) => ({ id, name, ...told, durationMs }));
    };
    if (leftOut !== null) return finish([skip(leftOut)], 0);
    const root = await cause(step);
    if (root !== null) return finish([follows(root)], 0);
    for (const id of step.after ?? []) await outcomes.get(id);
    await enter();
    const startedAt = clock.monotonic();
    const leftMs = limitMs - (startedAt - began);
    try {
      const statements =
        leftMs <= 0
          ? [skip(`the ${seconds(limitMs)} of doctor were used up by what is above`)]
          : await lookWithin(step, context, Math.min(step.limitMs, leftMs), clock);
      return finish(statements, Math.round(clock.monotonic() - startedAt));
    } finally {
      leave();
    }
  };

  for (const { step, leftOut } of chosen) outcomes.set(step.id, examine(step, leftOut));
  const all: Finding[] = [];
  for (const { step } of chosen) {
    onWaiting?.(step);
    for (const finding of (await outcomes.get(step.id)) ?? []) {
      all.push(finding);
      onFinding?.(finding);
    }
  }
  return all;
}
