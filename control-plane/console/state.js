/**
 * States of checks and results as a word, a shape and a colour each, so that no single one must be
 * seen.
 */

import { checkTypes, exchangeFields } from './facts/check-types.js';

/** Worst first; `rank` sorts lists. */
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

/** True for checks whose results come from pings: they have no location and no runs of their own. */
export function isPinged({ checkType }) {
  return checkTypes[checkType]?.isPinged === true;
}

/** The most important state of a check, for the overview. */
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

export const outcomes = {
  P: { word: 'Passed', tone: 'good' },
  D: { word: 'Degraded', tone: 'warn' },
  F: { word: 'Failed', tone: 'bad' },
  E: { word: 'Could not run', tone: 'error' },
  C: { word: 'Cancelled', tone: 'quiet' },
};

/** The exchange of a result with its target; undefined for results of another kind. */
export function exchangeOf(result) {
  return exchangeFields.map((field) => result[field]).find((seen) => seen != null);
}

/** The letter of a result. An agent error is never a failure of the target. */
export function outcomeOf(result) {
  if (result.isCancelled) return 'C';
  if (result.hasErrors) return 'E';
  if (result.hasFailures) return 'F';
  return result.isDegraded ? 'D' : 'P';
}

function firstLine(text) {
  return String(text ?? '')
    .split('\n')[0]
    .trim();
}

/** Why a result is not a clean pass, in one line. */
export function reasonOf(result) {
  const letter = outcomeOf(result);
  if (letter === 'P') return '';
  const script =
    result.browserCheckResult ?? result.multiStepCheckResult ?? result.playwrightCheckResult;
  if (script != null) {
    const inTests = (script.tests ?? []).flatMap(({ errors }) => errors ?? []);
    return firstLine([...(script.errors ?? []), ...inTests][0]?.message);
  }
  const agentic = result.agenticCheckResult;
  if (agentic != null) return firstLine(agentic.summary);
  const seen = exchangeOf(result);
  if (seen == null) return '';
  if (seen.requestError) return firstLine(seen.requestError);
  const failed = (seen.assertions ?? []).find(({ error }) => error !== undefined);
  if (failed !== undefined) return firstLine(failed.error);
  if (result.overMaxResponseTime) return 'slower than its maximum';
  if (letter === 'D') return seen.degradedReason ?? 'slower than its degraded limit';
  const status = seen.response?.status;
  return status === undefined ? '' : `status ${status}`;
}
