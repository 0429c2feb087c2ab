/**
 * A later run: the learned steps, without a model. When one breaks, what happens depends on what it
 * says about the target:
 *   - An assertion whose element was surely found, and which does not hold, is the answer the check
 *     exists for. The check fails; nobody is asked.
 *   - Any other step that breaks may mean that the application only looks different: the model may
 *     look for another way, see `repair.ts`.
 */
import type { ToolAnswer } from './browser-session.ts';
import type { RunEnd } from './explore.ts';
import { describeStep, isAssertion, type ScriptStep } from './learned-script.ts';
import { describeOutcome, noteAssertion, type RunState } from './run-state.ts';
import { failureOfScript } from '../scripts/run-failure.ts';

/** A learned step that no longer works. */
export interface BrokenStep {
  readonly index: number;
  readonly problem: string;
  /** The failure when no repair is tried. */
  readonly failure: NonNullable<RunEnd['failure']>;
}

export type ReplayEnd = { readonly end: RunEnd } | { readonly broken: BrokenStep };

function passedEnd(steps: readonly ScriptStep[]): RunEnd {
  const count = steps.filter(isAssertion).length;
  const summary = `Repeated ${steps.length} learned steps without a model; all ${count} assertions hold.`;
  return { failure: null, summary, learned: null };
}

function brokenAssertion(state: RunState, index: number, step: ScriptStep, answer: ToolAnswer) {
  if (!isAssertion(step)) return null;
  const passed = answer.ok && answer.output['passed'] === true;
  const actual = answer.ok ? String(answer.output['actual']) : answer.problem;
  const outcome = noteAssertion(state, step, passed, actual);
  if (passed) return null;
  const problem = describeOutcome(outcome);
  return { index, problem, failure: failureOfScript('ASSERTION_FAILED', problem) };
}

export async function replay(state: RunState, steps: readonly ScriptStep[]): Promise<ReplayEnd> {
  for (const [index, step] of steps.entries()) {
    const { tool, ...input } = step;
    const answer = await state.actions.perform(tool, input);
    const broken = brokenAssertion(state, index, step, answer);
    if (broken !== null) {
      const isCertain = answer.ok && answer.output['isSure'] === true && 'target' in step;
      if (!isCertain || step.target === null) return { broken };
      return { end: { failure: broken.failure, summary: broken.problem, learned: null } };
    }
    if (!answer.ok) {
      const problem = `step ${index + 1} (${describeStep(step)}) no longer works: ${answer.problem}`;
      return { broken: { index, problem, failure: failureOfScript('STEP_BROKEN', problem) } };
    }
  }
  return { end: passedEnd(steps) };
}
