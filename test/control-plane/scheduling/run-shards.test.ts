/** Agents of a location share a run: who gets which shard, and what each of them may hand in. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type {
  CheckInAnswer,
  Job,
  ShardAnswer,
  ShardOutcome,
} from '@monitor/shared/contract/agent-protocol.ts';
import { keyedRunIdOfSlot } from '@monitor/shared/domain/run-id.ts';
import { scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';
import { pruneShards } from '../../../control-plane/scheduling/index.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { checkInOf, FakeAgent, resultOfJob } from '../../support/fake-agent.ts';
import { TestClock } from '../../support/test-clock.ts';
import { outcomeOfShard } from '../../support/world.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const location = 'eu-west-1';

/** An agent that knows shards, unless it is an older one. */
class Runner extends FakeAgent {
  room = 1;
  startedAt = start;
  isOld = false;

  poll(waitMs = 0): Promise<CheckInAnswer> {
    const { capabilities } = checkInOf({}, ['PLAYWRIGHT']);
    const { id: agentId, snapshot, startedAt } = this;
    return this.call('check-in', {
      ...checkInOf({ agentId, snapshot, startedAt, waitMs }),
      capabilities: { ...capabilities, ...(this.isOld ? {} : { runsShards: true }) },
      ...(this.isOld ? {} : { roomForShards: this.room }),
    });
  }

  /** What it is given to run. */
  async jobs(): Promise<Job[]> {
    return (await this.poll()).jobs;
  }

  share(job: Job, fields: Record<string, unknown> = {}, expected = 200): Promise<ShardAnswer> {
    const { id: jobId, runId, attempt, slotLocation, scheduledFor, check } = job;
    const run = {
      ...{ checkId: check.id, checkRevision: check.revision, runId, attempt, slotLocation },
      ...{ scheduledFor, jobId },
    };
    const asked = { agentId: this.id, run, has: [], claims: true, waitMs: 0, ...fields };
    return this.call('shards', asked, expected);
  }

  async finish(jobId: string, fields: Partial<ShardOutcome> = {}): Promise<string> {
    const outcome = JSON.stringify({ ...outcomeOfShard, ...fields });
    return (
      await this.call<{ outcome: string }>('shards/outcome', {
        ...{ agentId: this.id, jobId, outcome },
      })
    ).outcome;
  }
}

const suiteResultOf = (job: Job) =>
  resultOfJob(job, { checkType: 'PLAYWRIGHT', slotLocation: job.slotLocation });

