// PostgreSQL in the long tier: alerting.test.ts and silenced-work.test.ts run its statements on both.
/** What would have alerted: the replay gives what really was sent, and what other settings would have sent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replayAlerts, type PastRun } from '../../../control-plane/alerting/decide/replay.ts';
import type { AlertRules } from '../../../control-plane/alerting/decide/rules.ts';
import { minute, now, setUp, type Bench } from '../../support/results.ts';

const failed = { hasFailures: true, errorMessages: ['HTTP 500'] };

interface Replayed {
  alerts: number;
  reminders: number;
  recoveries: number;
  newest: { alertType: string; reminder: number }[];
}

async function replay(bench: Bench, checkId: string, body: unknown) {
  const answer = await bench.cp.api('POST', `/v1/check-alerts/${checkId}/replay`, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body as { runs: number; from: string; given: Replayed; current: Replayed };
}

const afterRuns = (failedRunThreshold: number) => ({
  useGlobalAlertSettings: false,
  alertSettings: { runBasedEscalation: { failedRunThreshold } },
});

/** f fails, d is degraded, e is an agent error, a dot passes. */
const history = '..f.ff.fff.dd.f.ffff.e.fe.f';

test('the alerts of a replay are those that were sent; a higher threshold sends fewer', async () => {
  await using bench = await setUp();
  await bench.cp.api('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: 'hook', url: 'https://hooks.example/alerts' },
    autoSubscribe: true,
    sendDegraded: true,
  });
  const check = await bench.check('url', {});
  const first = now - history.length * minute;
  for (const [index, what] of [...history].entries()) {
    await bench.submit(check, 'URL', first + index * minute, {
      ...(what === 'f' && failed),
      ...(what === 'd' && { isDegraded: true }),
      ...(what === 'e' && { hasErrors: true, errorMessages: ['no memory'] }),
    });
  }
  const sent = (await bench.get(`check-alerts/${check}?limit=100`)) as { alertType: string }[];
  const { runs, given, current } = await replay(bench, check, afterRuns(3));
  assert.equal(runs, history.length);
  assert.deepEqual(
    current.newest.map(({ alertType }) => alertType),
    sent.map(({ alertType }) => alertType),
  );
  assert.deepEqual([given.alerts, given.recoveries], [2, 2]);
  assert.ok(current.alerts > given.alerts);
  const { given: same } = await replay(bench, check, {});
  assert.deepEqual(same, current);
  assert.equal((await bench.get(`check-alerts/${check}?limit=100`)).length, sent.length);
});

test('a replay names the refused field', async () => {
  await using bench = await setUp();
  const check = await bench.check('url', {});
  const path = `/v1/check-alerts/${check}/replay`;
  const wrong = await bench.cp.api('POST', path, afterRuns(9));
  assert.deepEqual(
    [wrong.status, wrong.body.attributes.keys],
    [400, ['alertSettings.runBasedEscalation.failedRunThreshold']],
  );
});

const rules: AlertRules = {
  escalation: { type: 'TIME_BASED', minutes: 5 },
  reminders: { amount: 2, intervalMs: 10 * minute },
  isParallel: false,
  parallelPercentage: null,
  mute: null,
};

function runAt(atMinute: number, outcome: PastRun['outcome'], location = 'a'): PastRun {
  const startedAt = atMinute * minute;
  return {
    resultId: `${location} ${atMinute}`,
    ...{ location, outcome, startedAt, stoppedAt: startedAt, scheduledFor: startedAt },
    isInMaintenance: false,
  };
}

const saidAt = (runs: PastRun[], given: AlertRules, until: number) =>
  replayAlerts(runs, given, until * minute).map(
    ({ at, alertType, reminder }) => `${at / minute} ${alertType} ${reminder}`,
  );

test('escalations and reminders fall due between runs, and after the last one', () => {
  const runs = [
    runAt(0, 'failing'),
    runAt(10, 'failing'),
    runAt(40, 'passing'),
    runAt(50, 'failing'),
  ];
  assert.deepEqual(saidAt(runs, rules, 56), [
    '5 ALERT_FAILURE_REMAIN 0',
    '15 ALERT_FAILURE_REMAIN 1',
    '25 ALERT_FAILURE_REMAIN 2',
    '40 ALERT_RECOVERY 0',
    '55 ALERT_FAILURE_REMAIN 0',
  ]);
});

test('locations of a parallel check count together', () => {
  const parallel: AlertRules = {
    ...rules,
    escalation: { type: 'RUN_BASED', runs: 1 },
    reminders: { amount: 0, intervalMs: minute },
    isParallel: true,
    parallelPercentage: 60,
  };
  const tick = (at: number, a: PastRun['outcome'], b: PastRun['outcome']) => [
    runAt(at, a, 'a'),
    runAt(at, b, 'b'),
  ];
  const runs = [
    ...tick(0, 'failing', 'passing'),
    ...tick(1, 'failing', 'failing'),
    ...tick(2, 'passing', 'passing'),
  ];
  assert.deepEqual(saidAt(runs, parallel, 3), ['1 ALERT_FAILURE 0', '2 ALERT_RECOVERY 0']);
});

test('a failure in a maintenance alerts nobody', () => {
  const at = { ...rules, escalation: { type: 'RUN_BASED', runs: 1 } } as const;
  const runs = [runAt(0, 'failing'), runAt(1, 'passing')];
  assert.deepEqual(saidAt([{ ...runAt(0, 'failing'), isInMaintenance: true }], at, 1), []);
  assert.equal(saidAt(runs, at, 1).length, 2);
});
