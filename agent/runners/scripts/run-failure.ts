/** Why a run of a script failed, from how it ended and what it said. */
import type { ScriptStep, ScriptTest } from '@monitor/shared/contract/check-result.ts';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { isUndecided } from '../../browsers/run-baselines.ts';
import { AgentError } from '../../errors.ts';
import { assertMachineMemory } from '../../script-host/machine-memory.ts';
import type { ProgramEnd } from '../../script-host/script-host.ts';
import { eventsOf, type RunEvent } from './run-events.ts';

/** A failure of the script itself: nothing on the network explains it. */
export const failureOfScript = (code: string, message: string): Failure => ({
  ...{ phase: 'script', code, message, isNetworkError: false },
});

function whereIn(events: readonly RunEvent[]): string {
  const last = eventsOf(events, 'visit').at(-1);
  return last === undefined ? 'before it visited a page' : `at the page ${last.url}`;
}

/** Throws an AgentError when the runtime failed, or a browser that does not start. */
function throwIfAgentError(end: ProgramEnd, events: readonly RunEvent[]): void {
  const [unavailable] = eventsOf(events, 'browserUnavailable');
  if (unavailable !== undefined) {
    throw new AgentError(
      'BROWSER_BROKEN',
      `the browser of the agent could not be used for this run: ${unavailable.message.slice(0, 1_000)}. ` +
        'Look at "monitor-agent doctor"; the script is not the cause.',
    );
  }
  // A script that speaks to the browser directly may have ended it by itself.
  const hasLostBrowser = eventsOf(events, 'browserGone').length > 0;
  if (hasLostBrowser && eventsOf(events, 'rawProtocol').length === 0) {
    throw new AgentError(
      'BROWSER_BROKEN',
      `the browser of the agent ended ${whereIn(events)}, so this run says nothing about the target. ` +
        'It may have been killed for memory: look at the log of the kernel, and lower JOB_CONCURRENCY or add memory.',
    );
  }
  const hasBegun = eventsOf(events, 'begin').length > 0;
  if (end.reason === 'not-started' || (end.reason === 'exit' && !hasBegun)) {
    throw new AgentError(
      'RUNTIME_BROKEN',
      `the runtime could not start the script: ${end.explanation ?? end.stderr.slice(-1_000)}. ` +
        'Install it again with "monitor-agent runtime install".',
    );
  }
}

function failureOfLimits(end: ProgramEnd): Failure | null {
  const explanation = `the run ${end.explanation ?? 'was ended'}`;
  switch (end.reason) {
    case 'memory':
      return failureOfScript('OUT_OF_MEMORY', explanation);
    case 'disk':
      return failureOfScript('OUT_OF_DISK', explanation);
    case 'processes':
      return failureOfScript('TOO_MANY_PROCESSES', explanation);
    case 'cancelled':
      return failureOfScript('CANCELLED', 'the run was cancelled');
    default:
      return null;
  }
}

function hasHeapRunOut(end: ProgramEnd, events: readonly RunEvent[]): boolean {
  const pattern = /JavaScript heap out of memory|Reached heap limit/;
  return (
    pattern.test(end.stderr) || eventsOf(events, 'output').some(({ text }) => pattern.test(text))
  );
}

/** Why a test failed that may have thrown nothing. */
export function reasonOf({ errors, status }: Pick<ScriptTest, 'errors' | 'status'>): string {
  if (errors[0] !== undefined) return errors[0].message;
  if (status === 'passed') return 'it passed, and test.fail() expects it to fail';
  return status === 'interrupted' ? 'it was cut off' : `it ${status}`;
}

/** Why tests that passed say nothing about the target; null where one of them ran. */
export function unjudged(tests: readonly Pick<ScriptTest, 'outcome'>[]): string | null {
  const isUnjudged = tests.length > 0 && tests.every(({ outcome }) => outcome === 'skipped');
  return isUnjudged ? `0 of ${tests.length} tests ran: all of them are skipped` : null;
}

function firstError(events: readonly RunEvent[]): string | null {
  const tests = eventsOf(events, 'test').map(({ test }) => test);
  const thrown = [...eventsOf(events, 'error'), ...tests.flatMap(({ errors }) => errors)][0];
  if (thrown !== undefined) return thrown.message;
  const silent = tests.find(({ outcome }) => outcome === 'unexpected');
  return silent === undefined ? null : `${silent.title}: ${reasonOf(silent)}`;
}

/** What the page did to the browser, by name; null when nothing happened to it. */
export function failureOfBrowser(events: readonly RunEvent[]): Failure | null {
  const [crash] = eventsOf(events, 'crash');
  if (crash !== undefined) {
    return failureOfScript('PAGE_CRASHED', `the page ${crash.url} crashed in the browser`);
  }
  if (eventsOf(events, 'browserGone').length === 0) return null;
  return failureOfScript('BROWSER_CRASHED', `the browser ended ${whereIn(events)}`);
}

