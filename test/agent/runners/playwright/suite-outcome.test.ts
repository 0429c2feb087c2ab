import assert from 'node:assert/strict';
import test from 'node:test';
import {
  readSuiteEvents,
  type SuiteEvents,
} from '../../../../agent/runners/playwright/suite-events.ts';
import {
  failureOfSuite,
  outcomeOfSuite,
  quarantineAt,
} from '../../../../agent/runners/playwright/suite-outcome.ts';

test('nothing but the failure of a test in quarantine is forgiven, and only as long as it is in it', async () => {
  const none = await readSuiteEvents(null);
  const now = Date.parse('2030-01-01T00:00:00Z');
  const failureOf = (
    outcomes: Record<string, 'expected' | 'unexpected' | 'flaky'>,
    {
      until = '2030-01-01T00:00:01Z',
      exitCode = 1,
      testCommand = 'npx playwright test',
      isLeft = false,
      ...change
    }: Partial<SuiteEvents> & {
      until?: string;
      exitCode?: number;
      testCommand?: string;
      isLeft?: boolean;
    } = {},
  ) => {
    const base = { file: 'a.spec.js', project: '', tags: [], attempts: [], runningSince: null };
    const tests = Object.entries(outcomes).map(
      ([title, outcome]) => [title, { id: title, title, ...base, outcome, isLeft }] as const,
    );
    const events = { ...none, begun: 1, ended: 1, tests: new Map(tests), ...change };
    const isQuarantined = quarantineAt([{ test: 'a.spec.js › wavers', until }], now);
    const outcome = outcomeOfSuite(events, isQuarantined);
    return failureOfSuite(events, outcome, testCommand, exitCode, '')?.message ?? null;
  };
  const wavers = { wavers: 'unexpected' } as const;
  assert.equal(failureOf({ ...wavers, sells: 'expected' }), null);
  const over = failureOf({ ...wavers, sells: 'expected' }, { until: '2030-01-01T00:00:00Z' });
  assert.match(over ?? '', /^1 of 2 tests failed: wavers/);
  assert.match(failureOf({ ...wavers, sells: 'unexpected' }) ?? '', /^1 of 2 tests failed: sells/);
  const errors = [{ message: 'teardown', stack: null, title: null }];
  assert.equal(failureOf(wavers, { errors }), 'teardown');
  assert.match(failureOf(wavers, { exitCode: 2 }) ?? '', /exit code 2/);
  assert.match(failureOf(wavers, { begun: 2, ended: 2 }) ?? '', /more than once/);
  assert.match(failureOf(wavers, { isLeft: true }) ?? '', /quarantine, and 1 test did not run/);
  const testCommand = 'npx playwright test b; npx playwright test a';
  assert.match(failureOf(wavers, { testCommand }) ?? '', /quarantine, .* more than one/);
  assert.match(failureOf(wavers, { isWhole: false }) ?? '', /more tests and errors than/);
  const flaky = { ...wavers, sells: 'flaky' } as const;
  assert.equal(failureOf(flaky), null);
  assert.match(failureOf(flaky, { failsOnFlaky: true }) ?? '', /a flaky test fails this suite/);
});