async function makeSuite(cp: TestControlPlane, fields: Record<string, unknown> = {}) {
  const { status, body } = await cp.api('POST', '/v1/checks/playwright', {
    ...{ name: 'suite', codeBundlePath: 'bundle.tgz', shards: 3 },
    ...{ locations: [location], browsers: [], ...fields },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as string;
}

/** Three agents of a location, and a run that one of them has. */
async function setUp({ inLocation = location } = {}) {
  const clock = new TestClock(start);
  const cp = await startTestControlPlane({ clock });
  const key = await cp.locationKey(inLocation);
  const agents = [new Runner(cp, key), new Runner(cp, key), new Runner(cp, key)] as const;
  const checkId = await makeSuite(cp, { locations: [inLocation] });
  const run = async (): Promise<Job> => {
    // The first run of a check is made at once.
    for (const agent of agents) {
      for (const first of await agent.jobs()) await agent.submit(suiteResultOf(first));
    }
    const { status } = await cp.api('POST', '/v2/check-sessions/trigger', {
      target: { checkId: [checkId] },
    });
    assert.equal(status, 201);
    const [job] = await agents[0].jobs();
    assert.ok(job !== undefined);
    return job;
  };
  return { clock, cp, key, agents, checkId, run };
}

const indexes = ({ outcomes }: ShardAnswer) => outcomes.map(({ index }) => index);

test('a run is shared: its agent takes the first shard, others are offered one each, and all outcomes come back', async () => {
  const { cp, agents, run, checkId } = await setUp();
  await using _cp = cp;
  const [first, second, third] = agents;
  const job = await run();
  const begun = await first.share(job);
  assert.deepEqual([begun.refusal, begun.total, begun.claim?.index], [null, 3, 1]);

  const [two] = await second.jobs();
  const [three] = await third.jobs();
  assert.deepEqual(
    [two?.shard, three?.shard],
    [
      { index: 2, total: 3 },
      { index: 3, total: 3 },
    ],
  );
  assert.deepEqual([two?.runId, two?.source, two?.check.id], [job.runId, 'TRIGGER_API', checkId]);
  assert.equal((await first.share(job)).claim, null, 'none waits');
  assert.deepEqual(await first.jobs(), []);

  assert.equal(await third.finish(three?.id ?? '', { reason: 'as the third says' }), 'accepted');
  assert.equal(await third.finish(three?.id ?? '', { reason: 'otherwise' }), 'duplicate');
  assert.equal(await second.finish(three?.id ?? ''), 'lost', 'another agent has it');
  const seen = await first.share(job, { has: [1] });
  assert.deepEqual(indexes(seen), [3]);
  const outcome = JSON.parse(seen.outcomes[0]?.outcome ?? '') as ShardOutcome;
  assert.equal(outcome.reason, 'as the third says');

  // The coordinator was killed: another one gets the same shards, and what came of them.
  assert.equal(await first.finish(begun.claim?.jobId ?? ''), 'accepted');
  const again = await first.share(job);
  assert.deepEqual([again.total, indexes(again)], [3, [1, 3]]);

  // The result of the run ends what is left of it.
  await first.submit(suiteResultOf(job));
  const { cancellations } = await second.poll();
  assert.deepEqual(cancellations, [job.runId]);
  assert.equal(await second.finish(two?.id ?? ''), 'lost');
  await first.share(job, {}, 404);
});

test('a shard whose agent is gone, started again or does not renew it is taken by another', async () => {
  const { cp, agents, run, clock } = await setUp();
  await using _cp = cp;
  const [first, second, third] = agents;
  const job = await run();
  await first.share(job);
  const [two] = await second.jobs();
  const [three] = await third.jobs();
  assert.ok(two !== undefined && three !== undefined);

  second.startedAt += 1;
  second.snapshot = null;
  second.room = 0;
  assert.deepEqual(await second.jobs(), []);
  const claimed = await first.share(job);
  assert.equal(claimed.claim?.index, 2, 'its agent has forgotten it');
  assert.equal(await second.finish(two.id), 'lost');

  // They check in as long as they live.
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 10_000) {
      clock.advance(10_000);
      for (const agent of agents) assert.deepEqual(await agent.jobs(), []);
    }
  };
  second.room = 0;
  third.room = 0;
  first.room = 0;
  await pass(40_000);
  const renewed = await first.call<{ renewed: string[] }>('leases/renew', {
    ...{ agentId: first.id, jobIds: [two.id, job.id] },
  });
  assert.deepEqual(renewed.renewed.toSorted(), [two.id, job.id].toSorted());
  await pass(30_000);
  assert.equal((await first.share(job)).claim?.index, 1, 'a lease that nobody renewed');
  assert.equal((await first.share(job)).claim?.index, 3);
  assert.equal(await third.finish(three.id), 'lost');

  await first.call('release', { agentId: first.id, jobIds: [three.id] }, 204);
  second.room = 1;
  assert.deepEqual((await second.jobs())[0]?.shard, three.shard);
});

test('only agents that know shards and have room are offered one', async () => {
  const { cp, agents, run } = await setUp();
  await using _cp = cp;
  const [first, second, third] = agents;
  second.room = 0;
  third.isOld = true;
  const job = await run();
  await first.share(job);
  assert.deepEqual([await second.jobs(), await third.jobs()], [[], []]);
  second.room = 5;
  assert.equal((await second.jobs()).length, 1, 'one of each run: others may come');
});

test('an agent without room is asked again while a shard waits for it, and only then', async () => {
  const { cp, clock, agents, run } = await setUp();
  await using _cp = cp;
  const [first, second] = agents;
  const job = await run();
  second.room = 0;
  second.snapshot = (await second.poll()).snapshot;
  /** How long a check-in waited, in steps of half a second. */
  const waited = async (waitMs: number): Promise<number> => {
    let isAnswered = false;
    const polled = second.poll(waitMs).then(({ jobs }) => {
      isAnswered = true;
      assert.deepEqual(jobs, []);
    });
    let passedMs = 0;
    for (; !isAnswered && passedMs < 25_000; passedMs += 500) {
      clock.advance(500);
      await cp.api('GET', '/v1/checks');
    }
    await polled;
    return passedMs;
  };
  assert.ok((await waited(6_000)) >= 6_000);
  await first.share(job);
  const passedMs = await waited(25_000);
  assert.ok(passedMs >= 2_000 && passedMs < 25_000, `${passedMs} ms`);
  second.room = 1;
  assert.equal((await second.jobs()).length, 1);
});

