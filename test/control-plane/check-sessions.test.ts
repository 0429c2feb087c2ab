import assert from 'node:assert/strict';
import test from 'node:test';
import { callGroupTrigger, findTrigger } from '../../control-plane/sessions/call-trigger.ts';
import { dropCancelledJobs } from '../../control-plane/sessions/check-sessions.ts';
import { expireJobs } from '../../control-plane/results/expire-jobs.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { FakeAgent, resultOfJob } from '../support/fake-agent.ts';
import { TestClock } from '../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const location = 'eu-west-1';

async function setUp() {
  const clock = new TestClock(start);
  const cp = await startTestControlPlane({ clock });
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  await agent.checkIn();
  return { clock, cp, agent };
}

async function makeCheck(cp: TestControlPlane, fields: Record<string, unknown> = {}) {
  const { status, body } = await cp.api('POST', '/v1/checks/url', {
    name: 'shop',
    activated: false,
    locations: [location],
    request: { url: 'https://a.example' },
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as string;
}

/** Activated without its first run, so that the only jobs are those of the test. */
async function makeQuietCheck(
  cp: TestControlPlane,
  agent: FakeAgent,
  fields: Record<string, unknown> = {},
) {
  const id = await makeCheck(cp, { activated: true, ...fields });
  for (const job of (await agent.checkIn()).jobs) await agent.submit(resultOfJob(job));
  return id;
}

async function trigger(cp: TestControlPlane, target?: unknown) {
  const { status, body } = await cp.api('POST', '/v2/check-sessions/trigger', { target });
  assert.equal(status, 201, JSON.stringify(body));
  return body.sessions as { checkSessionId: string; checkId: string; status: string }[];
}

test('a session runs a check once and ends with its result', async () => {
  const { cp, agent, clock } = await setUp();
  await using _cp = cp;
  const checkId = await makeQuietCheck(cp, agent);
  const [session] = await trigger(cp, { checkId: [checkId] });
  assert.ok(session !== undefined);
  assert.equal(session.status, 'STARTED');
  const waiting = cp.api('GET', `/v2/check-sessions/${session.checkSessionId}/completion`);
  const [job] = (await agent.checkIn()).jobs;
  assert.ok(job !== undefined);
  assert.equal(job.source, 'TRIGGER_API');
  clock.advance(2_000);
  await agent.submit(resultOfJob(job, { startedAt: start, stoppedAt: start + 1_500 }));
  const { status, body } = await waiting;
  assert.equal(status, 200);
  assert.deepEqual(
    [body.status, body.timeElapsed, body.runLocations, body.runSource],
    ['PASSED', 1_500, [location], 'TRIGGER_API'],
  );
  assert.equal(body.results[0].resultType, 'FINAL');
  const result = await cp.api(
    'GET',
    `/v1/check-results/${checkId}/${body.results[0].checkResultId}`,
  );
  assert.equal(result.status, 200);
  const { publicUrl } = cp.controlPlane.services;
  const shown = `${publicUrl}/console/#/checks/${checkId}`;
  assert.equal(body.checkSessionLink, shown);
  assert.equal(body.results[0].checkResultLink, `${shown}/results/${result.body.id}`);
  const v1 = await cp.api('GET', `/v1/check-sessions/${session.checkSessionId}`);
  assert.deepEqual(v1.body, body);
});

test('progress, failure and degradation show while runs are still open', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const other = new FakeAgent(cp, await cp.locationKey('us-east-1'));
  await other.checkIn();
  const checkId = await makeCheck(cp, {
    activated: true,
    runParallel: true,
    locations: [location, 'us-east-1'],
  });
  for (const one of [agent, other]) {
    for (const job of (await one.checkIn()).jobs) await one.submit(resultOfJob(job));
  }
  for (const [fields, open, closed] of [
    [{}, 'PROGRESS', 'PASSED'],
    [{ isDegraded: true }, 'PROGRESS_DEGRADED', 'DEGRADED'],
    [{ hasFailures: true }, 'PROGRESS_FAILED', 'FAILED'],
    [{ hasErrors: true }, 'PROGRESS_FAILED', 'FAILED'],
  ] as const) {
    const [session] = await trigger(cp, { checkId: [checkId] });
    const read = async () =>
      (await cp.api('GET', `/v2/check-sessions/${session?.checkSessionId}`)).body.status;
    const [first] = (await agent.checkIn()).jobs;
    const [second] = (await other.checkIn()).jobs;
    assert.ok(first !== undefined && second !== undefined);
    await agent.submit(resultOfJob(first, fields));
    assert.equal(await read(), open);
    await other.submit(resultOfJob(second));
    assert.equal(await read(), closed);
  }
});

test('waiting longer than allowed answers 408, and a session without a run times out', async () => {
  const { cp, agent, clock } = await setUp();
  await using _cp = cp;
  const checkId = await makeQuietCheck(cp, agent);
  const [session] = await trigger(cp, { checkId: [checkId] });
  const path = `/v2/check-sessions/${session?.checkSessionId}`;
  const waiting = cp.api('GET', `${path}/completion?maxWaitSeconds=5`);
  const tick = setInterval(() => {
    clock.advance(1_000);
  }, 5);
  assert.equal((await waiting).status, 408);
  clearInterval(tick);
  clock.advance(16 * 60_000);
  await expireJobs(cp.controlPlane.services);
  const { body } = await cp.api('GET', path);
  assert.equal(body.status, 'TIMED_OUT');
  assert.equal((await cp.api('GET', `${path}/completion`)).status, 200);
});

test('a control plane that stops answers requests that wait for a session, at once', async () => {
  const { cp, agent, clock } = await setUp();
  const checkId = await makeQuietCheck(cp, agent);
  const [session] = await trigger(cp, { checkId: [checkId] });
  const waiting = cp.api('GET', `/v2/check-sessions/${session?.checkSessionId}/completion`);
  // Until it waits: an answer to a later call shows that the earlier one was taken up.
  await cp.api('GET', '/v1/checks');
  const stopping = cp[Symbol.asyncDispose]();
  assert.equal((await waiting).status, 408);
  // Connections that are kept alive are closed after a while.
  clock.advance(60_000);
  await stopping;
});

test('a cancelled run belongs to no error group', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const checkId = await makeQuietCheck(cp, agent);
  await trigger(cp, { checkId: [checkId] });
  const [job] = (await agent.checkIn()).jobs;
  assert.ok(job !== undefined);
  await agent.submit(resultOfJob(job, { isCancelled: true, errorMessages: ['it was cut off'] }));
  const { body } = await cp.api('GET', `/v1/error-groups/checks/${checkId}`);
  assert.deepEqual(body, []);
});

