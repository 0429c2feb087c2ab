// PostgreSQL only: it starts replicas.
/** Two control planes on one PostgreSQL: what one of them does, agents and callers of the other hear. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import test from 'node:test';
import type { CheckInAnswer, Job } from '@monitor/shared/contract/agent-protocol.ts';
import type { OpenRunWire } from '@monitor/shared/contract/open-run.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { checkInOf, resultOf, resultOfJob } from '../../support/fake-agent.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { eventually } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';

const location = 'eu-west-1';
const longMs = 25_000;

async function openReplicas(settings: Record<string, string> = {}, clockOfOne?: TestClock) {
  await using stack = new AsyncDisposableStack();
  const ENCRYPTION_KEY = randomBytes(32).toString('base64');
  const database = stack.use(await createTestDatabase());
  const open = async (clock?: TestClock) =>
    stack.use(
      await startTestControlPlane({
        ...{ databaseUrl: database.url, settings: { ...settings, ENCRYPTION_KEY } },
        ...(clock === undefined ? {} : { clock }),
      }),
    );
  const one = await open(clockOfOne);
  const other = await open();
  const key = await one.locationKey(location);
  const opened = stack.move();
  return { one, other, key, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** An agent that says at which replica it checks in. */
class Wanderer {
  readonly id = randomUUID();
  readonly #key: string;
  snapshot: string | null = null;

  constructor(key: string) {
    this.#key = key;
  }

  async send(cp: TestControlPlane, path: string, body: unknown) {
    return cp.api('POST', `/v1/agent/${path}`, body, { authorization: `Bearer ${this.#key}` });
  }

  async checkIn(cp: TestControlPlane, waitMs = 0): Promise<CheckInAnswer> {
    const { id: agentId, snapshot } = this;
    const answer = await this.send(
      cp,
      'check-in',
      checkInOf({ agentId, snapshot, waitMs }, ['URL']),
    );
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    this.snapshot = (answer.body as CheckInAnswer).snapshot;
    return answer.body as CheckInAnswer;
  }

  /** Checks in as an agent that ends does; gives whether others have its checks. */
  async standDown(cp: TestControlPlane): Promise<boolean | undefined> {
    const { id: agentId, snapshot } = this;
    const answer = await this.send(cp, 'check-in', checkInOf({ agentId, snapshot }));
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { snapshot: held, handedOver } = answer.body as CheckInAnswer;
    this.snapshot = held;
    return handedOver;
  }
}

async function makeCheck(cp: TestControlPlane): Promise<string> {
  const { status, body } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'shop', locations: [location], frequency: 10 },
    request: { url: 'https://a.example' },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return (body as { id: string }).id;
}

const epochOf = async (cp: TestControlPlane): Promise<number | undefined> =>
  (await cp.controlPlane.services.db.selectFrom('location_states').select('epoch').execute()).at(0)
    ?.epoch;

for (const notify of ['on', 'off']) {
  test(`a check made at one replica is heard by the agent that polls at the other, with DATABASE_NOTIFY=${notify}`, async () => {
    // Where the clock stands nothing is read each second: it is heard through the database alone.
    const clock = notify === 'on' ? new TestClock(Date.now()) : undefined;
    await using world = await openReplicas({ DATABASE_NOTIFY: notify }, clock);
    const { one: polled, other: maker, key } = world;
    const agent = new Wanderer(key);
    await agent.checkIn(polled);
    let answer: CheckInAnswer | undefined;
    const polling = agent.checkIn(polled, longMs).then((given) => (answer = given));
    await eventually(
      () => maker.controlPlane.services.hub.isServed(maker.accountId, location),
      () => 'the other replica does not know of the agent',
    );
    const id = await makeCheck(maker);
    try {
      await eventually(
        () => answer !== undefined,
        () => 'the poll is not answered',
      );
    } finally {
      // A poll that nothing answered ends in time, as does what waits for it.
      clock?.advance(longMs);
    }
    answer = await polling;
    const heard = [
      ...answer.upserts.map((check) => check.id),
      ...answer.jobs.map((job) => job.check.id),
    ];
    assert.ok(heard.includes(id), JSON.stringify(answer));
  });
}

