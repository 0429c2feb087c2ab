import assert from 'node:assert/strict';
import test from 'node:test';
import { runSource } from '@monitor/shared/contract/check-trigger.ts';
import { suiteVariables } from '../../../../agent/runners/playwright/suite-environment.ts';

const runId = '7e4c9b1e-0000-4000-8000-000000000002';

const run = {
  ...{ accountId: 'account', checkId: 'check', checkName: 'shop', checkType: 'PLAYWRIGHT' },
  ...{ runId, resultId: '7e4c9b1e-0000-4000-8000-000000000003', location: 'office', attempt: 1 },
};

const variablesOf = (source: string | null, environment: Record<string, string> = {}) =>
  suiteVariables({
    run: { ...run, source, scheduledFor: source === null ? 1 : null },
    environment: Object.entries(environment).map(([key, value]) => ({ key, value, secret: false })),
  });

test('CI is set for sessions, deployments and the command line, and never otherwise', () => {
  const isCi = Object.fromEntries(
    [...runSource.options, 'RETRY_ELSEWHERE', null].map((source) => [
      String(source),
      variablesOf(source)['CI'] === 'true',
    ]),
  );
  assert.deepEqual(isCi, {
    ...{ CLI_DEPLOY: true, DEPLOYMENT: true, DEPLOYMENT_CACHE_WARMER: false, EDITOR: false },
    ...{ GROUP_RUN_ALL: false, LEGACY_TRIGGER: false, SCHEDULER: false, SCHEDULE_NOW: false },
    ...{ TEST_NO_RECORD: true, TEST_RECORD: true, TRIGGER_NO_RECORD: true, TRIGGER_RECORD: true },
    ...{ TRIGGER_API: true, RETRY_ELSEWHERE: false, null: false },
  });
  assert.equal(variablesOf(null, { CI: 'mine' })['CI'], 'mine', 'a check may say so itself');
});

test('a run has a trace of its own', () => {
  const { CHECKLY_TRACE_ID: id = '', TRACEPARENT: parent = '' } = variablesOf(null);
  assert.equal(id, runId.replaceAll('-', ''));
  assert.ok(parent.startsWith(`00-${id}-`));
});

test('a run of the service is marked as one, and only a scheduled one has ids of the schedule', () => {
  const scheduled = variablesOf(null);
  assert.deepEqual(
    [scheduled['MONITOR'], scheduled['MONITOR_RUN_SOURCE'], scheduled['CHECK_RUN_ID']],
    ['1', 'SCHEDULER', runId],
  );
  const triggered = variablesOf('TRIGGER_API', { MONITOR: 'no' });
  assert.equal(triggered['MONITOR'], '1');
  assert.equal('CHECK_RUN_ID' in triggered, false);
});
