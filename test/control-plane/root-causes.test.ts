/** The cause of what fails, from stored results to the alert, its group, its mail and the API. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { AlertFacts } from '../../control-plane/notifications/facts.ts';
import { messageOf } from '../../control-plane/notifications/message.ts';
import { textOf } from '../../control-plane/notifications/channels/email-body.ts';
import { slackBody } from '../../control-plane/notifications/channels/slack.ts';
import { alertVariables } from '../../control-plane/notifications/templates/alert-variables.ts';
import { sendAlertGroups } from '../../control-plane/alerting/send-alert-groups.ts';
import { createApiKey } from '../../control-plane/accounts/keys/store.ts';
import { createAccount } from '../support/world.ts';
import { minute, now, setUp, type Bench } from '../support/results.ts';

const log = { setup: [], request: [], teardown: [] };

const exchange = (further: Record<string, unknown>) => ({
  ...{ assertions: [], request: {}, response: null, requestError: null, jobLog: log },
  ...{ jobAssets: null, pcapDataUrl: null, networkDiagnostics: null },
  ...further,
});

const refused = (hostname: string, port: number) => ({
  hasFailures: true,
  errorMessages: [`the connection was refused: ${hostname}:${port} (ECONNREFUSED)`],
  apiCheckResult: exchange({
    request: { hostname, port },
    requestError: `the connection was refused: ${hostname}:${port} (ECONNREFUSED)`,
  }),
});
const connected = (hostname: string, port: number) => ({
  apiCheckResult: exchange({
    request: { hostname, port },
    response: { remoteAddress: '10.0.0.7', timingPhases: { dns: 1, connection: 2, total: 3 } },
  }),
});

const locations = ['eu-west-1', 'us-east-1'];

/** Two checks of two hosts; the first is refused in the minute before now, from both locations. */
async function outage(bench: Bench) {
  const fields = { locations, runParallel: true };
  const db = await bench.check('tcp', {
    ...{ ...fields, name: 'db', request: { hostname: 'db.shop.example', port: 5432 } },
  });
  const web = await bench.check('tcp', {
    ...{ ...fields, name: 'web', request: { hostname: 'web.other.example', port: 443 } },
  });
  for (const runLocation of locations) {
    await bench.submit(db, 'TCP', now - 2 * minute, {
      ...{ runLocation, ...connected('db.shop.example', 5432) },
    });
  }
  for (const runLocation of locations) {
    await bench.submit(web, 'TCP', now - minute, {
      ...{ runLocation, ...connected('web.other.example', 443) },
    });
    await bench.submit(db, 'TCP', now - minute, {
      ...{ runLocation, ...refused('db.shop.example', 5432) },
    });
  }
  return { db, web };
}

const sentence = /^nothing listens at db\.shop\.example:5432, since 11:59 UTC$/;

async function alertOf(bench: Bench): Promise<AlertFacts> {
  const rows = await bench.cp.controlPlane.services.db
    .selectFrom('alert_notifications')
    .select('facts_json')
    .orderBy('seq')
    .execute();
  return JSON.parse(rows.at(-1)?.facts_json ?? '{}') as AlertFacts;
}

const hook = { type: 'WEBHOOK', config: { name: 'hook', url: 'https://hooks.example/alerts' } };

