/** From what the reporter wrote to tests, numbers and the one failure of a suite. Pure. */
import {
  nameOfTest,
  type PlaywrightCheckResult,
  type ScriptError,
  type ScriptTest,
} from '@monitor/shared/contract/check-result.ts';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { severity } from '@monitor/shared/domain/merged-suite.ts';
import { errorLine } from '@monitor/shared/error-line.ts';
import { isUndecided } from '../../browsers/run-baselines.ts';
import { reasonOf } from '../scripts/run-failure.ts';
import { toScriptSteps, type SuiteEvents, type SuiteTest } from './suite-events.ts';

export type SuiteMetrics = PlaywrightCheckResult['metrics'];

/** What is shown of a suite at most; results have to travel. */
const maxTests = 2_000;
const maxErrorMessages = 100;

/** How a test ended; one that was cut off never came to be judged. */
function outcomeOf(test: SuiteTest): ScriptTest['outcome'] {
  if (test.outcome !== null) return test.outcome;
  const last = test.attempts.at(-1);
  if (test.runningSince !== null) return 'unexpected';
  if (last === undefined || last.status === 'skipped') return 'skipped';
  if (last.status !== 'passed') return 'unexpected';
  return test.attempts.length > 1 ? 'flaky' : 'expected';
}

export function nameOf(test: Pick<SuiteTest, 'title' | 'project'>): string {
  return test.project === '' ? test.title : `${test.title} [${test.project}]`;
}

function toScriptTest(test: SuiteTest): ScriptTest {
  const last = test.attempts.at(-1);
  const isCutOff = test.runningSince !== null;
  const errors: ScriptError[] = (last?.errors ?? []).map((error) => ({
    ...error,
    title: nameOf(test),
  }));
  return {
    title: test.title,
    file: test.file,
    project: test.project,
    tags: test.tags,
    status: isCutOff ? 'interrupted' : (last?.status ?? 'skipped'),
    outcome: outcomeOf(test),
    retries: Math.max(0, test.attempts.length - 1 + (isCutOff ? 1 : 0)),
    durationMs: test.attempts.reduce((sum, attempt) => sum + attempt.durationMs, 0),
    errors,
    steps: toScriptSteps(last?.steps ?? []),
  };
}

/** Tests that run and are shown, and whose failures do not make the suite fail. */
export type Quarantine = (test: Pick<ScriptTest, 'file' | 'title' | 'project'>) => boolean;

/** Those whose quarantine has not ended at an instant, in milliseconds since the epoch. */
export function quarantineAt(
  quarantined: readonly { test: string; until: string }[],
  now: number,
): Quarantine {
  const names = new Set(
    quarantined.filter(({ until }) => Date.parse(until) > now).map(({ test }) => test),
  );
  return (test) => names.has(nameOfTest(test));
}

export interface SuiteOutcome {
  tests: ScriptTest[];
  /** Failed tests that count: neither in quarantine, nor for want of baselines alone. */
  failures: number;
  /** Names of tests that failed for want of baselines alone. */
  undecided: string[];
  /** Names of tests in quarantine that made the suite fail. */
  forgiven: string[];
  /** Why the suite fails all the same when only they failed; null when it does not. */
  unforgiven: string | null;
  errors: ScriptError[];
  /** One for each failed test, and one for each error outside of tests. */
  errorMessages: string[];
  counts: Pick<SuiteMetrics, 'total' | 'passed' | 'failed' | 'flaky' | 'skipped' | 'retries'>;
}

/** What else than a test in quarantine may have made Playwright fail, or kept other tests from failing. */
function whyUnforgiven(events: SuiteEvents, tests: readonly ScriptTest[]): string | null {
  if (events.begun !== 1 || events.ended !== 1) return 'Playwright ran more than once';
  if (!events.isWhole) return 'there were more tests and errors than can be looked at';
  const left = [...events.tests.values()].filter(({ isLeft }) => isLeft).length;
  if (left > 0) return left === 1 ? '1 test did not run' : `${left} tests did not run`;
  const isFlaky = tests.some(
    ({ outcome, quarantined }) => outcome === 'flaky' && quarantined !== true,
  );
  return isFlaky && events.failsOnFlaky ? 'a flaky test fails this suite' : null;
}

