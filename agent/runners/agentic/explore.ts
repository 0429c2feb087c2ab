/** The first run: the model finds its way from the prompt, and what it did becomes the script. */
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { ToolAnswer } from './browser-session.ts';
import { converse } from './converse.ts';
import type { ScriptStep, Target } from './learned-script.ts';
import type { ModelClient } from './model-client.ts';
import { Recorder } from './recorder.ts';
import { describeOutcome, noteAssertion, type RunState } from './run-state.ts';
import type { AssertionInput, Finish, ParsedCall } from './tools.ts';
import { failureOfScript } from '../scripts/run-failure.ts';

export interface RunEnd {
  readonly failure: Failure | null;
  readonly summary: string;
  /** Worth keeping for the next runs. */
  readonly learned: readonly ScriptStep[] | null;
}

/** Performs a call of the model other than `assert` and `finish`. */
export async function performCall(
  state: RunState,
  recorder: Recorder,
  call: Exclude<ParsedCall, { name: 'finish' | 'assert' }>,
): Promise<ToolAnswer> {
  if (call.name === 'screenshot') return state.actions.screenshot(call.input.name);
  const answer = await state.actions.perform(call.name, call.input);
  recorder.action(call, answer);
  return answer;
}

export async function explore(state: RunState, client: ModelClient): Promise<RunEnd> {
  const recorder = new Recorder(state.variables);

  async function assert(input: AssertionInput): Promise<ToolAnswer> {
    const answer = await state.actions.perform('assert', input);
    if (!answer.ok) return answer;
    const passed = answer.output['passed'] === true;
    noteAssertion(state, input, passed, String(answer.output['actual']));
    const { condition, check, match, expected } = input;
    const target = (answer.output['target'] ?? null) as Target | null;
    if (passed) recorder.assertion({ condition, check, match, expected, target });
    return answer;
  }

  const finish = await converse(state, {
    mode: 'explore',
    client,
    opening: `The check:\n\n${state.variables.prompt}`,
    act: (call) =>
      call.name === 'assert'
        ? assert(call.input as AssertionInput)
        : performCall(state, recorder, call),
    objection: ({ passed }) => (passed ? reasonNotPassed(state) : null),
  });
  state.suggestions.push(...finish.suggestions);
  const failure = failureAfter(state, finish);
  return { failure, summary: finish.summary, learned: failure === null ? recorder.steps : null };
}

/** An assertion that does not hold, in words for the model; null when all hold. */
export function reasonNotPassed(state: RunState): string | null {
  const outcomes = [...state.assertions.values()];
  if (outcomes.length === 0) return 'verify with "assert" what the check demands before you finish';
  const broken = outcomes.filter(({ passed }) => !passed);
  return broken.length === 0
    ? null
    : `not every assertion holds (${broken.map(({ condition }) => condition).join('; ')}): verify again, or finish with passed=false`;
}

/** What the end of the model says of the target. */
export function failureAfter(state: RunState, finish: Finish): Failure | null {
  if (finish.passed) return null;
  const broken = [...state.assertions.values()].find(({ passed }) => !passed);
  return broken === undefined
    ? failureOfScript('GOAL_NOT_REACHED', finish.summary)
    : failureOfScript('ASSERTION_FAILED', describeOutcome(broken));
}