test('cancelling calls off what no agent has taken', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const checkId = await makeQuietCheck(cp, agent);
  const [session] = await trigger(cp, { checkId: [checkId] });
  const id = session?.checkSessionId ?? '';
  assert.equal((await cp.api('POST', `/v1/check-sessions/${id}/cancel`)).status, 204);
  assert.equal((await agent.checkIn()).jobs.length, 0);
  assert.equal((await cp.api('GET', `/v2/check-sessions/${id}`)).body.status, 'CANCELLED');
  assert.equal((await cp.api('GET', `/v1/check-sessions/${id}`)).body.status, 'TIMED_OUT');
  assert.equal((await cp.api('POST', '/v1/cancel', { checkSessionId: 'x' })).status, 404);
});

test('cancelling what an agent has taken is seen at once, and tells that agent', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const { db } = cp.controlPlane.services;
  const checkId = await makeQuietCheck(cp, agent);
  const [session] = await trigger(cp, { checkId: [checkId] });
  const [job] = (await agent.checkIn()).jobs;
  assert.ok(job !== undefined && session !== undefined);
  const body = { checkSessionId: session.checkSessionId };
  assert.equal((await cp.api('POST', '/v1/cancel', body)).status, 204);
  assert.deepEqual((await agent.checkIn()).cancellations, [job.runId]);
  const read = async () =>
    (await cp.api('GET', `/v2/check-sessions/${session.checkSessionId}`)).body;
  assert.equal((await read()).status, 'CANCELLED', 'at once, though its agent has yet to end it');
  const result = resultOfJob(job, { hasFailures: true, isCancelled: true });
  await agent.submit(result);
  await db
    .updateTable('check_results')
    .set({ is_cancelled: 1 })
    .where('id', '=', result.id)
    .execute();
  assert.equal((await read()).status, 'CANCELLED');
  assert.equal((await read()).results[0].isCancelled, true);
  assert.deepEqual((await agent.checkIn()).cancellations, []);
});

