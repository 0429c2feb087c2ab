/**
 * States of checks and results as a word, a shape and a colour each, so that no single one must be
 * seen.
 */
/** @import { CheckResult } from '@monitor/shared/contract/check-result-routes.ts' */
/** @import { CheckOverview, Exchange, ScriptRun } from './contract.ts' */

import { checkTypes, exchangeFields } from './facts.js';

/** @typedef {'good' | 'bad' | 'warn' | 'error' | 'quiet'} Tone */
/** @typedef {CheckOverview['state'] | 'INACTIVE' | 'MAINTENANCE' | 'UNPLACED' | 'UNSERVED' | 'ERROR'} State */
/** @typedef {'P' | 'D' | 'F' | 'E' | 'C'} Outcome */

/**
 * Worst first; `rank` sorts lists.
 * @type {Record<State, { word: string, tone: Tone, rank: number }>}
 */
export const states = {
  FAILING: { word: 'Failing', tone: 'bad', rank: 0 },
  DEGRADED: { word: 'Degraded', tone: 'warn', rank: 1 },
  ERROR: { word: 'Could not run', tone: 'error', rank: 2 },
  UNSERVED: { word: 'No agent', tone: 'error', rank: 3 },
  UNPLACED: { word: 'No location', tone: 'error', rank: 4 },
  MAINTENANCE: { word: 'Maintenance', tone: 'quiet', rank: 5 },
  UNKNOWN: { word: 'Waiting', tone: 'quiet', rank: 6 },
  PASSING: { word: 'Passing', tone: 'good', rank: 7 },
  INACTIVE: { word: 'Inactive', tone: 'quiet', rank: 8 },
};

/**
 * True for checks whose results come from pings: they have no location and no runs of their own.
 * @param {{ checkType: string }} check
 */
export function isPinged({ checkType }) {
  return checkTypes[checkType]?.isPinged === true;
}

/**
 * The most important state of a check, for the overview.
 * @param {CheckOverview} check
 * @returns {State}
 */
export function stateOfCheck(check) {
  if (!check.activated) return 'INACTIVE';
  if (check.maintenance !== null) return 'MAINTENANCE';
  if (check.state === 'FAILING' || check.state === 'DEGRADED') return check.state;
  if (!isPinged(check)) {
    if (check.locations.length === 0) return 'UNPLACED';
    if (check.unservedLocations.length === check.locations.length) return 'UNSERVED';
  }
  return check.hasErrors ? 'ERROR' : check.state;
}

/** @type {Record<Outcome, { word: string, tone: Tone }>} */
export const outcomes = {
  P: { word: 'Passed', tone: 'good' },
  D: { word: 'Degraded', tone: 'warn' },
  F: { word: 'Failed', tone: 'bad' },
  E: { word: 'Could not run', tone: 'error' },
  C: { word: 'Cancelled', tone: 'quiet' },
};

/**
 * The exchange of a result with its target; undefined for results of another kind.
 * @param {CheckResult} result
 * @returns {Exchange | undefined}
 */
export function exchangeOf(result) {
  const seen = exchangeFields.map((field) => result[field]).find((one) => one !== null);
  /** What agents write into `request` and `response` is open in the contract. */
  return /** @type {Exchange | undefined} */ (seen);
}

/**
 * The run of a script that a result shows; null for results of another kind.
 * @param {CheckResult} result
 * @returns {ScriptRun | null}
 */
export function scriptOf(result) {
  return result.browserCheckResult ?? result.multiStepCheckResult ?? result.playwrightCheckResult;
}

/**
 * The errors of a script, then those of its tests.
 * @param {ScriptRun} script
 */
export function errorsOf({ errors, tests }) {
  return [...errors, ...tests.flatMap((test) => test.errors)];
}

/**
 * The letter of a result. An agent error is never a failure of the target.
 * @param {Pick<CheckResult, 'isCancelled' | 'hasErrors' | 'hasFailures' | 'isDegraded'>} result
 * @returns {Outcome}
 */
export function outcomeOf(result) {
  if (result.isCancelled) return 'C';
  if (result.hasErrors) return 'E';
  if (result.hasFailures) return 'F';
  return result.isDegraded ? 'D' : 'P';
}

/** @param {string | undefined} text */
function firstLine(text) {
  return (text ?? '').split('\n', 1).join('').trim();
}

/**
 * Why a result is not a clean pass, in one line.
 * @param {CheckResult} result
 */
export function reasonOf(result) {
  const letter = outcomeOf(result);
  if (letter === 'P') return '';
  if (result.encryptedResult?.envelope === null) return 'not stored';
  if (result.encryptedResult !== undefined) return 'encrypted';
  const script = scriptOf(result);
  if (script !== null) return firstLine(errorsOf(script)[0]?.message);
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
