import assert from 'node:assert/strict';
import test from 'node:test';
import type { AlertFacts } from '../../control-plane/notifications/facts.ts';
import { messageOf, sentenceOf } from '../../control-plane/notifications/message.ts';
import { opsgenieRequest } from '../../control-plane/notifications/channels/opsgenie.ts';
import { pagerDutyEvent } from '../../control-plane/notifications/channels/pagerduty.ts';
import { alertOnCertificate } from '../../control-plane/alerting/alert-on-certificate.ts';
import { hour, minute, now, setUp, type Bench } from '../support/results.ts';

const failed = { hasFailures: true, errorMessages: ['HTTP 500'] };
const day = 24 * hour;

/** Nobody listens there: what is said is looked at in the outbox. */
const settings = {
  PAGERDUTY_EVENTS_URL: 'http://127.0.0.1:9/',
  OPSGENIE_API_URL: 'http://127.0.0.1:9/',
};

const configs = {
  EMAIL: { address: 'ops@example.com' },
  PAGERDUTY: { serviceKey: 'a'.repeat(32), serviceName: 'shop' },
  OPSGENIE: { name: 'shop', apiKey: 'k', region: 'EU', priority: 'P1' },
} as const;

async function channel(
  bench: Bench,
  type: keyof typeof configs,
  fields: Record<string, unknown> = {},
): Promise<number> {
  const { status, body } = await bench.cp.api('POST', '/v1/alert-channels', {
    type,
    config: configs[type],
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as number;
}

/** Everything that is put into the outbox, oldest first: nobody empties it. */
function watchOutbox(bench: Bench): () => Promise<(AlertFacts & { to: number | null })[]> {
  const { db, outbox } = bench.cp.controlPlane.services;
  outbox.onWake(() => {});
  return async () => {
    const rows = await db.selectFrom('outbox').selectAll().orderBy('seq').execute();
    return rows.map((row) => ({
      ...(JSON.parse(row.content_json) as AlertFacts),
      to: row.alert_channel_id,
    }));
  };
}

async function put(bench: Bench, path: string, fields: Record<string, unknown>): Promise<void> {
  const { status, body } = await bench.cp.api('PUT', path, fields);
  assert.equal(status, 200, JSON.stringify(body));
}

const closings = (rows: (AlertFacts & { to: number | null })[]) =>
  rows.filter(({ withdrawn }) => (withdrawn ?? null) !== null);

test('channels that were notified of a failure get one message that the check was deactivated', async () => {
  await using bench = await setUp({ settings });
  const said = watchOutbox(bench);
  const page = await channel(bench, 'PAGERDUTY');
  const mail = await channel(bench, 'EMAIL');
  await channel(bench, 'EMAIL', { sendRecovery: false });
  await channel(bench, 'EMAIL', { sendFailure: false });
  const recoveriesOnly = { sendFailure: false, sendDegraded: false };
  await channel(bench, 'OPSGENIE', recoveriesOnly);
  const check = await bench.check('url');
  await bench.submit(check, 'URL', now - minute, failed);
  const path = `/v1/checks/url/${check}`;
  await put(bench, path, { activated: false });
  await put(bench, path, { activated: false, name: 'again' });

  const rows = await said();
  const [failure] = rows;
  const closed = closings(rows);
  assert.deepEqual(
    closed.map((facts) => [facts.to, facts.alertType, facts.withdrawn, facts.incidentKey]),
    [page, mail].map((id) => [id, 'ALERT_RECOVERY', 'deactivated', failure?.incidentKey]),
  );
  const message = messageOf(closed[0] as AlertFacts, 'id', 'https://m.example');
  assert.equal(
    sentenceOf(message),
    'Check "url" was deactivated and is no longer watched: its alert is closed without a recovery',
  );
  assert.equal(message.link.url.includes(check), true);
  const [why] = await bench.get(`check-alerts/${check}/decisions`);
  assert.deepEqual([why.cause, why.reason, why.outcome], ['WITHDRAWAL', 'DEACTIVATED', 'SENT']);

  await put(bench, path, { activated: true });
  await bench.submit(check, 'URL', now, failed);
  const anew = (await said()).slice(rows.length);
  assert.deepEqual(
    anew.map(({ alertType }) => alertType),
    Array(anew.length).fill('ALERT_FAILURE'),
  );
  assert.notEqual(anew.length, 0);
  assert.notEqual(anew[0]?.incidentKey, failure?.incidentKey);
});

test('channels that were not notified, or of a muted check, get nothing', async () => {
  await using bench = await setUp({ settings });
  const said = watchOutbox(bench);
  await channel(bench, 'PAGERDUTY');
  const healthy = await bench.check('url');
  await bench.submit(healthy, 'URL', now - minute);
  const waiting = await bench.check('url', {
    useGlobalAlertSettings: false,
    alertSettings: { runBasedEscalation: { failedRunThreshold: 2 } },
  });
  await bench.submit(waiting, 'URL', now - minute, failed);
  const recovered = await bench.check('url');
  await bench.submit(recovered, 'URL', now - 2 * minute, failed);
  await bench.submit(recovered, 'URL', now - minute);
  const muted = await bench.check('url');
  await bench.submit(muted, 'URL', now - minute, failed);
  await put(bench, `/v1/checks/url/${muted}`, { muted: true });
  for (const id of [healthy, waiting, recovered, muted]) {
    await put(bench, `/v1/checks/url/${id}`, { activated: false });
  }
  assert.deepEqual(closings(await said()), []);
  const [why] = await bench.get(`check-alerts/${muted}/decisions`);
  assert.deepEqual([why.cause, why.reason, why.outcome], ['WITHDRAWAL', 'MUTED', 'NOT_SENT']);
});

test('what was said of a check that is deleted is closed after it is gone', async () => {
  await using bench = await setUp({ settings });
  const said = watchOutbox(bench);
  const page = await channel(bench, 'PAGERDUTY');
  const check = await bench.check('url');
  await bench.submit(check, 'URL', now, failed);
  assert.equal((await bench.cp.api('DELETE', `/v1/checks/${check}`)).status, 204);
  const rows = await said();
  const closed = closings(rows);
  assert.deepEqual(
    closed.map((facts) => [facts.to, facts.withdrawn, facts.incidentKey]),
    [[page, 'deleted', rows[0]?.incidentKey]],
  );
  const message = messageOf(closed[0] as AlertFacts, 'id', 'https://m.example');
  assert.deepEqual(message.link, { url: 'https://m.example', text: 'Open the monitor' });
  const event = pagerDutyEvent(message, 'key', 'https://m.example') as Record<string, unknown>;
  assert.deepEqual([event['event_action'], event['dedup_key']], ['resolve', rows[0]?.incidentKey]);
  const { url } = opsgenieRequest(
    { facts: closed[0] as AlertFacts, message },
    configs.OPSGENIE,
    null,
  );
  assert.match(url.pathname, /\/close$/);
  const log = (await bench.get('alert-notifications')) as { checkId: string }[];
  assert.deepEqual(
    log.map(({ checkId }) => checkId),
    [check, check],
  );
});

test('a group that is deactivated closes the alerts of those of its checks that have one', async () => {
  await using bench = await setUp({ settings });
  const said = watchOutbox(bench);
  const page = await channel(bench, 'PAGERDUTY');
  const group = await bench.cp.api('POST', '/v2/check-groups', { name: 'shop' });
  const groupId = group.body.id as number;
  const failing = await bench.check('url', { groupId });
  const passing = await bench.check('url', { groupId });
  await bench.submit(failing, 'URL', now - minute, failed);
  await bench.submit(passing, 'URL', now - minute);
  await put(bench, `/v2/check-groups/${groupId}`, { name: 'shop', activated: false });
  assert.deepEqual(
    closings(await said()).map((facts) => [facts.to, facts.check.id, facts.withdrawn]),
    [[page, failing, 'deactivated']],
  );
});

test('a renewed certificate is closed in paging systems alone, and so is that of a check that ends', async () => {
  await using bench = await setUp({ settings });
  const said = watchOutbox(bench);
  const ssl = { sslExpiry: true, sslExpiryThreshold: 30 };
  const page = await channel(bench, 'PAGERDUTY', ssl);
  const genie = await channel(bench, 'OPSGENIE', ssl);
  await channel(bench, 'EMAIL', ssl);
  const check = await bench.check('url');
  const { services } = bench.cp.controlPlane;
  const see = (daysRemaining: number) =>
    services.db.transaction().execute((db) =>
      alertOnCertificate(services, db, {
        accountId: bench.cp.accountId,
        checkId: check,
        domain: 'a.example',
        daysRemaining,
        expiresAt: now + daysRemaining * day,
      }),
    );
  assert.equal(await see(20), true);
  const [told, ...others] = await said();
  assert.equal(others.length, 2);
  await put(bench, `/v1/checks/url/${check}`, { muted: true });
  assert.equal(await see(90), false);
  await put(bench, `/v1/checks/url/${check}`, { muted: false });
  assert.equal(await see(90), true);
  assert.equal(await see(90), false);
  const renewed = closings(await said());
  assert.deepEqual(
    renewed.map((facts) => [facts.to, facts.withdrawn, facts.incidentKey]),
    [page, genie].map((id) => [id, 'renewed', told?.incidentKey]),
  );
  const message = messageOf(renewed[0] as AlertFacts, 'id', 'https://m.example');
  assert.deepEqual(
    [message.tone, message.title],
    ['recovered', 'The certificate of a.example is now good for 90 days'],
  );

  assert.equal(await see(10), true);
  const opened = (await said()).at(-1);
  await put(bench, `/v1/checks/url/${check}`, { activated: false });
  const ended = closings(await said()).slice(renewed.length);
  assert.deepEqual(
    ended.map((facts) => [facts.to, facts.withdrawn, facts.incidentKey]),
    [page, genie].map((id) => [id, 'deactivated', opened?.incidentKey]),
  );
  assert.deepEqual(
    ended.map((facts) => messageOf(facts, 'id', 'https://m.example').tone),
    ['withdrawn', 'withdrawn'],
  );
});