test('a run that ended before its agent heard of the cancellation keeps its result', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const checkId = await makeQuietCheck(cp, agent);
  const [session] = await trigger(cp, { checkId: [checkId] });
  const [job] = (await agent.checkIn()).jobs;
  assert.ok(job !== undefined);
  const path = `/v2/check-sessions/${session?.checkSessionId}`;
  await cp.api('POST', '/v1/cancel', { checkSessionId: session?.checkSessionId });
  await agent.submit(resultOfJob(job));
  assert.equal((await cp.api('GET', path)).body.status, 'PASSED');
});

test('what was called off and whose agent is gone is never begun again', async () => {
  const { cp, agent, clock } = await setUp();
  await using _cp = cp;
  const { services } = cp.controlPlane;
  const checkId = await makeQuietCheck(cp, agent);
  const [session] = await trigger(cp, { checkId: [checkId] });
  assert.equal((await agent.checkIn()).jobs.length, 1);
  await cp.api('POST', '/v1/cancel', { checkSessionId: session?.checkSessionId });
  assert.equal(await dropCancelledJobs(services), 0, 'its agent may still answer');
  clock.advance(61_000);
  // The timer of the control plane may have been first.
  await dropCancelledJobs(services);
  assert.equal((await agent.checkIn()).jobs.length, 0);
  const path = `/v2/check-sessions/${session?.checkSessionId}`;
  assert.equal((await cp.api('GET', path)).body.status, 'CANCELLED');
});

test('a target chooses by tags and ids; deactivated checks and heartbeats are never chosen', async () => {
  const { cp } = await setUp();
  await using _cp = cp;
  const ab = await makeCheck(cp, { activated: true, tags: ['a', 'b'] });
  const c = await makeCheck(cp, { activated: true, tags: ['c'] });
  const off = await makeCheck(cp, { tags: ['a', 'b'] });
  await cp.api('POST', '/v1/checks/heartbeat', {
    name: 'beat',
    tags: ['c'],
    heartbeat: { period: 1, periodUnit: 'hours', grace: 1, graceUnit: 'hours' },
  });
  const chosen = async (target?: unknown) =>
    (await trigger(cp, target)).map(({ checkId }) => checkId).sort();
  assert.deepEqual(await chosen(), [ab, c].sort());
  assert.deepEqual(await chosen({ matchTags: [['a', 'b']] }), [ab]);
  assert.deepEqual(await chosen({ matchTags: [['a', 'c'], ['c']] }), [c]);
  assert.deepEqual(await chosen({ checkId: [ab], matchTags: [['a']] }), [ab]);
  for (const target of [
    { checkId: [off] },
    { matchTags: [['none']] },
    { matchTags: [['a', 'c']] },
  ]) {
    const { status, body } = await cp.api('POST', '/v2/check-sessions/trigger', { target });
    assert.equal(status, 404, JSON.stringify(body));
  }
});