test('an agent that changes replicas is one agent: its set of checks and the epoch stay', async () => {
  await using world = await openReplicas();
  const { one, other, key } = world;
  const agent = new Wanderer(key);
  await makeCheck(one);
  const first = await agent.checkIn(one);
  assert.equal(first.upserts.length, 1);
  for (const cp of [other, one, other, one]) {
    const answer = await agent.checkIn(cp);
    assert.deepEqual([answer.full, answer.upserts, answer.epoch], [false, [], first.epoch]);
  }
});

test('a replica does not give up an agent that checks in at another one', async () => {
  const clock = new TestClock(Date.now());
  await using world = await openReplicas({}, clock);
  const { one, other, key } = world;
  const agent = new Wanderer(key);
  await agent.checkIn(one);
  await agent.checkIn(other);
  const epoch = await epochOf(one);
  clock.advance(13_000);
  await one.controlPlane.services.hub.idle();
  assert.equal(await epochOf(one), epoch);
  for (const { controlPlane, accountId } of [one, other]) {
    assert.equal(controlPlane.services.hub.isServed(accountId, location), true);
  }
  await agent.checkIn(one);
  clock.advance(13_000);
  await eventually(
    () => !one.controlPlane.services.hub.isServed(one.accountId, location),
    () => 'the agent is not given up by the replica that waits for it',
  );
});

test('agents of a dead replica are taken over once it is known, and get their time to come back', async () => {
  const clock = new TestClock(Date.now());
  await using world = await openReplicas({}, clock);
  const { one, key } = world;
  const { db, hub } = one.controlPlane.services;
  const [orphan, cared] = [new Wanderer(key), new Wanderer(key)];
  const [dead, alive] = [randomUUID(), randomUUID()];
  for (const [agent, id, aliveAt] of [
    [orphan, dead, clock.now() - 1_000],
    [cared, alive, clock.now() + 3_600_000],
  ] as const) {
    await agent.checkIn(one);
    await db.updateTable('agents').set({ replica_id: id }).where('id', '=', agent.id).execute();
    await db
      .insertInto('replicas')
      .values({
        ...{ id, started_at: 0, alive_at: aliveAt, stopped_at: null, version: '1', url: '' },
        clock_offset_ms: 0,
      })
      .execute();
  }
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(1_000);
      await hub.idle();
    }
  };
  const replicaOf = async ({ id }: Wanderer) =>
    (
      await db
        .selectFrom('agents')
        .select('replica_id')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
    ).replica_id;
  await pass(8);
  assert.equal(await replicaOf(orphan), dead, 'its replica may be alive');
  const passUntil = async (what: string, most: number, test: () => Promise<boolean> | boolean) => {
    for (let second = 0; !(await test()); second += 1) {
      assert.ok(second < most, what);
      await pass(1);
    }
  };
  // Less than what an agent of a replica that is alive has.
  await passUntil('it is not taken over', 30, async () => (await replicaOf(orphan)) !== dead);
  assert.equal(await replicaOf(cared), alive);
  assert.equal(hub.isServing(one.accountId, location, orphan.id), true);
  await pass(10);
  assert.equal(hub.isServing(one.accountId, location, orphan.id), true, 'it may come back');
  await passUntil('it still serves', 60, () => !hub.isServing(one.accountId, location, orphan.id));
});

/** Two agents, each at a replica, that hold one half of the checks each. */
async function holdHalves({ one, other, key }: Awaited<ReturnType<typeof openReplicas>>) {
  const [ending, staying] = [new Wanderer(key), new Wanderer(key)];
  // Their ids, which are drawn, say who holds a check: of few, one might hold all.
  const checks = 24;
  for (let made = 0; made < checks; made += 1) await makeCheck(one);
  await ending.checkIn(one);
  const held = new Set<string>();
  await eventually(
    async () => {
      await ending.checkIn(one);
      const { upserts, removals } = await staying.checkIn(other);
      for (const { id } of upserts) held.add(id);
      for (const id of removals) held.delete(id);
      return held.size > 0 && held.size < checks;
    },
    () => `one of them holds ${held.size} of ${checks}`,
  );
  return { ending, staying };
}