/** Null when everything passed. Throws AgentError when we are to blame. */
export function failureOfRun(
  end: ProgramEnd,
  events: readonly RunEvent[],
  isTest: boolean,
): Failure | null {
  assertMachineMemory('the run', end);
  const limits = failureOfLimits(end);
  if (limits !== null) return limits;
  if (hasHeapRunOut(end, events)) {
    return failureOfScript('OUT_OF_MEMORY', 'the script used more memory than Node may use');
  }
  const ended = eventsOf(events, 'end').at(-1);
  const hasPassed = end.exitCode === 0 && ended?.status === 'passed';
  if (hasPassed && (!isTest || eventsOf(events, 'tests').length > 0)) return null;
  throwIfAgentError(end, events);
  const browser = failureOfBrowser(events);
  if (browser !== null) return browser;
  const message = firstError(events);
  const isSyntax =
    message !== null && /SyntaxError|Cannot find (module|package)/.test(message.slice(0, 500));
  if (isSyntax && eventsOf(events, 'test').length === 0) {
    return failureOfScript('SCRIPT_INVALID', message);
  }
  const how =
    end.signal === null
      ? `the script ended with exit code ${end.exitCode} before it was done`
      : `the script was ended by ${end.signal}`;
  return failureOfScript('SCRIPT_FAILED', message ?? how);
}

/** True when nothing but soft assertions failed. */
export function isOnlySoft(events: readonly RunEvent[]): boolean {
  const unexpected = eventsOf(events, 'test').filter(({ test }) => test.outcome === 'unexpected');
  return (
    unexpected.length > 0 &&
    unexpected.every((event) => event.isOnlySoft) &&
    eventsOf(events, 'error').length === 0
  );
}

/** Names of the tests that failed, where each of them failed for want of baselines alone; empty otherwise. */
export function testsWithoutBaselines(events: readonly RunEvent[]): string[] {
  const failed = eventsOf(events, 'test').filter(({ test }) => test.outcome === 'unexpected');
  const isForWant =
    failed.every(({ test }) => isUndecided(test.errors)) && eventsOf(events, 'error').length === 0;
  return isForWant ? failed.map(({ test }) => test.title) : [];
}

/** True where a run failed by its tests, and by nothing that ended it before or beside them. */
export function isOfTestsAlone(failure: Failure | null, events: readonly RunEvent[]): boolean {
  return failure?.code === 'SCRIPT_FAILED' && eventsOf(events, 'end').at(-1)?.status === 'failed';
}

/** The end of the innermost step that failed, in ms since the epoch; null without one. */
function endOfFailure(steps: readonly ScriptStep[]): number | null {
  const failed = steps.find(({ error }) => error !== null);
  if (failed === undefined) return null;
  return endOfFailure(failed.steps) ?? failed.startTime + failed.durationMs;
}

/**
 * When the failure of a run came about, in ms since the epoch; null where nothing says it. Evidence is
 * collected after it, which says nothing about the time that was left until then.
 */
export function failedAt(tests: readonly Pick<ScriptTest, 'outcome' | 'steps'>[]): number | null {
  const failed = tests.find(({ outcome }) => outcome === 'unexpected');
  return failed === undefined ? null : endOfFailure(failed.steps);
}

/** An instant of the clock of this machine, in ms since the epoch, as one of `performance.now()`. */
const instantOf = (at: number): number => performance.now() - (Date.now() - at);

/**
 * The end of what counts of a run, of `performance.now()`: its failure `at`, in ms since the epoch, where
 * that is known, and its own end otherwise.
 */
export function countedUntil(at: number | null, endedAt: number): number {
  return at === null ? endedAt : Math.min(instantOf(at), endedAt);
}

/**
 * How long a page took to be answered that was not at the failure, without what the run `waited` meanwhile. What
 * closes a page on a busy machine takes its time, in which the answer may still come.
 */
export function unansweredMs(
  events: readonly RunEvent[],
  failedAt: number,
  waited: (from: number, to: number) => number,
): number {
  const visits = new Map(eventsOf(events, 'visit').map(({ id, url }) => [id, url]));
  return eventsOf(events, 'network').reduce((longest, { visit, url, time, answeredMs = 0 }) => {
    const from = instantOf(time);
    const to = from + answeredMs;
    const isAwaited = visits.get(visit) === url && from < failedAt && to > failedAt;
    return isAwaited ? Math.max(longest, answeredMs - waited(from, to)) : longest;
  }, 0);
}
