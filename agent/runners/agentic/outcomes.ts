/**
 * How a run can end early, and whose doing it is. The rule, from the two promises of the house:
 *   - While the model explores, nothing is known about the target yet. Running into a ceiling of
 *     tokens, steps or time says that we did not get to a verdict: an AgentError, `hasErrors`.
 *   - While a learned script is repeated, everything is deterministic and has passed before: a step
 *     that breaks, and time that runs out, is evidence about the target: a failure.
 *   - While the model repairs, that evidence is there already. If the repair cannot be finished
 *     (ceiling, no model, no answer), the broken step stands as the failure, with a note.
 */
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { AgentError } from '../../errors.ts';

/** Ends the run with an observation about the target, or with none because it was cancelled. */
export class RunEnded extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** A ceiling of the run was reached. */
export class CeilingReached extends Error {
  readonly ceiling: 'tokens' | 'steps' | 'time';
  constructor(ceiling: 'tokens' | 'steps' | 'time', message: string) {
    super(message);
    this.ceiling = ceiling;
  }
}

const advice = {
  tokens: 'raise LLM_MAX_TOKENS, or say more plainly in the prompt what to do',
  steps: 'raise LLM_MAX_STEPS, or split the check into smaller ones',
  time: 'make the check smaller, or use a faster model',
} as const;

export function ceilingReached(ceiling: keyof typeof advice, most: string): CeilingReached {
  return new CeilingReached(ceiling, `reached its ceiling of ${most}; ${advice[ceiling]}`);
}

export function limitError(reached: CeilingReached): AgentError {
  return new AgentError('AGENT_LIMIT', `the run of the agentic check ${reached.message}`, {
    cause: reached,
  });
}