test('an alert names its cause, in the message, the template variables and the error group', async () => {
  await using bench = await setUp();
  await bench.cp.api('POST', '/v1/alert-channels', hook);
  const { db, web } = await outage(bench);
  const facts = await alertOf(bench);
  assert.match(facts.rootCause?.rootCause ?? '', sentence);
  assert.deepEqual(
    [facts.rootCause?.classification, facts.rootCause?.side, facts.rootCause?.place],
    ['process-down', 'target', 'db.shop.example:5432'],
  );
  assert.deepEqual(
    facts.rootCause?.checks.map(({ id }) => id),
    [db],
  );
  const message = messageOf(facts, 'id', 'https://monitor.example');
  const mail = textOf(message);
  assert.match(
    mail,
    /^Root cause: +nothing listens at db\.shop\.example:5432, since 11:59 UTC \(/m,
  );
  assert.match(mail, /^Evidence: +\S+: the connection was refused/m);
  assert.match(mail, /^Rules out: +the host and the network: a refusal came back/m);
  assert.match(JSON.stringify(slackBody(message, null)), /\*Root cause\*\\nnothing listens/);
  const variables = alertVariables(facts, message, 'https://monitor.example');
  assert.match(String(variables['AI_ANALYSIS_ROOT_CAUSE']), sentence);
  assert.equal(variables['AI_ANALYSIS_CLASSIFICATION'], 'process-down');

  const [group] = await bench.get(`error-groups/checks/${db}`);
  const [stored] = group.rootCauseAnalyses;
  assert.match(stored.analysis.rootCause, sentence);
  assert.deepEqual([stored.provider, stored.status], ['rules', 'COMPLETED']);
  assert.deepEqual(await bench.get(`root-cause-analyses/${stored.id}`), stored);

  const asked = await bench.cp.api('POST', `/v1/root-cause-analyses/error-groups/${group.id}`, {
    userContext: 'after the move',
  });
  assert.equal(asked.status, 202);
  const read = await bench.get(`root-cause-analyses/${asked.body.id}`);
  assert.deepEqual([read.userContext, read.analysis.confidence], ['after the move', 'certain']);

  const results = await bench.get(`check-results/${db}?hasFailures=true&limit=1`);
  const causes = await bench.get(`root-cause-analyses/results/${db}/${results[0].id}`);
  assert.match(causes[0].rootCause, sentence);
  const passed = await bench.get(`check-results/${web}?limit=1`);
  assert.deepEqual(await bench.get(`root-cause-analyses/results/${web}/${passed[0].id}`), []);

  const [overview] = await bench.get('alert-overview');
  const detail = await bench.get(`alert-overview/${overview.id}`);
  assert.match(detail.rootCauses[0].rootCause, sentence);
});

test('another account reads none of it, and an error group shows the newest five and keeps twenty', async () => {
  await using bench = await setUp();
  await bench.cp.api('POST', '/v1/alert-channels', hook);
  const { db } = await outage(bench);
  const [group] = await bench.get(`error-groups/checks/${db}`);
  const path = `/v1/root-cause-analyses/error-groups/${group.id}`;
  for (const _each of Array.from({ length: 21 })) {
    bench.clock.advance(1_000);
    assert.equal((await bench.cp.api('POST', path, {})).status, 202);
  }
  const [after] = await bench.get(`error-groups/checks/${db}`);
  assert.equal(after.rootCauseAnalyses.length, 5);
  const { count } = await bench.cp.controlPlane.services.db
    .selectFrom('root_cause_analyses')
    .select((of) => of.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  assert.equal(Number(count), 20);
  const times = after.rootCauseAnalyses.map((each: { created_at: string }) => each.created_at);
  assert.deepEqual(times, times.toSorted().reverse());
  const { services } = bench.cp.controlPlane;
  const other = await createAccount(services, 'other');
  const { rawKey } = await createApiKey(services, other, { name: 'other', role: 'OWNER' });
  const authorization = { authorization: `Bearer ${rawKey}` };
  const [one] = after.rootCauseAnalyses;
  const results = await bench.get(`check-results/${db}?hasFailures=true&limit=1`);
  for (const [method, url] of [
    ['GET', `/v1/root-cause-analyses/${one.id}`],
    ['POST', path],
    ['GET', `/v1/root-cause-analyses/results/${db}/${results[0].id}`],
  ] as const) {
    assert.equal((await bench.cp.api(method, url, undefined, authorization)).status, 404, url);
  }
});

test('a group of alerts names the cause that its checks share', async () => {
  await using bench = await setUp();
  await bench.cp.api('POST', '/v1/alert-channels', {
    ...hook,
    grouping: { windowSeconds: 30, updateMinutes: 10, maxPerHour: 10 },
  });
  const checks = [];
  for (const port of [5432, 5433]) {
    const id = await bench.check('tcp', {
      name: `db ${port}`,
      ...{ locations, request: { hostname: 'db.shop.example', port } },
    });
    checks.push(id);
    await bench.submit(id, 'TCP', now - minute, refused('db.shop.example', port));
  }
  bench.clock.advance(31_000);
  await sendAlertGroups(bench.cp.controlPlane.services);
  const row = await bench.cp.controlPlane.services.db
    .selectFrom('outbox')
    .select('content_json')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow();
  const { rootCauses, kind } = JSON.parse(row.content_json);
  assert.equal(kind, 'group');
  assert.deepEqual(
    rootCauses.map((cause: { classification: string }) => cause.classification),
    ['process-down', 'process-down'],
  );
  assert.deepEqual(rootCauses.map((cause: { place: string }) => cause.place).sort(), [
    'db.shop.example:5432',
    'db.shop.example:5433',
  ]);
});

test('details that are not what agents write lose neither the result nor the alert', async () => {
  await using bench = await setUp();
  await bench.cp.api('POST', '/v1/alert-channels', hook);
  const check = await bench.check('tcp');
  await bench.submit(check, 'TCP', now - minute, {
    hasFailures: true,
    errorMessages: ['odd'],
    apiCheckResult: exchange({
      request: { hostname: ['a'], port: {}, url: { x: 1 } },
      response: { hops: [null, 7], certificate: 'no', timingPhases: [1], packetLoss: 'all' },
      requestError: '(((',
    }),
  });
  const facts = await alertOf(bench);
  assert.equal(facts.alertType, 'ALERT_FAILURE');
  assert.equal(facts.rootCause?.classification, 'not-enough-to-tell');
  assert.ok(facts.rootCause.wouldTell.length > 0);
});