test('the address of a trigger runs the check and tells how it went', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const checkId = await makeQuietCheck(cp, agent);
  const made = await cp.api('POST', `/v1/triggers/checks/${checkId}`);
  assert.equal(made.status, 201);
  assert.deepEqual([made.body.checkId, made.body.called_at], [checkId, null]);
  const again = await cp.api('POST', `/v1/triggers/checks/${checkId}`);
  assert.deepEqual(again.body, made.body);
  assert.deepEqual((await cp.api('GET', `/v1/triggers/checks/${checkId}`)).body, made.body);

  const path = `/checks/${checkId}/trigger/${made.body.token}`;
  for (const [hasFailures, status] of [
    [false, 200],
    [true, 503],
  ] as const) {
    const calling = cp.api('GET', path, undefined, { authorization: '' });
    const job = await nextJob(agent);
    await agent.submit(resultOfJob(job, { hasFailures, responseTime: 31 }));
    const answer = await calling;
    assert.equal(answer.status, status);
    assert.deepEqual(answer.body, {
      hasFailures,
      responseTime: 31,
      hasErrors: false,
      timedOut: false,
    });
  }
  const elsewhere = await cp.api('GET', `${path}?runLocation=us-east-1`);
  assert.deepEqual([elsewhere.status, elsewhere.body.attributes.keys], [400, ['runLocation']]);
  const ours = cp.api('GET', path);
  await agent.submit(resultOfJob(await nextJob(agent), { hasErrors: true }));
  const fault = await ours;
  assert.deepEqual(
    [fault.status, fault.body.hasFailures, fault.body.hasErrors],
    [503, false, true],
  );
  const read = await cp.api('GET', `/v1/triggers/checks/${checkId}`);
  assert.equal(read.body.called_at, new Date(start).toISOString());
  assert.equal((await cp.api('GET', `/checks/${checkId}/trigger/wrong`)).status, 404);
  assert.equal((await cp.api('DELETE', `/v1/triggers/checks/${checkId}`)).status, 204);
  assert.equal((await cp.api('GET', path)).status, 404);
  assert.equal((await cp.api('GET', `/v1/triggers/checks/${checkId}`)).status, 404);
});

async function nextJob(agent: FakeAgent) {
  for (;;) {
    const [job] = (await agent.checkIn()).jobs;
    if (job !== undefined) return job;
  }
}

test('the trigger of a group runs its checks in order, as many at once as it allows', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const group = await cp.api('POST', '/v2/check-groups', { name: 'g', concurrency: 1 });
  const groupId = group.body.id as number;
  const second = await makeQuietCheck(cp, agent, { name: 'second', groupId, groupOrder: 2 });
  const first = await makeQuietCheck(cp, agent, { name: 'first', groupId, groupOrder: 1 });
  await makeCheck(cp, { name: 'off', groupId });
  const { body } = await cp.api('POST', `/v1/triggers/check-groups/${groupId}`);
  assert.equal(body.groupId, groupId);
  const calling = cp.api('POST', `/check-groups/${groupId}/trigger/${body.token}`);
  const one = await nextJob(agent);
  assert.equal(one.check.id, first);
  assert.equal((await agent.checkIn()).jobs.length, 0);
  await agent.submit(resultOfJob(one));
  const two = await nextJob(agent);
  assert.equal(two.check.id, second);
  await agent.submit(resultOfJob(two, { hasFailures: true }));
  const answer = await calling;
  assert.equal(answer.status, 503);
  assert.deepEqual(
    answer.body.map((each: Record<string, unknown>) => [each['name'], each['hasFailures']]),
    [
      ['first', false],
      ['second', true],
    ],
  );
});

test('a trigger is called at most ten times a minute, for all callers together', async () => {
  const { cp, clock } = await setUp();
  await using _cp = cp;
  const { body: group } = await cp.api('POST', '/v2/check-groups', { name: 'empty' });
  const { body } = await cp.api('POST', `/v1/triggers/check-groups/${group.id}`);
  const call = () => cp.api('GET', `/check-groups/${group.id}/trigger/${body.token}`);
  for (let count = 0; count < 10; count += 1) assert.equal((await call()).status, 404);
  const refused = await call();
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get('retry-after'), '60');
  clock.advance(60_000);
  const { status, body: nothing } = await call();
  assert.equal(status, 404);
  assert.match(nothing.message as string, /has no activated check/);
});

