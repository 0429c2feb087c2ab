// PostgreSQL in the long tier: test-sessions.test.ts and held-deletions.test.ts run its statements on both.
/** Trials: a check runs as it was typed, before it is saved, and leaves nothing behind. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forgetTrials } from '../../control-plane/sessions/check-trials/forget-trials.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { FakeAgent, resultOfJob } from '../support/fake-agent.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const location = 'eu-west-1';

async function setUp() {
  const clock = new TestClock(start);
  const cp = await startTestControlPlane({ clock });
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  await agent.checkIn(['URL', 'API']);
  return { clock, cp, agent };
}

const typed = {
  checkType: 'API',
  name: 'Orders',
  request: {
    method: 'GET',
    url: 'https://a.example/',
    headers: [{ key: 'authorization', value: 'Bearer 7', locked: true }],
  },
};

async function begin(cp: TestControlPlane, body: unknown = typed, query = '') {
  const answer = await cp.api('POST', `/v1/check-trials?location=${location}${query}`, body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body as { id: string; checkSessionId: string };
}

test('a trial runs what was typed, once, and its result can be read', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const { id, checkSessionId } = await begin(cp);
  const [job, ...more] = (await agent.checkIn(['URL', 'API'])).jobs;
  assert.ok(job !== undefined);
  assert.equal(more.length, 0);
  assert.equal(job.check.id, id);
  assert.deepEqual(job.check.definition['request'], {
    ...{ followRedirects: true, skipSSL: false, ipFamily: 'IPv4', body: '', bodyType: 'NONE' },
    ...{ queryParameters: [], assertions: [], basicAuth: null },
    ...typed.request,
  });
  await agent.submit(resultOfJob(job, { hasFailures: true, errorMessages: ['HTTP 500'] }));
  const session = await cp.api('GET', `/v2/check-sessions/${checkSessionId}`);
  assert.deepEqual([session.body.status, session.body.runSource], ['FAILED', 'EDITOR']);
  const [result] = session.body.results;
  const read = await cp.api('GET', `/v1/check-results/${id}/${result.checkResultId}`);
  assert.equal(read.body.hasFailures, true);
});

test('a trial is in no list, alerts nobody, and goes when it is ended or an hour old', async () => {
  const { cp, agent, clock } = await setUp();
  await using _cp = cp;
  await cp.api('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: 'hook', url: 'https://hooks.example/alerts' },
    autoSubscribe: true,
  });
  const { body: group } = await cp.api('POST', '/v2/check-groups', { name: 'Shops' });
  const first = await begin(cp, { ...typed, groupId: group.id, tags: ['a'] });
  const second = await begin(cp);
  for (const job of (await agent.checkIn(['URL', 'API'])).jobs) {
    await agent.submit(resultOfJob(job, { hasFailures: true, errorMessages: ['HTTP 500'] }));
  }
  for (const path of [
    '/v1/checks',
    '/v1/check-overview',
    '/v1/check-statuses',
    '/v1/reporting',
    `/v1/check-groups/${group.id}/checks`,
    '/v1/check-alerts',
    '/v1/alert-notifications',
  ]) {
    assert.deepEqual((await cp.api('GET', path)).body, [], path);
  }
  const { status } = await cp.api('POST', '/v2/check-sessions/trigger', { target: {} });
  assert.equal(status, 404);
  assert.equal((await cp.api('DELETE', `/v1/check-trials/${first.id}`)).status, 204);
  assert.equal((await cp.api('DELETE', `/v1/check-trials/${first.id}`)).status, 404);
  assert.equal((await cp.api('GET', `/v1/checks/${second.id}`)).status, 200);
  clock.advance(3_600_001);
  await forgetTrials(cp.controlPlane.services);
  assert.equal((await cp.api('GET', `/v1/checks/${second.id}`)).status, 404);
});

test('a trial keeps neither its location nor its group from being deleted', async () => {
  await using cp = await startTestControlPlane();
  const place = await cp.api('POST', '/v1/private-locations', { name: 'Here', slugName: 'here' });
  const group = await cp.api('POST', '/v2/check-groups', { name: 'Shop' });
  const agent = new FakeAgent(cp, place.body.keys[0].rawKey);
  await agent.checkIn(['URL', 'API']);
  const body = { ...typed, groupId: group.body.id, privateLocations: ['here'] };
  const trial = await cp.api('POST', '/v1/check-trials?location=here', body);
  assert.equal(trial.status, 201, JSON.stringify(trial.body));
  assert.equal((await cp.api('DELETE', `/v1/check-groups/${group.body.id}`)).status, 204);
  assert.equal((await cp.api('DELETE', `/v1/private-locations/${place.body.id}`)).status, 204);
});

test('a trial of a change has the hidden values of its check; those of another account are unknown', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const secret = { key: 'TOKEN', value: 's3cr3t-of-the-shop', secret: true, locked: false };
  const { body: check } = await cp.api('POST', '/v1/checks/api', {
    ...{ name: 'Orders', request: typed.request, environmentVariables: [secret] },
  });
  const changed = { ...typed, environmentVariables: [{ ...secret, value: null }] };
  await begin(cp, changed, `&checkId=${check.id}`);
  const [job] = (await agent.checkIn(['URL', 'API'])).jobs;
  assert.equal(
    job?.check.environment.find(({ key }) => key === 'TOKEN')?.value,
    's3cr3t-of-the-shop',
  );
  const trials = await cp.controlPlane.services.db
    .selectFrom('checks')
    .select('id')
    .where('is_trial', '=', 1)
    .execute();
  const enlivened = await cp.api('PUT', `/v1/checks/${trials[0]?.id}`, { activated: true });
  assert.equal(enlivened.status, 404);
  const path = `/v1/check-trials?location=${location}&checkId=${check.id}`;
  const foreign = await cp.api('POST', path, changed, {
    authorization: `Bearer ${await cp.foreignKey()}`,
  });
  assert.equal(foreign.status, 404);
  assert.equal((await cp.api('DELETE', `/v1/check-trials/${check.id}`)).status, 404);
});

test('a trial names the field that is wrong, and what cannot be tried', async () => {
  const { cp } = await setUp();
  await using _cp = cp;
  const path = `/v1/check-trials?location=${location}`;
  const wrong = await cp.api('POST', path, { ...typed, request: { method: 'GET', url: 'x' } });
  assert.deepEqual([wrong.status, wrong.body.attributes.keys], [400, ['request.url']]);
  const pinged = await cp.api('POST', path, {
    ...{ checkType: 'HEARTBEAT', name: 'backup' },
    heartbeat: { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours' },
  });
  assert.deepEqual([pinged.status, pinged.body.attributes.keys], [400, ['checkType']]);
  const unknown = await cp.api('POST', '/v1/check-trials?location=nowhere', typed);
  assert.equal(unknown.status, 400);
  assert.match(unknown.body.message, /nowhere/);
});
