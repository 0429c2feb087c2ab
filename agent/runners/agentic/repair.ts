/**
 * A learned step broke: the model may find another way to the same assertions. It may change how we
 * get there and, where an element is gone, where we look. It may never change what must be true:
 *   - The assertions of the script are fixed: condition, kind of check and expected value stay as
 *     they were learned; the model names one by its number and gives at most another element.
 *   - As long as the original element of an assertion is surely there, it is the one that is judged,
 *     whatever the model points at. So a wrong price stays wrong, also when the right one stands
 *     elsewhere on the page, crossed out.
 *   - Every assertion must have been verified in this run, before or after the break, and hold.
 *     Otherwise the check has failed, and nothing is learned.
 */
import { AgentError } from '../../errors.ts';
import type { ToolAnswer } from './browser-session.ts';
import { converse } from './converse.ts';
import { performCall, reasonNotPassed, type RunEnd } from './explore.ts';
import { describeStep, isAssertion, type ScriptStep, type Target } from './learned-script.ts';
import type { ModelClient } from './model-client.ts';
import { CeilingReached } from './outcomes.ts';
import { Recorder } from './recorder.ts';
import type { BrokenStep } from './replay.ts';
import { noteAssertion, type RunState } from './run-state.ts';
import type { Finish, VerificationInput } from './tools.ts';

/** How long the original element of an assertion is looked for before another one may be used. */
const originalMs = 2_000;

function openingFor(state: RunState, steps: readonly ScriptStep[], broken: BrokenStep): string {
  const list = (part: readonly ScriptStep[]): string =>
    part.map((step) => `- ${describeStep(step)}`).join('\n') || '- (none)';
  const assertions = steps.filter(isAssertion).map((step, index) => {
    const isVerified = steps.indexOf(step) < broken.index;
    const what = `${step.check} ${step.match} "${step.expected}"`;
    return `${index + 1}. ${step.condition} (${what})${isVerified ? ': verified already' : ''}`;
  });
  return [
    `The check:\n\n${state.variables.prompt}`,
    `Done in this run:\n${list(steps.slice(0, broken.index))}`,
    `Broken: ${broken.problem}`,
    `Learned for afterwards:\n${list(steps.slice(broken.index))}`,
    `The assertions:\n${assertions.join('\n')}`,
  ].join('\n\n');
}

/** The broken step stands as the failure, with why it could not be repaired. */
function unrepaired({ failure }: BrokenStep, note: string): RunEnd {
  const message = `${failure.message}. ${note}`;
  return { failure: { ...failure, message }, summary: message, learned: null };
}

export async function repair(
  state: RunState,
  client: ModelClient | null,
  steps: readonly ScriptStep[],
  broken: BrokenStep,
): Promise<RunEnd> {
  if (client === null) {
    return unrepaired(broken, 'It was not repaired: no language model is configured (LLM_MODEL).');
  }
  state.log(`${broken.problem}; asking the model for another way`, 'WARN');
  try {
    return await repairWith(client, state, steps, broken);
  } catch (error) {
    const isModelError = error instanceof AgentError && error.code === 'MODEL_UNAVAILABLE';
    if (!isModelError && !(error instanceof CeilingReached)) throw error;
    return unrepaired(broken, `It could not be repaired: ${error.message}.`);
  }
}

async function repairWith(
  client: ModelClient,
  state: RunState,
  steps: readonly ScriptStep[],
  broken: BrokenStep,
): Promise<RunEnd> {
  const recorder = new Recorder(state.variables);
  const originals = steps.filter(isAssertion);
  const verified = new Set(originals.filter((step) => steps.indexOf(step) < broken.index));

  async function verify({ assertion, ref }: VerificationInput): Promise<ToolAnswer> {
    const original = originals[assertion - 1];
    if (original === undefined) {
      const problem = `there is no assertion ${assertion}; there are 1 to ${originals.length}`;
      return { ok: false, code: 'INVALID', problem };
    }
    const { tool, ...rest } = original;
    let answer = await state.actions.perform(tool, { ...rest, timeoutMs: originalMs });
    const isJudged = answer.ok && (original.target === null || answer.output['isSure'] === true);
    if (!isJudged && ref !== undefined) {
      const { target: _gone, ...statement } = rest;
      answer = await state.actions.perform(tool, { ...statement, ref });
    }
    if (!answer.ok) return answer;
    const passed = answer.output['passed'] === true;
    noteAssertion(state, original, passed, String(answer.output['actual']));
    if (passed) {
      verified.add(original);
      recorder.assertion({ ...rest, target: (answer.output['target'] ?? null) as Target | null });
    } else {
      verified.delete(original);
    }
    return answer;
  }

  function objection({ passed }: Finish): string | null {
    if (!passed) return null;
    const open = originals.flatMap((step, index) => (verified.has(step) ? [] : [index + 1]));
    return open.length === 0
      ? reasonNotPassed(state)
      : `assertion ${open.join(', ')} has not been verified to hold: verify, or finish with passed=false`;
  }

  const finish = await converse(state, {
    mode: 'repair',
    client,
    opening: openingFor(state, steps, broken),
    act: (call) =>
      call.name === 'assert'
        ? verify(call.input as VerificationInput)
        : performCall(state, recorder, call),
    objection,
  });
  state.suggestions.push(...finish.suggestions);
  if (!finish.passed) return unrepaired(broken, `The model could not repair it: ${finish.summary}`);
  state.suggestions.push({
    summary: `The application changed and the check was repaired: ${broken.problem}. If the change was not intended, look into it.`,
    prompt: state.variables.template,
    secrets: state.variables.secretNames,
    category: 'configuration',
  });
  return {
    failure: null,
    summary: `${finish.summary} (Repaired: ${broken.problem})`,
    learned: [...steps.slice(0, broken.index), ...recorder.steps],
  };
}