test('what waits for a check that is deactivated is called off', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const checkId = await makeQuietCheck(cp, agent);
  const [session] = await trigger(cp, { checkId: [checkId] });
  await cp.api('PUT', `/v1/checks/url/${checkId}`, { activated: false });
  assert.equal((await agent.checkIn()).jobs.length, 0);
  const read = await cp.api('GET', `/v2/check-sessions/${session?.checkSessionId}`);
  assert.equal(read.body.status, 'CANCELLED');
});

test('cancelling what has ended changes nothing about its end', async () => {
  const { cp, agent, clock } = await setUp();
  await using _cp = cp;
  const checkId = await makeQuietCheck(cp, agent);
  const [session] = await trigger(cp, { checkId: [checkId] });
  const job = await nextJob(agent);
  await agent.submit(resultOfJob(job, { startedAt: start, stoppedAt: start + 5 }));
  clock.advance(3_000);
  const path = `/check-sessions/${session?.checkSessionId}`;
  assert.equal((await cp.api('POST', `/v1${path}/cancel`, { sequenceId: ['x'] })).status, 204);
  const { body } = await cp.api('GET', `/v2${path}`);
  assert.deepEqual([body.status, body.timeElapsed], ['PASSED', 5]);
});

test('a group whose caller has hung up starts no more checks', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const group = await cp.api('POST', '/v2/check-groups', { name: 'g', concurrency: 1 });
  const groupId = group.body.id as number;
  for (let index = 0; index < 3; index += 1) await makeQuietCheck(cp, agent, { groupId });
  const { body } = await cp.api('POST', `/v1/triggers/check-groups/${groupId}`);
  const { services } = cp.controlPlane;
  const row = await findTrigger(services.db, body.token as string, { groupId });
  assert.ok(row !== undefined);
  const controller = new AbortController();
  const calling = callGroupTrigger(services, row, {}, controller.signal);
  const job = await nextJob(agent);
  controller.abort();
  await agent.submit(resultOfJob(job));
  assert.deepEqual(
    (await calling).map(({ timedOut }) => timedOut),
    [true, true, true],
  );
  const { db } = services;
  assert.equal((await db.selectFrom('check_sessions').select('id').execute()).length, 1);
});

test('HEAD, which previews send, runs nothing', async () => {
  const { cp } = await setUp();
  await using _cp = cp;
  const checkId = await makeCheck(cp);
  const { body } = await cp.api('POST', `/v1/triggers/checks/${checkId}`);
  const answer = await fetch(`${cp.url}/checks/${checkId}/trigger/${body.token}`, {
    method: 'HEAD',
  });
  assert.equal(answer.status, 405);
  const { db } = cp.controlPlane.services;
  assert.deepEqual(await db.selectFrom('check_sessions').selectAll().execute(), []);
});

test('more jobs than one statement can name are given up in steps', async () => {
  const { cp, clock } = await setUp();
  await using _cp = cp;
  const { services } = cp.controlPlane;
  const checkId = await makeCheck(cp, { activated: true });
  const row = await services.db.selectFrom('jobs').selectAll().executeTakeFirstOrThrow();
  await services.db.transaction().execute(async (db) => {
    for (let index = 0; index < 1_200; index += 1) {
      const job = { ...row, id: `job-${index}`, run_id: `run-${index}`, check_id: checkId };
      await db.insertInto('jobs').values(job).execute();
    }
  });
  clock.advance(24 * 3_600_000);
  assert.deepEqual(
    [await expireJobs(services), await expireJobs(services), await expireJobs(services)],
    [true, true, false],
  );
  assert.deepEqual(await services.db.selectFrom('jobs').selectAll().execute(), []);
});
