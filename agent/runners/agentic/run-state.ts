/** What one run gathers on its way to a result. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { RunnerContext } from '../runner.ts';
import type { BrowserActions } from './browser-actions.ts';
import type { AssertionStep } from './learned-script.ts';
import type { ModelClient } from './model-client.ts';
import type { PromptVariables } from './prompt-variables.ts';
import type { AgenticResult, Transcript } from './transcript.ts';

export type AssertionOutcome = AgenticResult['assertions'][number];
export type Suggestion = AgenticResult['suggestions'][number];

export interface RunState {
  readonly actions: BrowserActions;
  readonly variables: PromptVariables;
  readonly transcript: Transcript;
  readonly clock: Clock;
  readonly log: RunnerContext['log'];
  readonly skills: readonly string[];
  /** Null when no model is configured. */
  readonly client: ModelClient | null;
  readonly maxTokens: number;
  readonly maxSteps: number;
  /** By condition: what was seen last counts. */
  readonly assertions: Map<string, AssertionOutcome>;
  readonly suggestions: Suggestion[];
}

/** Notes what an assertion came to, and gives it. */
export function noteAssertion(
  state: RunState,
  { condition, expected }: Pick<AssertionStep, 'condition' | 'expected'>,
  passed: boolean,
  actual: string,
): AssertionOutcome {
  const outcome = { condition, passed, actual, expected };
  state.assertions.set(condition, outcome);
  return outcome;
}

/** `the total is right: expected "12 €", saw "14 €"` */
export function describeOutcome({ condition, expected, actual }: AssertionOutcome): string {
  return `${condition}: expected "${expected}", saw "${actual}"`;
}