for (const notify of ['on', 'off']) {
  test(`an agent that ends has handed over once an agent of the other replica says that it holds the checks, with DATABASE_NOTIFY=${notify}`, async () => {
    await using world = await openReplicas({ DATABASE_NOTIFY: notify });
    const { one, other } = world;
    const { ending, staying } = await holdHalves(world);
    for (const cp of [one, other, one, other]) {
      assert.equal(await ending.standDown(cp), false, 'the other agent has not heard of it');
    }
    const { upserts } = await staying.checkIn(other, longMs);
    assert.ok(upserts.length > 0, 'it is given the checks');
    assert.equal(await ending.standDown(one), false, 'the answer may be lost');
    await staying.checkIn(other);
    for (const cp of [one, other]) {
      await eventually(
        () => ending.standDown(cp).then((isOver) => isOver === true),
        () => 'the hand-over does not end',
      );
    }
  });
}

test('a replica that has not heard that an agent ends does not confirm its hand-over', async () => {
  const clock = new TestClock(Date.now());
  await using world = await openReplicas({ DATABASE_NOTIFY: 'off' }, clock);
  const { one, other } = world;
  const { ending, staying } = await holdHalves({ ...world, one: other, other: one });
  // The clock of this replica stands, so it follows nothing.
  assert.equal(await ending.standDown(other), false);
  await staying.checkIn(one);
  await staying.checkIn(one);
  assert.equal(await ending.standDown(one), false);
  assert.equal(await ending.standDown(other), false);
});

for (const returns of [true, false]) {
  const who = returns ? 'comes to this one' : 'is gone as well';
  test(`a hand-over ends when the other replica is dead and its agent ${who}`, async () => {
    const clock = new TestClock(Date.now());
    await using world = await openReplicas({}, clock);
    const { one } = world;
    const { ending, staying } = await holdHalves({ ...world, other: one });
    const { db, hub } = one.controlPlane.services;
    const id = randomUUID();
    const died = { alive_at: clock.now() - 1_000, stopped_at: null, version: '1', url: '' };
    await db
      .insertInto('replicas')
      .values({ id, started_at: 0, clock_offset_ms: 0, ...died })
      .execute();
    await db.updateTable('agents').set({ replica_id: id }).where('id', '=', staying.id).execute();
    let passedMs = 0;
    for (; !(await ending.standDown(one)); passedMs += 1_000) {
      assert.ok(passedMs < 100_000, 'the hand-over does not end');
      clock.advance(1_000);
      await hub.idle();
      if (returns && passedMs === 3_000) await staying.checkIn(one);
      if (returns && passedMs === 4_000) await staying.checkIn(one);
    }
    assert.ok(returns ? passedMs < 15_000 : passedMs > 10_000, `after ${passedMs} ms`);
  });
}

test('a key that is deleted at one replica ends the poll at the other', async () => {
  await using world = await openReplicas();
  const { one, other } = world;
  const made = await one.api('POST', '/v1/private-locations', {
    name: 'Office',
    slugName: 'office',
  });
  const { id, keys } = made.body as { id: string; keys: [{ id: string; rawKey: string }] };
  const [key] = keys;
  const agent = new Wanderer(key.rawKey);
  await agent.checkIn(other);
  const body = checkInOf({ agentId: agent.id, snapshot: agent.snapshot, waitMs: longMs }, ['URL']);
  const polling = agent.send(other, 'check-in', body);
  await one.api('DELETE', `/v1/private-locations/${id}/keys/${key.id}`);
  assert.equal((await polling).status, 401);
});

test('a session that is awaited at one replica hears that its run ended at the other', async () => {
  await using world = await openReplicas();
  const { one, other, key } = world;
  const agent = new Wanderer(key);
  await agent.checkIn(other);
  const checkId = await makeCheck(other);
  assert.equal((await agent.checkIn(other)).jobs.length, 1, 'its first run');
  const begin = await one.api('POST', '/v2/check-sessions/trigger', {
    target: { checkId: [checkId] },
  });
  const [session] = (begin.body as { sessions: { checkSessionId: string }[] }).sessions;
  const waiting = one.api(
    'GET',
    `/v2/check-sessions/${session?.checkSessionId}/completion?maxWaitSeconds=30`,
  );
  let jobs: Job[] = [];
  while (jobs.length === 0) ({ jobs } = await agent.checkIn(other, longMs));
  const items = jobs.map((job) =>
    resultOfJob(job, { startedAt: Date.now(), stoppedAt: Date.now() }),
  );
  const sent = await agent.send(other, 'results', { agentId: agent.id, items });
  assert.equal(sent.status, 200, JSON.stringify(sent.body));
  assert.equal((await waiting).status, 200);
});

