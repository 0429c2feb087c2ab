import assert from 'node:assert/strict';
import test from 'node:test';
import type { RunEvent } from '../../../../agent/runners/scripts/run-events.ts';
import {
  countedUntil,
  failedAt,
  failureOfRun,
  isOfTestsAlone,
  reasonOf,
  testsWithoutBaselines,
  unansweredMs,
  unjudged,
} from '../../../../agent/runners/scripts/run-failure.ts';
import { AgentError } from '../../../../agent/errors.ts';
import type { ProgramEnd } from '../../../../agent/script-host/script-host.ts';

const failed: ProgramEnd = {
  ...{ reason: 'exit', exitCode: 1, signal: null, durationMs: 1, peakMemoryBytes: 1, stdout: '' },
  ...{ stderr: '', isOutputTruncated: false, explanation: null },
};
const gone: RunEvent[] = [
  { type: 'begin', time: 1 },
  { type: 'visit', id: '1', url: 'http://a.example/', time: 1 },
  { type: 'browserGone' },
  { type: 'error', message: 'Error: page.click: Browser closed', stack: null, title: null },
];

test('a browser that crashes is an agent error, not a failure of the target', () => {
  assert.throws(
    () => failureOfRun(failed, gone, true),
    (error) =>
      error instanceof AgentError &&
      error.code === 'BROWSER_BROKEN' &&
      /at the page http:\/\/a\.example\//.test(error.message),
  );
});

test('one that a script may have ended itself is not', () => {
  const end = failureOfRun(failed, [{ type: 'rawProtocol' }, ...gone], true);
  assert.equal(end?.code, 'BROWSER_CRASHED');
});

const step = (startTime: number, durationMs: number, error: string | null = null) => ({
  ...{ title: '', category: 'pw:api', startTime, durationMs, error },
  ...{ requests: [], steps: [] as never[] },
});

test('a run failed at the end of its innermost failed step, not when its evidence was collected', () => {
  const hook = step(6_000, 3_000);
  const outer = { ...step(1_000, 5_500, 'timed out'), steps: [step(1_000, 3_000, 'timed out')] };
  for (const [steps, outcome, at] of [
    [[step(0, 900), step(1_000, 3_000, 'timed out'), hook], 'unexpected', 4_000],
    [[outer, hook], 'unexpected', 4_000],
    [[hook], 'unexpected', null],
    [[step(1_000, 3_000, 'soft')], 'expected', null],
  ] as const) {
    const passed = { outcome: 'expected' as const, steps: [step(0, 10, 'caught')] };
    assert.equal(failedAt([passed, { outcome, steps: [...steps] }]), at);
  }
});

for (const [what, asked, expected] of [
  ['not answered until long after the failure', { after: -20_000, answeredMs: 50_000 }, 49_000],
  ['answered before the failure', { after: -20_000, answeredMs: 10_000 }, 0],
  ['asked for after the failure', { after: 10_000, answeredMs: 50_000 }, 0],
  ['a file of the page', { after: -20_000, answeredMs: 50_000, url: 'http://a.example/b.js' }, 0],
] as const) {
  test(`a target certainly kept a run waiting by what was ${what}: ${expected} ms`, () => {
    const { after, answeredMs, url = 'http://a.example/' } = { url: undefined, ...asked };
    const failedAt = performance.now() - 100_000;
    const time = Date.now() - 100_000 + after;
    const page: RunEvent = {
      ...{ type: 'network', visit: '1', time, method: 'GET', url, resourceType: 'document' },
      ...{ status: 200, answeredMs, durationMs: 60_000, sizeBytes: 2, failure: null },
    };
    const visit: RunEvent = { type: 'visit', id: '1', url: 'http://a.example/', time };
    assert.equal(
      unansweredMs([visit, page], failedAt, () => 1_000),
      expected,
    );
  });
}

test('what counts of a run ends with it where its failure is not known, or said to be later', () => {
  const endedAt = performance.now();
  assert.equal(countedUntil(null, endedAt), endedAt);
  assert.equal(countedUntil(Date.now() + 60_000, endedAt), endedAt);
});

test('tests that passed without being run say so, and one that ran is enough', () => {
  const all = (...outcomes: ('skipped' | 'expected' | 'unexpected' | 'flaky')[]) =>
    unjudged(outcomes.map((outcome) => ({ outcome })));
  assert.equal(all('skipped'), '0 of 1 tests ran: all of them are skipped');
  assert.equal(all('skipped', 'skipped'), '0 of 2 tests ran: all of them are skipped');
  for (const ran of ['expected', 'unexpected', 'flaky'] as const)
    assert.equal(all('skipped', ran), null);
  assert.equal(all(), null);
});

test('a test that failed without an error says why', () => {
  const thrown = [{ message: 'boom', stack: null, title: null }];
  assert.equal(reasonOf({ errors: thrown, status: 'failed' }), 'boom');
  assert.match(reasonOf({ errors: [], status: 'passed' }), /test\.fail\(\) expects it to fail/);
  assert.equal(reasonOf({ errors: [], status: 'interrupted' }), 'it was cut off');
  assert.equal(reasonOf({ errors: [], status: 'timedOut' }), 'it timedOut');
});

test('a run is forgiven its missing images only where nothing else ended it', () => {
  const image = "A snapshot doesn't exist at /check/a.png, writing actual.";
  const failedBy = (...messages: string[]): RunEvent => ({
    type: 'test',
    test: {
      ...{ title: 'shop', file: 'f', project: '', tags: [], status: 'failed', retries: 0 },
      ...{ outcome: 'unexpected', durationMs: 1, steps: [] },
      errors: messages.map((message) => ({ message, stack: null, title: null })),
    },
    isOnlySoft: false,
  });
  const begun: RunEvent[] = [{ type: 'begin', time: 1 }, failedBy(image)];
  const ended: RunEvent[] = [...begun, { type: 'end', status: 'failed' }];
  assert.deepEqual(testsWithoutBaselines(ended), ['shop']);
  assert.deepEqual(testsWithoutBaselines([...ended, failedBy(image, 'closed')]), []);
  assert.equal(isOfTestsAlone(failureOfRun(failed, ended, true), ended), true);
  for (const reason of ['memory', 'disk', 'processes'] as const) {
    const failure = failureOfRun({ ...failed, reason }, ended, true);
    assert.equal(isOfTestsAlone(failure, ended), false, reason);
  }
  assert.equal(isOfTestsAlone(failureOfRun(failed, begun, true), begun), false, 'it ended early');
  const late: RunEvent[] = [...begun, { type: 'end', status: 'timedout' }];
  assert.equal(isOfTestsAlone(failureOfRun(failed, late, true), late), false);
  assert.equal(isOfTestsAlone(null, ended), false);
});
