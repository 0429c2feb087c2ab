import assert from 'node:assert/strict';
import test from 'node:test';
import { alertOnCertificate } from '../../control-plane/alerting/alert-on-certificate.ts';
import { evaluateDueAlerts } from '../../control-plane/alerting/evaluate-due-alerts.ts';
import { expireJobs } from '../../control-plane/results/expire-jobs.ts';
import { sweepHeartbeats } from '../../control-plane/heartbeats/heartbeats.ts';
import type { AlertFacts } from '../../control-plane/notifications/facts.ts';
import { messageOf } from '../../control-plane/notifications/message.ts';
import { alertVariables } from '../../control-plane/notifications/templates/alert-variables.ts';
import { FakeAgent } from '../support/fake-agent.ts';
import { hour, iso, minute, now, setUp, type Bench } from '../support/results.ts';

const failed = { hasFailures: true, errorMessages: ['HTTP 500 Internal Server Error\nat line 2'] };

async function channel(bench: Bench, fields: Record<string, unknown> = {}): Promise<number> {
  const { status, body } = await bench.cp.api('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: 'hook', url: 'https://hooks.example/alerts' },
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as number;
}

/** What was said, oldest first: to which channel, and what. */
async function said(bench: Bench): Promise<(AlertFacts & { channel: number })[]> {
  const rows = await bench.cp.controlPlane.services.db
    .selectFrom('alert_notifications')
    .select(['alert_channel_id', 'facts_json'])
    .orderBy('seq')
    .execute();
  return rows.map(({ alert_channel_id, facts_json }) => ({
    ...(JSON.parse(facts_json ?? '{}') as AlertFacts),
    channel: alert_channel_id,
  }));
}

const types = async (bench: Bench) => (await said(bench)).map(({ alertType }) => alertType);

async function decisions(bench: Bench, checkId: string, query = '') {
  return (await bench.get(`check-alerts/${checkId}/decisions?limit=100${query}`)) as {
    checkResultId: string;
    alertType: string;
    outcome: string;
    reason: string;
    explanation: string;
    [further: string]: unknown;
  }[];
}

const ownSettings = (fields: Record<string, unknown>) => ({
  useGlobalAlertSettings: false,
  alertSettings: fields,
});

test('a failed run is sent at once with all its facts, the pass after it as well', async () => {
  await using bench = await setUp();
  const id = await channel(bench);
  const check = await bench.check('url', { tags: ['shop'], description: 'front page' });
  await bench.submit(check, 'URL', now - 2 * minute, { responseTime: 77 });
  const response = { status: 500, statusText: 'Internal Server Error' };
  await bench.submit(check, 'URL', now - minute, { ...failed, response });
  await bench.submit(check, 'URL', now);
  const [failure, recovery, ...more] = await said(bench);
  assert.equal(more.length, 0);
  assert.equal(failure?.channel, id);
  assert.deepEqual(
    [failure.alertType, failure.since, failure.isReminder, failure.reminderSequence],
    ['ALERT_FAILURE', now - minute, false, 0],
  );
  assert.deepEqual(failure.check, {
    id: check,
    name: 'url',
    type: 'URL',
    description: 'front page',
    tags: ['shop'],
    groupName: null,
  });
  const { id: resultId, ...result } = failure.result ?? {};
  assert.deepEqual(result, {
    location: 'eu-west-1',
    startedAt: now - minute,
    responseTimeMs: 20,
    statusCode: '500',
    statusText: 'Internal Server Error',
    error: 'HTTP 500 Internal Server Error',
  });
  assert.deepEqual(
    failure.recentRuns.map((run) => [run.state, run.responseTimeMs]),
    [
      ['passing', 77],
      ['failing', 20],
    ],
  );
  assert.equal(recovery?.alertType, 'ALERT_RECOVERY');
  assert.equal(recovery.incidentKey, failure.incidentKey);

  const alerts = await bench.get(`check-alerts/${check}`);
  assert.deepEqual(
    alerts.map((alert: Record<string, unknown>) => [
      alert['alertType'],
      alert['error'],
      alert['statusCode'],
      alert['startedAt'],
    ]),
    [
      ['ALERT_RECOVERY', null, null, iso(now)],
      ['ALERT_FAILURE', 'HTTP 500 Internal Server Error', '500', iso(now - minute)],
    ],
  );
  const [, why] = await decisions(bench, check);
  assert.equal(why?.explanation, '1 of 1 failed run in a row.');
  assert.deepEqual(
    [why.outcome, why.reason, why.checkResultId, why['checkAlertId'], why['transition']],
    ['SENT', 'THRESHOLD_REACHED', resultId, alerts[1].id, { from: 'passing', to: 'failing' }],
  );
  assert.deepEqual(why['channels'], [
    {
      alertChannelId: id,
      type: 'WEBHOOK',
      sent: true,
      reason: 'WANTED',
      explanation: 'It is subscribed to failures.',
      group: null,
    },
  ]);
});

test('a check notifies when it fails and when it recovers, unless it is muted', async () => {
  await using bench = await setUp();
  const id = await channel(bench);
  for (const muted of [true, false]) {
    const check = await bench.check('url', { muted });
    await bench.submit(check, 'URL', now - minute, failed);
    await bench.submit(check, 'URL', now);
    const notifications = await bench.get('alert-notifications');
    const [recovery, failure, ...more] = notifications as Record<string, unknown>[];
    if (muted) {
      assert.equal(recovery, undefined);
      continue;
    }
    assert.equal(more.length, 0);
    for (const one of [failure, recovery]) {
      assert.deepEqual([one?.['checkId'], one?.['alertChannelId']], [check, id]);
    }
  }
});

test('an alert names a private location as people do', async () => {
  await using bench = await setUp();
  await channel(bench);
  const { status } = await bench.cp.api('POST', '/v1/private-locations', {
    name: 'Cellar in Ghent',
    slugName: 'cellar',
  });
  assert.equal(status, 201);
  const check = await bench.check('url', { locations: [], privateLocations: ['cellar'] });
  await bench.submit(check, 'URL', now, { ...failed, runLocation: 'cellar' });
  const [failure] = await said(bench);
  assert.deepEqual(
    [failure?.result?.location, failure?.result?.locationName],
    ['cellar', 'Cellar in Ghent'],
  );
  const { services } = bench.cp.controlPlane;
  const message = messageOf(failure as AlertFacts, 'id', services.publicUrl);
  const variables = alertVariables(failure as AlertFacts, message, services.publicUrl);
  assert.deepEqual([variables['RUN_LOCATION'], variables['REGION']], ['Cellar in Ghent', 'cellar']);
});

test('every run that did not alert says why, also one that nothing was decided about', async () => {
  await using bench = await setUp();
  await channel(bench);
  const check = await bench.check(
    'url',
    ownSettings({ runBasedEscalation: { failedRunThreshold: 3 } }),
  );
  await bench.submit(check, 'URL', now - 5 * minute);
  for (const back of [4, 3]) await bench.submit(check, 'URL', now - back * minute, failed);
  await bench.submit(check, 'URL', now - 2 * minute, { hasErrors: true, hasFailures: true });
  await bench.submit(check, 'URL', now - minute, failed);
  await bench.submit(check, 'URL', now, { ...failed, attempt: 1, resultType: 'ATTEMPT' });
  assert.deepEqual(
    (await decisions(bench, check)).map(({ reason, explanation }) => [reason, explanation]),
    [
      ['THRESHOLD_REACHED', '3 of 3 failed runs in a row.'],
      ['INCONCLUSIVE', 'The run could not be carried out, which says nothing about the target.'],
      ['THRESHOLD_NOT_REACHED', '2 of 3 failed runs in a row; the third will alert.'],
      ['THRESHOLD_NOT_REACHED', '1 of 3 failed runs in a row; the third will alert.'],
    ],
  );
  assert.deepEqual(await types(bench), ['ALERT_FAILURE_REMAIN']);
  const results = await bench.get(`check-results/${check}?resultType=ALL`);
  const about = (result: { id: string }) => decisions(bench, check, `&checkResultId=${result.id}`);
  const [attempt] = await about(results[0]);
  assert.deepEqual([attempt?.reason, attempt?.['id']], ['NOT_COUNTED', null]);
  const [pass] = await about(results[5]);
  assert.deepEqual(
    [pass?.alertType, pass?.reason, pass?.outcome],
    ['NO_ALERT', 'PASSING', 'NOT_SENT'],
  );
  const [third] = await about(results[1]);
  assert.deepEqual(third?.['counts'], { runsInARow: 3, minutes: 3, reminder: 0, locations: null });
  assert.deepEqual(await decisions(bench, check, '&checkResultId=unknown'), []);
  assert.deepEqual(await decisions(bench, check, '&from=1000&to=2000'), []);
  assert.deepEqual(await bench.refused(`check-alerts/${check}/decisions?from=0&to=9999999`), [
    'to',
  ]);
});

test('a passing run of a passing check leaves nothing behind', async () => {
  await using bench = await setUp();
  const check = await bench.check('url');
  await bench.submit(check, 'URL', now);
  const { db } = bench.cp.controlPlane.services;
  assert.deepEqual(await db.selectFrom('alert_states').selectAll().execute(), []);
  assert.deepEqual(await db.selectFrom('alert_decisions').selectAll().execute(), []);
});

test('channels of check and group are notified once each, by their preferences', async () => {
  await using bench = await setUp();
  const both = await channel(bench);
  const group = await bench.cp.api('POST', '/v2/check-groups', {
    name: 'shop',
    alertChannelSubscriptions: [{ alertChannelId: both, activated: true }],
  });
  const groupId = group.body.id as number;
  const degraded = await channel(bench, { sendFailure: false, sendDegraded: true });
  const off = await channel(bench);
  const check = await bench.check('url', {
    groupId,
    alertChannelSubscriptions: [
      { alertChannelId: both, activated: true },
      { alertChannelId: degraded, activated: true },
      { alertChannelId: off, activated: false },
    ],
  });
  await bench.submit(check, 'URL', now - 3 * minute, { isDegraded: true });
  await bench.submit(check, 'URL', now - 2 * minute, failed);
  await bench.submit(check, 'URL', now - minute);
  assert.deepEqual(
    (await said(bench)).map((facts) => [facts.channel, facts.alertType, facts.check.groupName]),
    [
      [degraded, 'ALERT_DEGRADED', 'shop'],
      [both, 'ALERT_DEGRADED_FAILURE', 'shop'],
      [both, 'ALERT_RECOVERY', 'shop'],
      [degraded, 'ALERT_RECOVERY', 'shop'],
    ],
  );
  const [, failure] = await decisions(bench, check);
  const reasons = (failure?.['channels'] as { reason: string }[]).map(({ reason }) => reason);
  assert.deepEqual(reasons, ['WANTED', 'FAILURES_OFF', 'SUBSCRIPTION_OFF']);
});

test('a group that is muted says nothing of its checks, an alert without a channel is one', async () => {
  await using bench = await setUp();
  const group = await bench.cp.api('POST', '/v2/check-groups', { name: 'g', muted: true });
  const path = `/v2/check-groups/${group.body.id}`;
  const check = await bench.check('url', { groupId: group.body.id });
  await bench.submit(check, 'URL', now - 3 * minute, failed);
  assert.deepEqual(await bench.get('check-alerts'), []);
  await bench.cp.api('PUT', path, { name: 'g', muted: false });
  await bench.submit(check, 'URL', now - 2 * minute, failed);
  assert.deepEqual(
    (await decisions(bench, check)).map(({ outcome, reason }) => [outcome, reason]),
    [
      ['NOT_SENT', 'NO_CHANNEL'],
      ['NOT_SENT', 'MUTED'],
    ],
  );
  assert.equal((await bench.get('check-alerts')).length, 1);
});

test('a backlog that arrives late neither alerts about what is over nor recovers what is not', async () => {
  await using bench = await setUp();
  await channel(bench);
  const check = await bench.check('url');
  await bench.submit(check, 'URL', now - minute);
  await bench.submit(check, 'URL', now - hour, failed);
  assert.deepEqual(await types(bench), []);
  await bench.submit(check, 'URL', now, failed);
  await bench.submit(check, 'URL', now - 30 * minute);
  assert.deepEqual(await types(bench), ['ALERT_FAILURE']);
  const reasons = (await decisions(bench, check)).map(({ reason }) => reason);
  assert.deepEqual(reasons, ['OUTDATED', 'THRESHOLD_REACHED', 'OUTDATED']);
});

test('a parallel check fails when enough of its locations do, and waits for those that can report', async () => {
  await using bench = await setUp();
  await channel(bench);
  const locations = ['eu-west-1', 'us-east-1', 'ap-east-1'];
  const { services } = bench.cp.controlPlane;
  for (const location of locations.slice(0, 2)) {
    await new FakeAgent(bench.cp, await bench.cp.locationKey(location)).checkIn();
  }
  const check = await bench.check('url', {
    locations,
    runParallel: true,
    ...ownSettings({ parallelRunFailureThreshold: { enabled: true, percentage: 80 } }),
  });
  const from = (runLocation: string, at: number, fields = {}) =>
    bench.submit(check, 'URL', at, { ...fields, runLocation });
  const why = async () => (await decisions(bench, check))[0]?.explanation;
  await from('eu-west-1', now - 3 * minute, failed);
  assert.equal(
    await why(),
    '1 of 1 location failed (the threshold is 80 %), 1 location yet to report.',
  );
  await from('us-east-1', now - 3 * minute);
  assert.deepEqual(await types(bench), []);
  await from('eu-west-1', now - 2 * minute, failed);
  await from('us-east-1', now - 2 * minute, failed);
  assert.deepEqual(await types(bench), ['ALERT_FAILURE']);
  assert.equal(
    await why(),
    '1 of 1 failed run in a row; 2 of 2 locations failed (the threshold is 80 %).',
  );
  // The third is served by nobody; what it says all the same is not waited for.
  await from('eu-west-1', now - minute);
  assert.deepEqual(await types(bench), ['ALERT_FAILURE']);
  bench.clock.advance(20 * minute);
  await evaluateDueAlerts(services);
  assert.deepEqual(await types(bench), ['ALERT_FAILURE', 'ALERT_RECOVERY']);
  await from('us-east-1', now - minute, failed);
  assert.equal((await said(bench)).length, 2);
});

test('a heartbeat alerts when its ping is overdue, whatever the threshold, and recovers with the next', async () => {
  await using bench = await setUp();
  await channel(bench);
  const { body } = await bench.cp.api('POST', '/v1/checks/heartbeat', {
    name: 'backup',
    heartbeat: { period: 10, periodUnit: 'minutes', grace: 2, graceUnit: 'minutes' },
    ...ownSettings({
      runBasedEscalation: { failedRunThreshold: 3 },
      reminders: { amount: 1, interval: 5 },
    }),
  });
  const { services } = bench.cp.controlPlane;
  await fetch(body.heartbeat.pingUrl as string);
  bench.clock.advance(12 * minute);
  await sweepHeartbeats(services);
  bench.clock.advance(5 * minute);
  await evaluateDueAlerts(services);
  bench.clock.advance(23 * minute);
  await evaluateDueAlerts(services);
  await fetch(body.heartbeat.pingUrl as string);
  assert.deepEqual(
    (await said(bench)).map((facts) => [facts.alertType, facts.reminderSequence]),
    [
      ['ALERT_FAILURE', 0],
      ['ALERT_FAILURE_REMAIN', 1],
      ['ALERT_RECOVERY', 0],
    ],
  );
  assert.equal((await said(bench))[0]?.result?.error, 'no ping by the end of the grace period');
});

test('a check that is switched off is forgotten: no reminder, no word that it passes', async () => {
  await using bench = await setUp();
  await channel(bench);
  const reminded = ownSettings({ reminders: { amount: 5, interval: 1 } });
  const check = await bench.check('url', reminded);
  await bench.submit(check, 'URL', now - minute, failed);
  await bench.cp.api('PUT', `/v1/checks/url/${check}`, { activated: false });
  bench.clock.advance(10 * minute);
  await evaluateDueAlerts(bench.cp.controlPlane.services);
  await bench.submit(check, 'URL', now, failed);
  await bench.cp.api('PUT', `/v1/checks/url/${check}`, { activated: true });
  await bench.submit(check, 'URL', now + minute);
  assert.deepEqual(
    (await said(bench)).map(({ alertType, withdrawn }) => [alertType, withdrawn]),
    [
      ['ALERT_FAILURE', null],
      ['ALERT_RECOVERY', 'deactivated'],
    ],
  );
  assert.equal((await decisions(bench, check))[0]?.reason, 'DEACTIVATED');
});

test('a run that was begun and never ended alerts by its last attempt', async () => {
  await using bench = await setUp();
  await channel(bench);
  const check = await bench.check('url');
  const apiCheckResult = {
    assertions: [],
    request: {},
    response: null,
    requestError: 'connect ECONNREFUSED',
    jobLog: { setup: [], request: [], teardown: [] },
    jobAssets: null,
    pcapDataUrl: null,
  };
  const attempt = { hasFailures: true, resultType: 'ATTEMPT' as const, attempt: 1, apiCheckResult };
  await bench.submit(check, 'URL', now, attempt as never);
  bench.clock.advance(30 * minute);
  await expireJobs(bench.cp.controlPlane.services);
  const [failure] = await said(bench);
  assert.deepEqual(
    [failure?.alertType, failure?.result?.error, failure?.result?.startedAt],
    ['ALERT_FAILURE', 'connect ECONNREFUSED', now],
  );
});

test('a certificate is sent to each channel by its own threshold, and not logged', async () => {
  await using bench = await setUp();
  const early = await channel(bench, { sslExpiry: true, sslExpiryThreshold: 30 });
  const late = await channel(bench, { sslExpiry: true, sslExpiryThreshold: 7 });
  await channel(bench);
  const check = await bench.check('url');
  const { services } = bench.cp.controlPlane;
  const see = (daysRemaining: number, expiresAt: number) =>
    services.db.transaction().execute((db) =>
      alertOnCertificate(services, db, {
        accountId: bench.cp.accountId,
        checkId: check,
        domain: 'a.example',
        daysRemaining,
        expiresAt,
      }),
    );
  const day = 24 * hour;
  const expiresAt = now + 40 * day;
  assert.equal(await see(40, expiresAt), false);
  assert.equal(await see(29, expiresAt), true);
  assert.equal(await see(28, expiresAt), false);
  await bench.cp.api('PUT', `/v1/checks/url/${check}`, { muted: true });
  assert.equal(await see(6, expiresAt), false);
  await bench.cp.api('PUT', `/v1/checks/url/${check}`, { muted: false });
  assert.equal(await see(6, expiresAt), true);
  bench.clock.setWall(expiresAt + 1);
  // Days have passed without a pause of the process: an agent confirms it.
  const here = { accountId: bench.cp.accountId, location: 'here' };
  for (let round = 0; round < 2 || !services.reception.isClockTrusted(); round += 1) {
    assert.ok(round < 6, 'the clock is not trusted again');
    bench.clock.advance(2 * minute);
    await services.reception.recorded();
    services.reception.hearClock(here, 0);
  }
  assert.equal(await see(0, expiresAt), true);
  assert.equal(await see(-1, expiresAt), false);
  assert.deepEqual(await said(bench), []);
  const told = (await decisions(bench, check, `&from=${now / 1000}&to=${now / 1000 + 1}`)).map(
    ({ reason, explanation, channels }) => [
      reason,
      explanation,
      (channels as { alertChannelId: number; sent: boolean }[])
        .filter(({ sent }) => sent)
        .map(({ alertChannelId }) => alertChannelId),
    ],
  );
  assert.deepEqual(told, [
    ['CERTIFICATE_EXPIRING', 'The certificate of a.example expires in 6 days.', [late]],
    [
      'MUTED',
      'The certificate of a.example expires in 6 days. No alert was raised, because the check or its group is muted.',
      [],
    ],
    ['CERTIFICATE_EXPIRING', 'The certificate of a.example expires in 29 days.', [early]],
  ]);
  const [expired] = await decisions(bench, check);
  assert.equal(expired?.reason, 'CERTIFICATE_EXPIRED');
  assert.equal((expired['channels'] as { sent: boolean }[]).filter(({ sent }) => sent).length, 2);
});