test('a result of another agent does not end a job that is leased', async () => {
  await using world = await openReplicas();
  const { one, other, key } = world;
  const [slow, fast] = [new Wanderer(key), new Wanderer(key)];
  await slow.checkIn(one);
  await makeCheck(one);
  const [job] = (await slow.checkIn(one)).jobs;
  assert.ok(job !== undefined);
  await slow.send(one, 'release', { agentId: slow.id, jobIds: [job.id] });
  const [again] = (await fast.checkIn(other)).jobs;
  assert.equal(again?.id, job.id);
  const result = resultOfJob(job, { startedAt: Date.now(), stoppedAt: Date.now() });
  await slow.send(one, 'results', { agentId: slow.id, items: [result] });
  const left = async () =>
    (await one.controlPlane.services.db.selectFrom('jobs').select('id').execute()).length;
  assert.equal(await left(), 1);
  await fast.send(other, 'results', { agentId: fast.id, items: [result] });
  assert.equal(await left(), 0);
});

for (const notify of ['on', 'off']) {
  test(`a run reported at one replica is listed and cancelled at the other, and survives check-ins there, with DATABASE_NOTIFY=${notify}`, async () => {
    await using world = await openReplicas({ DATABASE_NOTIFY: notify });
    const { one, other, key } = world;
    const agent = new Wanderer(key);
    await agent.checkIn(one);
    const checkId = await makeCheck(one);
    const scheduledFor = Date.now();
    const { runId, slotLocation } = resultOf(checkId, { scheduledFor });
    const run = { runId, checkId, slotLocation, scheduledFor, startedAt: scheduledFor, attempt: 1 };
    const report = async (cp: TestControlPlane, runs: unknown[]) => {
      const answer = await agent.send(cp, 'open-runs', { agentId: agent.id, runs });
      assert.equal(answer.status, 204, JSON.stringify(answer.body));
    };
    const listed = async (cp: TestControlPlane) => {
      const { body } = await cp.api('GET', `/v1/check-runs?state=RUNNING&checkId=${checkId}`);
      return (body as OpenRunWire[])
        .filter(({ sequenceId }) => sequenceId === runId)
        .map((each) => each.isCancelRequested);
    };
    await report(one, [run]);
    await agent.checkIn(other);
    assert.deepEqual(await listed(one), [false]);
    assert.deepEqual(await listed(other), [false]);
    const hear = async (): Promise<string[]> => {
      const { cancellations } = await agent.checkIn(other, longMs);
      return cancellations.length > 0 ? cancellations : hear();
    };
    const hearing = hear();
    assert.equal((await one.api('POST', '/v1/cancel', { sequenceId: [runId] })).status, 204);
    assert.deepEqual(await hearing, [runId]);
    await report(other, [{ ...run, attempt: 2 }]);
    assert.deepEqual(await listed(one), [true]);
    await report(other, []);
    assert.deepEqual(await listed(one), []);
    assert.equal((await one.api('POST', '/v1/cancel', { sequenceId: [runId] })).status, 404);
  });
}

test('what an agent reported is gone when it restarts, and when it is given up elsewhere', async () => {
  await using world = await openReplicas();
  const { one, other, key } = world;
  const agent = new Wanderer(key);
  await agent.checkIn(one);
  const checkId = await makeCheck(one);
  const scheduledFor = Date.now();
  const { runId, slotLocation } = resultOf(checkId, { scheduledFor });
  const run = { runId, checkId, slotLocation, scheduledFor, startedAt: scheduledFor, attempt: 1 };
  const running = async (cp: TestControlPlane) => {
    const { body } = await cp.api('GET', `/v1/check-runs?state=RUNNING&checkId=${checkId}`);
    return (body as OpenRunWire[]).filter(({ sequenceId }) => sequenceId === runId).length;
  };
  const report = () => agent.send(one, 'open-runs', { agentId: agent.id, runs: [run] });
  await report();
  assert.equal(await running(other), 1);
  const { id: agentId } = agent;
  const again = checkInOf({ agentId, startedAt: Date.now(), waitMs: 0 }, ['URL']);
  assert.equal((await agent.send(other, 'check-in', again)).status, 200);
  assert.equal(await running(one), 0);
  await report();
  assert.equal(await running(other), 1);
  assert.equal((await agent.send(other, 'goodbye', { agentId })).status, 204);
  assert.equal(await running(one), 0);
  await report();
  assert.equal(await running(one), 0, 'an agent that does not serve reports nothing');
});
