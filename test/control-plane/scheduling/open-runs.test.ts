import assert from 'node:assert/strict';
import test from 'node:test';
import type { OpenRunWire } from '@monitor/shared/contract/open-run.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { FakeAgent, resultOf, resultOfJob } from '../../support/fake-agent.ts';
import { TestClock } from '../../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const location = 'eu-west-1';

/** A check that has had its first run, and an agent that serves it. */
async function setUp(fields: Record<string, unknown> = {}) {
  const clock = new TestClock(start);
  const cp = await startTestControlPlane({ clock });
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  await agent.checkIn();
  const { body, status } = await cp.api('POST', '/v1/checks/url', {
    name: 'shop',
    locations: [location],
    request: { url: 'https://a.example' },
    ...fields,
  });
  assert.equal(status, 201);
  const checkId = body.id as string;
  for (const job of (await agent.checkIn()).jobs) await agent.submit(resultOfJob(job));
  return { clock, cp, agent, checkId };
}

async function openRuns(cp: TestControlPlane, query = ''): Promise<OpenRunWire[]> {
  const { status, body } = await cp.api('GET', `/v1/check-runs${query}`);
  assert.equal(status, 200);
  return body as OpenRunWire[];
}

const cancel = (cp: TestControlPlane, ...sequenceId: string[]) =>
  cp.api('POST', '/v1/cancel', { sequenceId });

const toldOf = (result: ReturnType<typeof resultOf>) => ({
  runId: result.runId,
  checkId: result.checkId,
  slotLocation: result.slotLocation,
  scheduledFor: result.scheduledFor,
  startedAt: start,
  attempt: 1,
});

test('a run on demand is listed from its first moment to its end', async () => {
  const { cp, agent, checkId } = await setUp();
  await using _cp = cp;
  await cp.api('POST', '/v2/check-sessions/trigger', { target: { checkId: [checkId] } });
  const [queued] = await openRuns(cp);
  assert.deepEqual(
    [queued?.state, queued?.name, queued?.location, queued?.runSource, queued?.startedAt],
    ['QUEUED', 'shop', location, 'TRIGGER_API', null],
  );
  const [job] = (await agent.checkIn()).jobs;
  assert.ok(job !== undefined);
  const [running] = await openRuns(cp, `?state=RUNNING&checkId=${checkId}`);
  assert.equal(running?.sequenceId, job.runId);
  await agent.submit(resultOfJob(job));
  assert.deepEqual(await openRuns(cp), []);
});

test('a run of the schedule is listed as its agent tells it, and is cancelled through its next check-in', async () => {
  const { cp, agent, checkId } = await setUp();
  await using _cp = cp;
  const result = resultOf(checkId, { scheduledFor: start + 60_000 });
  const told = toldOf(result);
  await agent.call('open-runs', { agentId: agent.id, runs: [told] }, 204);
  const [run] = await openRuns(cp, `?location=${location}`);
  assert.deepEqual(
    [run?.sequenceId, run?.state, run?.runSource, run?.attempt, run?.isCancelRequested],
    [result.runId, 'RUNNING', 'SCHEDULER', 1, false],
  );
  assert.equal((await cancel(cp, result.runId)).status, 204);
  assert.equal((await openRuns(cp))[0]?.isCancelRequested, true);
  await agent.call('open-runs', { agentId: agent.id, runs: [{ ...told, attempt: 2 }] }, 204);
  assert.deepEqual((await agent.checkIn()).cancellations, [result.runId]);
  assert.deepEqual((await agent.checkIn()).cancellations, [], 'once');
  await agent.submit({ ...result, isCancelled: true });
  assert.deepEqual(await openRuns(cp), [], 'its result is there, whatever was told before');
  await agent.call('open-runs', { agentId: agent.id, runs: [] }, 204);
  const refused = await cancel(cp, result.runId);
  assert.equal(refused.status, 404);
  assert.deepEqual(refused.body.attributes.keys, ['sequenceId']);
});

test('what an agent that left was running is listed no more', async () => {
  const { cp, agent, checkId } = await setUp();
  await using _cp = cp;
  const runs = [toldOf(resultOf(checkId, { scheduledFor: start + 60_000 }))];
  await agent.call('open-runs', { agentId: agent.id, runs }, 204);
  assert.equal((await openRuns(cp)).length, 1);
  await agent.call('goodbye', { agentId: agent.id }, 204);
  assert.deepEqual(await openRuns(cp), []);
  await agent.call('open-runs', { agentId: agent.id, runs }, 204);
  assert.deepEqual(await openRuns(cp), [], 'one that does not serve tells nothing');
});

test('runs are seen and cancelled by their own account alone, and only where their check runs', async () => {
  const { cp, agent, checkId } = await setUp();
  await using _cp = cp;
  const told = toldOf(resultOf(checkId, { scheduledFor: start + 60_000 }));
  const elsewhere = new FakeAgent(cp, await cp.locationKey('us-east-1'));
  await elsewhere.checkIn();
  await elsewhere.call('open-runs', { agentId: elsewhere.id, runs: [told] }, 204);
  assert.deepEqual(await openRuns(cp), [], 'the check does not run in us-east-1');
  await agent.call('open-runs', { agentId: agent.id, runs: [told] }, 204);
  const authorization = `Bearer ${await cp.foreignKey()}`;
  const foreign = await cp.api('GET', '/v1/check-runs', undefined, { authorization });
  assert.deepEqual(foreign.body, []);
  const body = { sequenceId: [told.runId] };
  assert.equal((await cp.api('POST', '/v1/cancel', body, { authorization })).status, 404);
  assert.equal((await openRuns(cp))[0]?.isCancelRequested, false);
  assert.equal((await cp.api('POST', '/v1/cancel', { sequenceId: [] })).status, 400);
  assert.equal((await cp.api('POST', '/v1/cancel', {})).status, 400);
});

test('a run that waits for its next attempt in another location ends as cancelled, and counts for nothing', async () => {
  const { cp, agent, checkId } = await setUp({ locations: [location, 'us-east-1'] });
  await using _cp = cp;
  const before = (await cp.api('GET', `/v1/check-statuses/${checkId}`)).body;
  const attempt = resultOf(checkId, {
    resultType: 'ATTEMPT',
    hasFailures: true,
    retryElsewhere: { notBefore: start, sequenceStartedAt: start },
  });
  await agent.submit(attempt);
  const [waiting] = await openRuns(cp);
  assert.deepEqual(
    [waiting?.sequenceId, waiting?.state, waiting?.runSource, waiting?.attempt],
    [attempt.runId, 'QUEUED', 'SCHEDULER', 2],
  );
  assert.equal((await cancel(cp, attempt.runId)).status, 204);
  assert.deepEqual(await openRuns(cp), []);
  const { body } = await cp.api('GET', `/v1/check-results/${checkId}/${attempt.id}`);
  assert.deepEqual([body.resultType, body.isCancelled, body.hasFailures], ['FINAL', true, false]);
  assert.deepEqual((await cp.api('GET', `/v1/check-statuses/${checkId}`)).body, before);
});