/** Tests with the failed ones first, and what they add up to. Flaky tests have passed in the end. */
export function outcomeOfSuite(events: SuiteEvents, isQuarantined: Quarantine): SuiteOutcome {
  const all = [...events.tests.values()].map(toScriptTest);
  const named = Map.groupBy(all, nameOfTest);
  // A name that two tests have says of neither that it was meant.
  const isHeld = (test: ScriptTest) =>
    isQuarantined(test) && named.get(nameOfTest(test))?.length === 1;
  const tests = all
    .map((test) => (isHeld(test) ? { ...test, quarantined: true } : test))
    .sort((left, right) => severity[left.outcome] - severity[right.outcome]);
  const count = (outcome: ScriptTest['outcome']) =>
    tests.filter((test) => test.outcome === outcome).length;
  const unexpected = tests.filter(({ outcome }) => outcome === 'unexpected');
  const counted = unexpected.filter(({ quarantined }) => quarantined !== true);
  const undecided = counted.filter(({ errors }) => isUndecided(errors));
  const failed = counted.filter((test) => !undecided.includes(test));
  const forgiven = tests.filter(
    ({ quarantined, outcome }) =>
      quarantined === true &&
      (outcome === 'unexpected' || (outcome === 'flaky' && events.failsOnFlaky)),
  );
  const messages = [
    ...failed.map((test) => `${nameOf(test)}: ${reasonOf(test)}`),
    ...events.errors.map(({ message }) => message),
  ];
  return {
    tests: tests.slice(0, maxTests),
    failures: failed.length,
    undecided: undecided.map(nameOfTest),
    forgiven: forgiven.map(nameOfTest),
    unforgiven: whyUnforgiven(events, tests),
    errors: [...failed.flatMap(({ errors }) => errors), ...events.errors].slice(0, 1_000),
    errorMessages: messages.slice(0, maxErrorMessages).map((message) => message.slice(0, 16_384)),
    counts: {
      total: tests.length,
      passed: count('expected'),
      failed: unexpected.length,
      flaky: count('flaky'),
      skipped: count('skipped'),
      retries: tests.reduce((sum, { retries }) => sum + retries, 0),
    },
  };
}

const fail = (code: string, message: string): Failure => ({
  phase: 'test',
  code,
  message,
  isNetworkError: false,
});

const firstLine = (text: string): string => errorLine([text]).slice(0, 300);

/** Why a suite whose test command came to its end failed, or null: it passed. */
export function failureOfSuite(
  events: SuiteEvents,
  { counts, failures, undecided, forgiven, unforgiven, errorMessages }: SuiteOutcome,
  testCommand: string,
  exitCode: number | null,
  lastOutput: string,
): Failure | null {
  const ending =
    exitCode === null ? 'was killed by a signal' : `ended with exit code ${String(exitCode)}`;
  if (failures > 0) {
    const [first = ''] = errorMessages;
    return fail('TESTS_FAILED', `${failures} of ${counts.total} tests failed: ${firstLine(first)}`);
  }
  if (events.lastStatus === 'timedout') {
    return fail('GLOBAL_TIMEOUT', 'the tests did not end within the globalTimeout of the suite');
  }
  const realErrors = events.errors.filter(({ message }) => !/no tests found/i.test(message));
  if (realErrors.length > 0 && exitCode !== 0) {
    return fail('SUITE_BROKEN', firstLine(realErrors[0]?.message ?? ''));
  }
  const ranPlaywright = events.begun > 0 || events.errors.length > 0;
  if (counts.total === 0 && (exitCode === 0 || ranPlaywright)) {
    return fail(
      'NO_TESTS',
      'the test command ran no tests; look at testCommand, workingDir and the filters in them',
    );
  }
  // Playwright ends with 1 where a test failed, whether it counts or not.
  const isForgiven = forgiven.length + undecided.length > 0 && exitCode === 1;
  if (exitCode !== 0 && !isForgiven) {
    return fail('TEST_COMMAND_FAILED', `the test command ${ending}: ${lastOutput}`);
  }
  const otherwise = /[;&|\n]/.test(testCommand) ? 'the test command is more than one' : unforgiven;
  if (isForgiven && otherwise !== null) {
    const [first] = forgiven;
    const reason =
      first === undefined
        ? `${firstLine(undecided[0] ?? '')} has no baseline yet`
        : `${firstLine(first)} failed in quarantine`;
    return fail('TESTS_FAILED', `${reason}, and ${otherwise}`);
  }
  return events.begun === events.ended
    ? null
    : fail('SUITE_BROKEN', 'Playwright ended before all tests were judged');
}