test('a run is not shared where that helps nobody, and the answer says why', async () => {
  const { cp, agents, run, checkId } = await setUp();
  await using _cp = cp;
  const [first, second, third] = agents;
  second.isOld = true;
  third.isOld = true;
  const job = await run();
  const alone = await first.share(job);
  assert.deepEqual(
    [alone.refusal, alone.claim],
    ['no other agent of this location takes shards of it', null],
  );
  second.isOld = false;
  await second.poll();
  await cp.api('PUT', `/v1/checks/playwright/${checkId}`, { testCommand: 'npm test' });
  assert.match((await first.share(job)).refusal ?? '', /has changed since/);
});

test('no shard of an earlier revision is offered', async () => {
  const { cp, agents, run, checkId } = await setUp();
  await using _cp = cp;
  const [first, second] = agents;
  const job = await run();
  await first.share(job);
  await cp.api('PUT', `/v1/checks/playwright/${checkId}`, { testCommand: 'npm test' });
  assert.deepEqual(await second.jobs(), []);
  assert.equal((await first.share(job)).claim?.index, 2, 'its agent has the check as it was');
});

test('an agent shares only runs of its own, of suites that are shared', async () => {
  const { cp, agents, run, checkId, clock } = await setUp();
  await using _cp = cp;
  const [first, second] = agents;
  const job = await run();
  await second.share(job, {}, 404);
  const stranger = new Runner(cp, await cp.locationKey('ap-south-1'));
  await stranger.share(job, {}, 404);
  const whole = await makeSuite(cp, { shards: 1 });
  await first.share({ ...job, check: { ...job.check, id: whole } }, {}, 404);
  await first.share({ ...job, runId: whole }, {}, 404);

  const { frequency, frequencyOffset } = job.check;
  const slot = slotAtOrAfter(scheduleOf({ checkId, frequency, frequencyOffset }), clock.now());
  const keyed = cp.controlPlane.services.ids.keyedSha256HexOf(cp.accountId, location);
  const runId = keyedRunIdOfSlot({ checkId, location, scheduledFor: slot }, keyed);
  const ofSlot = { ...job, runId, scheduledFor: slot };
  const runOf = (fields: Record<string, unknown>) => ({
    run: {
      ...{ checkId, checkRevision: job.check.revision, runId, attempt: 1, slotLocation: location },
      ...{ scheduledFor: slot, jobId: null, ...fields },
    },
  });
  await first.share(ofSlot, runOf({ scheduledFor: slot - 60_000 }), 404);
  await first.share(ofSlot, runOf({ slotLocation: 'ap-south-1' }), 404);
  const begun = await first.share(ofSlot, runOf({}));
  assert.equal(begun.claim?.index, 1);
  const two = (await second.jobs()).find((one) => one.runId === runId);
  assert.deepEqual([two?.source, two?.scheduledFor], ['', slot]);
  assert.equal(await stranger.finish(two?.id ?? ''), 'lost');
  const large = { jobLog: [{ time: 1, msg: 'x'.repeat(6_000_000), level: 'INFO' }] };
  for (const [outcome, status] of [
    ['{', 400],
    ['{"reason":"only"}', 400],
    [
      JSON.stringify({ ...outcomeOfShard, playwrightCheckResult: { ...suiteResult, ...large } }),
      413,
    ],
  ] as const) {
    await second.call('shards/outcome', { agentId: second.id, jobId: two?.id, outcome }, status);
  }
});

const suiteResult = {
  ...{ errors: [], startTime: 1, endTime: 2, runtimeVersion: '', jobLog: [], jobAssets: [] },
  ...{ playwrightTestTraces: [], playwrightTestJsonReportFile: null, tests: [] },
  ...{ playwrightTestVideos: [], playwrightTraceFiles: [] },
  metrics: {
    ...{ total: 0, passed: 0, failed: 0, flaky: 0, skipped: 0, retries: 0 },
    ...{ durationMs: 0, installMs: 0, cacheHit: false },
  },
};

test('shards of a run that never gets a result are forgotten, as are those of a check that is deleted', async () => {
  const { cp, agents, run, clock, checkId } = await setUp();
  await using _cp = cp;
  const { services } = cp.controlPlane;
  const count = async () =>
    (await services.db.selectFrom('run_shards').select('id').execute()).length;
  const job = await run();
  await agents[0].share(job);
  await pruneShards(services);
  assert.equal(await count(), 3);
  clock.advance(42 * 60_000);
  await pruneShards(services);
  assert.equal(await count(), 0);
  await agents[0].share(await run());
  assert.equal(await count(), 3);
  await cp.api('DELETE', `/v1/checks/${checkId}`);
  assert.equal(await count(), 0);
});
