/**
 * States of checks and results as a word, a shape and a colour each, so that no single one must be
 * seen.
 */
import type { CheckResult } from '@monitor/shared/contract/check-result-routes.ts';
import { errorLine } from '@monitor/shared/error-line.ts';
import type { CheckOverview, Exchange, ScriptRun } from './contract.ts';

import { checkTypes, exchangeFields } from './facts.ts';

export type Tone = 'good' | 'bad' | 'warn' | 'error' | 'quiet';
export type State = CheckOverview['status'];
type Outcome = 'P' | 'D' | 'F' | 'E' | 'C';

/** Worst first. */
export const states: Record<State, { word: string; tone: Tone }> = {
  FAILING: { word: 'Failing', tone: 'bad' },
  DEGRADED: { word: 'Degraded', tone: 'warn' },
  ERROR: { word: 'Could not run', tone: 'error' },
  UNSERVED: { word: 'No agent', tone: 'error' },
  UNPLACED: { word: 'No location', tone: 'error' },
  MAINTENANCE: { word: 'Maintenance', tone: 'quiet' },
  UNKNOWN: { word: 'Waiting', tone: 'quiet' },
  PASSING: { word: 'Passing', tone: 'good' },
  INACTIVE: { word: 'Inactive', tone: 'quiet' },
};

/**
 * True for checks whose results come from pings: they have no location and no runs of their own.
 */
export function isPinged({ checkType }: { checkType: string }) {
  return checkTypes[checkType]?.isPinged === true;
}

export const outcomes: Record<Outcome, { word: string; tone: Tone }> = {
  P: { word: 'Passed', tone: 'good' },
  D: { word: 'Degraded', tone: 'warn' },
  F: { word: 'Failed', tone: 'bad' },
  E: { word: 'Could not run', tone: 'error' },
  C: { word: 'Cancelled', tone: 'quiet' },
};

/** The exchange of a result with its target; undefined for results of another kind. */
export function exchangeOf(result: CheckResult): Exchange | undefined {
  const seen = exchangeFields.map((field) => result[field]).find((one) => one !== null);
  /** What agents write into `request` and `response` is open in the contract. */
  return seen as Exchange | undefined;
}

/** The run of a script that a result shows; null for results of another kind. */
export function scriptOf(result: CheckResult): ScriptRun | null {
  return result.browserCheckResult ?? result.multiStepCheckResult ?? result.playwrightCheckResult;
}

/** The errors of a script, then those of its tests. */
export function errorsOf({ errors, tests }: ScriptRun) {
  return [...errors, ...tests.flatMap((test) => test.errors)];
}

/** The letter of a result. An agent error is never a failure of the target. */
export function outcomeOf(
  result: Pick<CheckResult, 'isCancelled' | 'hasErrors' | 'hasFailures' | 'isDegraded'>,
): Outcome {
  if (result.isCancelled) return 'C';
  if (result.hasErrors) return 'E';
  if (result.hasFailures) return 'F';
  return result.isDegraded ? 'D' : 'P';
}

function firstLine(text: string | undefined) {
  return (text ?? '').split('\n', 1).join('').trim();
}

/** Why a result is not a clean pass, in one line. */
export function reasonOf(result: CheckResult) {
  const letter = outcomeOf(result);
  if (letter === 'P') return '';
  if (result.encryptedResult?.envelope === null) return 'not stored';
  if (result.encryptedResult !== undefined) return 'encrypted';
  const script = scriptOf(result);
  if (script !== null) return errorLine(errorsOf(script).map(({ message }) => message));
  const agentic = result.agenticCheckResult;
  if (agentic !== null) return firstLine(agentic.summary);
  const seen = exchangeOf(result);
  if (seen === undefined) return '';
  if (seen.requestError !== null) return firstLine(seen.requestError);
  const failed = seen.assertions.find(({ error }) => error !== undefined);
  if (failed !== undefined) return firstLine(failed.error);
  if (result.overMaxResponseTime) return 'slower than its maximum';
  if (letter === 'D') return seen.degradedReason ?? 'slower than its degraded limit';
  const status = seen.response?.status;
  return status === undefined ? '' : `status ${status}`;
}
