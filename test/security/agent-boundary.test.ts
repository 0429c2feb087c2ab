import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import test from 'node:test';
import fc from 'fast-check';
import type { ItemOutcome, ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { resultIdOfAttempt, runIdOfSlot } from '@monitor/shared/domain/run-id.ts';
import { encryptedFacts } from '../../control-plane/core/encrypted-facts.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { sha256Hex } from '../../control-plane/core/keys.ts';
import { FakeAgent, resultOf, resultOfJob } from '../support/fake-agent.ts';
import { KeyedAgent, slotsOf, type SlotCheck } from '../support/keyed-agent.ts';
import { dumpTables } from '../support/tables.ts';
import { seededRandom, testSeed } from '../support/random.ts';
import { temporaryFolder } from '../support/system.ts';
import { TestClock } from '../support/test-clock.ts';
import { createAccount } from '../support/world.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const minute = 60_000;

async function setUp() {
  const clock = new TestClock(start);
  const cp = await startTestControlPlane({ clock });
  return { clock, cp, [Symbol.asyncDispose]: () => cp[Symbol.asyncDispose]() };
}

async function makeCheck(
  cp: TestControlPlane,
  fields: Record<string, unknown> = {},
  path = 'url',
): Promise<SlotCheck> {
  const { status, body } = await cp.api('POST', `/v1/checks/${path}`, {
    name: 'shop',
    locations: ['eu-west-1'],
    frequency: 1,
    ...(path === 'url' ? { request: { url: 'https://a.example' } } : {}),
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body as SlotCheck;
}

const outcomesOf = (items: readonly ItemOutcome[]): string[] => items.map(({ outcome }) => outcome);

test('a key of another account, knowing a check, neither takes nor ends nor sees its runs', async () => {
  await using stage = await setUp();
  const { clock, cp } = stage;
  const check = await makeCheck(cp);
  clock.advance(8 * minute);
  const slots = slotsOf(check, clock.now());
  assert.ok(slots.length >= 7);
  const own = await KeyedAgent.open(cp, 'eu-west-1');
  const stranger = await createAccount(cp.controlPlane.services, 'stranger');
  const hostile = await KeyedAgent.open(cp, 'eu-west-1', stranger);

  // As it was done: ids that follow from public values, before the true results arrive.
  const early = slots.flatMap((scheduledFor) => {
    const runId = runIdOfSlot(
      { checkId: check.id, location: 'eu-west-1', scheduledFor },
      sha256Hex,
    );
    const guessed = { runId, id: resultIdOfAttempt(runId, 1, sha256Hex) };
    return [
      resultOf(check.id, { scheduledFor, ...guessed }),
      hostile.result(check.id, scheduledFor),
      { ...resultOf(check.id, { ...guessed, scheduledFor: null }), jobId: randomUUID() },
      {
        kind: 'missed',
        id: guessed.id,
        runId,
        checkId: check.id,
        slotLocation: 'eu-west-1',
        scheduledFor,
        reason: 'agent-overloaded',
      },
    ];
  });
  assert.deepEqual(new Set(outcomesOf(await hostile.handIn(...early))), new Set(['refused']));

  const failures = slots.map((slot) => own.result(check.id, slot, { hasFailures: true }));
  assert.deepEqual(new Set(outcomesOf(await own.handIn(...failures))), new Set(['accepted']));
  const { body: status } = await cp.api('GET', `/v1/check-statuses/${check.id}`);
  assert.equal(status.hasFailures, true);

  // Knowing the ids of stored runs helps as little.
  const late = failures.map((item) => ({ ...item, hasFailures: false }));
  assert.deepEqual(new Set(outcomesOf(await hostile.handIn(...late))), new Set(['refused']));
});

test('a thousand random submissions about the runs of another account have no effect', async (t) => {
  const seed = testSeed();
  t.diagnostic(`seed ${seed}`);
  await using stage = await setUp();
  const { clock, cp } = stage;
  const { services } = cp.controlPlane;
  const check = await makeCheck(cp, { locations: ['eu-west-1', 'us-east-1'] });
  const own = await KeyedAgent.open(cp, 'eu-west-1');
  const [job] = (await own.checkIn()).jobs;
  const triggered = await makeCheck(cp, { name: 'triggered' });
  const { jobs } = await own.checkIn();
  clock.advance(30 * minute);
  const slots = slotsOf(check, clock.now());
  const mine = slots.map((slot) => own.result(check.id, slot, { hasFailures: true }));
  await own.handIn(
    ...mine.slice(0, 10),
    own.result(check.id, slots[12] ?? 0, { resultType: 'ATTEMPT' }),
  );
  const stranger = await createAccount(services, 'stranger');
  const hostile = await KeyedAgent.open(cp, 'eu-west-1', stranger);

  const random = seededRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const known = [...jobs, ...(job === undefined ? [] : [job])];
  const item = (): unknown => {
    const of = random() < 0.7 ? pick(mine) : hostile.result(check.id, pick(slots));
    const aJob = known.length > 0 && random() < 0.3 ? pick(known) : undefined;
    return {
      ...of,
      ...(random() < 0.2 ? { checkId: triggered.id } : {}),
      ...(random() < 0.2 ? { kind: 'missed', reason: 'agent-overloaded' } : {}),
      ...(random() < 0.3 ? { scheduledFor: null } : {}),
      ...(random() < 0.3 ? { resultType: pick(['FINAL', 'ATTEMPT']) } : {}),
      ...(random() < 0.3 ? { attempt: pick([1, 2, 3]), id: randomUUID() } : {}),
      ...(random() < 0.2
        ? { slotLocation: 'us-east-1', runLocation: pick(['us-east-1', 'eu-west-1']) }
        : {}),
      ...(aJob === undefined ? {} : { jobId: aJob.id, runId: aJob.runId, checkId: aJob.check.id }),
    };
  };
  await own.checkIn();
  const before = await dumpTables(services.db, { accountId: cp.accountId });
  for (let batch = 0; batch < 20; batch += 1) {
    const outcomes = await hostile.handIn(...Array.from({ length: 50 }, item));
    assert.deepEqual(new Set(outcomesOf(outcomes)), new Set(['refused']));
  }
  const jobIds = known.map(({ id }) => id);
  await hostile.call('leases/renew', { agentId: own.id, jobIds });
  await hostile.call('release', { agentId: own.id, jobIds });
  await hostile.call('goodbye', { agentId: own.id });
  assert.deepEqual(await dumpTables(services.db, { accountId: cp.accountId }), before);
  assert.equal(services.hub.isServed(cp.accountId, 'eu-west-1'), true);
});

test('a location ends no run of another one, and tells nothing about its slots', async () => {
  await using stage = await setUp();
  const { clock, cp } = stage;
  const check = await makeCheck(cp, { locations: ['eu-west-1', 'us-east-1'], runParallel: true });
  const robin = await makeCheck(cp, { locations: ['eu-west-1', 'us-east-1'] });
  clock.advance(5 * minute);
  const own = await KeyedAgent.open(cp, 'eu-west-1');
  const other = await KeyedAgent.open(cp, 'us-east-1');
  const [slot = 0, second = 0] = slotsOf(check, clock.now());
  const attempt = own.result(check.id, slot, { resultType: 'ATTEMPT', hasFailures: true });
  assert.deepEqual(outcomesOf(await own.handIn(attempt)), ['accepted']);
  const forged: unknown[] = [
    { ...attempt, resultType: 'FINAL', hasFailures: false },
    { ...attempt, resultType: 'FINAL', runLocation: 'us-east-1' },
    { ...own.result(check.id, second), runLocation: 'us-east-1' },
    {
      kind: 'missed',
      id: randomUUID(),
      runId: attempt.runId,
      checkId: check.id,
      slotLocation: 'eu-west-1',
      scheduledFor: second,
      reason: 'agent-overloaded',
    },
  ];
  assert.deepEqual(new Set(outcomesOf(await other.handIn(...forged))), new Set(['refused']));
  const { body: runs } = await cp.api('GET', `/v1/check-runs/${check.id}`);
  assert.deepEqual(
    runs.map((run: { state: string }) => run.state),
    ['RUNNING'],
  );
  // Of a check whose locations take turns, each slot is taken from its own location alone.
  const turns = slotsOf(robin, clock.now());
  const here = await own.handIn(...turns.map((at) => own.result(robin.id, at)));
  const there = await other.handIn(...turns.map((at) => other.result(robin.id, at)));
  for (const [index] of turns.entries()) {
    assert.deepEqual([here[index]?.outcome, there[index]?.outcome].toSorted(), [
      'accepted',
      'refused',
    ]);
  }
});

test('a run of no slot is taken for a job that was leased here, also when the job is long over', async () => {
  await using stage = await setUp();
  const { clock, cp } = stage;
  const own = await KeyedAgent.open(cp, 'eu-west-1');
  const check = await makeCheck(cp, { locations: ['eu-west-1', 'us-east-1'] });
  const [job] = (await own.checkIn()).jobs;
  const other = await KeyedAgent.open(cp, 'us-east-1');
  assert.ok(job !== undefined);
  const result = resultOfJob(job, { id: own.ids.ofAttempt(job.runId, 1) });
  const refused = async (agent: KeyedAgent, fields: Partial<ResultSubmission>) => {
    const [outcome] = await agent.handIn({ ...result, ...fields });
    assert.equal(outcome?.outcome, 'refused', JSON.stringify(fields));
    return outcome.reason ?? '';
  };
  assert.match(await refused(own, { jobId: null }), /jobId: is needed/);
  assert.match(await refused(own, { jobId: randomUUID() }), /no such job was leased here/);
  assert.match(await refused(own, { runId: randomUUID() }), /no such job was leased here/);
  assert.match(await refused(own, { scheduledFor: start }), /was for another run/);
  assert.match(await refused(own, { id: randomUUID() }), /^id: is not the id/);
  assert.match(
    await refused(other, { runLocation: 'us-east-1', slotLocation: 'us-east-1' }),
    /no such job was leased here/,
  );
  clock.advance(24 * 60 * minute);
  assert.deepEqual(outcomesOf(await own.handIn(result)), ['accepted']);
  assert.equal(check.id, job.check.id);
});

test('agents of both protocols in one location record a slot once, whichever is first', async () => {
  await using stage = await setUp();
  const { clock, cp } = stage;
  const check = await makeCheck(cp);
  clock.advance(5 * minute);
  const keyed = await KeyedAgent.open(cp, 'eu-west-1');
  const legacy = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  assert.equal('idKey' in (await legacy.checkIn()), false);
  const [first = 0, second = 0, third = 0] = slotsOf(check, clock.now());
  const older = (scheduledFor: number, fields: Partial<ResultSubmission> = {}) =>
    resultOf(check.id, {
      scheduledFor,
      startedAt: scheduledFor,
      stoppedAt: scheduledFor,
      ...fields,
    });
  assert.deepEqual(outcomesOf(await legacy.handIn(older(first))), ['accepted']);
  assert.deepEqual(outcomesOf(await keyed.handIn(keyed.result(check.id, first))), ['duplicate']);
  assert.deepEqual(outcomesOf(await keyed.handIn(keyed.result(check.id, second))), ['accepted']);
  assert.deepEqual(outcomesOf(await legacy.handIn(older(second))), ['duplicate']);
  // An attempt by one is ended by the other, and a third one in the same batch is late.
  const attempt = older(third, { resultType: 'ATTEMPT', hasFailures: true });
  assert.deepEqual(outcomesOf(await legacy.handIn(attempt)), ['accepted']);
  const both = [keyed.result(check.id, third), older(third, { attempt: 2 })];
  assert.deepEqual(outcomesOf(await keyed.handIn(...both)), ['accepted', 'late']);
  const { body } = await cp.api('GET', `/v1/check-runs/${check.id}`);
  assert.deepEqual(
    body.map((run: { state: string }) => run.state),
    ['FINAL', 'FINAL', 'FINAL'],
  );
});

test('a bad item is refused alone and by name; its neighbours are stored', async () => {
  await using stage = await setUp();
  const { clock, cp } = stage;
  const check = await makeCheck(cp);
  clock.advance(5 * minute);
  const agent = await KeyedAgent.open(cp, 'eu-west-1');
  const [slot = 0, neighbour = 0] = slotsOf(check, clock.now());
  const good = agent.result(check.id, slot);
  const year = 365 * 24 * 60 * minute;
  const ahead = slotsOf(check, clock.now() + 49 * 60 * minute).at(-1) ?? 0;
  const details = {
    ...{ assertions: [], response: null, requestError: null, jobAssets: null, pcapDataUrl: null },
    jobLog: { setup: [], request: [], teardown: [] },
  };
  const bad: [unknown, RegExp][] = [
    [{ ...good, responseTime: 1e300 }, /^responseTime: /],
    [{ ...good, checkType: '__proto__' }, /^checkType: the check is of type URL/],
    [{ ...good, checkType: 'constructor' }, /^checkType: /],
    [{ ...good, checkType: 'BROWSER' }, /^checkType: /],
    [agent.result(check.id, slot + year), /^scheduledFor: lies in the future/],
    [agent.result(check.id, slot - year), /^scheduledFor: is longer ago/],
    [agent.result(check.id, ahead), /^scheduledFor: lies in the future/],
    [agent.result(check.id, slot + 1), /^scheduledFor: is no slot/],
    [{ ...good, startedAt: Date.UTC(2100, 0) }, /^startedAt: lies in the future/],
    [{ ...good, stoppedAt: 0 }, /^stoppedAt: is longer ago/],
    [{ ...good, attempt: 2 ** 53 }, /^attempt: /],
    [{ ...good, attempt: 101 }, /^attempt: /],
    [{ ...good, name: 'x'.repeat(1_001) }, /^name: /],
    [{ ...good, checkType: 'x'.repeat(65) }, /^checkType: /],
    [
      { ...good, retryElsewhere: { notBefore: Date.UTC(2100, 0), sequenceStartedAt: slot } },
      /^retryElsewhere.notBefore: /,
    ],
    [
      { ...good, apiCheckResult: { ...details, request: { deep: '<nested>' } } },
      /nested too deeply/,
    ],
    [
      { ...good, apiCheckResult: { ...details, request: { long: 'x'.repeat(2_200_000) } } },
      /^apiCheckResult: has \d+ bytes/,
    ],
    [{ ...good, id: randomUUID() }, /^id: /],
    [null, /^item: /],
    [[[]], /^item: /],
  ];
  const items = [...bad.map(([item]) => item), agent.result(check.id, neighbour)];
  const nested = '['.repeat(200_000) + ']'.repeat(200_000);
  const text = JSON.stringify({ agentId: agent.id, items }).replace('"<nested>"', nested);
  const answer = await agent.call('results', text);
  assert.equal(answer.status, 200);
  const outcomes = answer.body.items as ItemOutcome[];
  for (const [index, [, reason]] of bad.entries()) {
    assert.equal(outcomes[index]?.outcome, 'refused', String(reason));
    assert.match(outcomes[index]?.reason ?? '', reason);
  }
  assert.equal(outcomes.at(-1)?.outcome, 'accepted');
  assert.deepEqual(outcomesOf(await agent.handIn(good)), ['accepted']);
});

test('what an agent learned in one location is played by agents of that location alone', async () => {
  await using stage = await setUp();
  const { clock, cp } = stage;
  const { id } = await makeCheck(
    cp,
    {
      locations: ['eu-west-1', 'us-east-1'],
      runParallel: true,
      frequency: 30,
      prompt: 'buy a lamp',
    },
    'agentic',
  );
  const check = (await cp.api('GET', `/v1/checks/${id}`)).body as SlotCheck;
  clock.advance(60 * minute);
  const hostile = await KeyedAgent.open(cp, 'eu-west-1');
  const other = await KeyedAgent.open(cp, 'us-east-1');
  const [slot = 0] = slotsOf(check, clock.now());
  const learnedScript = { promptHash: 'h', script: '"steal"' };
  const learned = hostile.result(id, slot, { checkType: 'AGENTIC', learnedScript });
  assert.deepEqual(outcomesOf(await hostile.handIn(learned)), ['accepted']);
  const givenTo = async (agent: KeyedAgent) =>
    (await agent.checkIn()).upserts.find((one) => one.id === id)?.learnedScript;
  assert.deepEqual(await givenTo(hostile), learnedScript);
  assert.equal(await givenTo(other), null);
});

test('keys of ids differ between accounts and locations', async () => {
  await using stage = await setUp();
  const { ids } = stage.cp.controlPlane.services;
  fc.assert(
    fc.property(fc.uuid(), fc.uuid(), (one, other) => {
      const keys = new Set([
        ids.keyOf(one, 'eu-west-1'),
        ids.keyOf(one, 'us-east-1'),
        ids.keyOf(other, 'eu-west-1'),
      ]);
      assert.equal(keys.size, one === other ? 2 : 3);
    }),
    { numRuns: 20 },
  );
});

test('keys of ids outlive a restart, and an older database in the place of this one', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  const keyAt = (cp: TestControlPlane) =>
    cp.controlPlane.services.ids.keyOf(cp.accountId, 'eu-west-1');
  let key: string;
  {
    await using cp = await startTestControlPlane({ file });
    key = keyAt(cp);
  }
  {
    await using cp = await startTestControlPlane({ file });
    assert.equal(keyAt(cp), key);
    // One from before there was such a key.
    const { db } = cp.controlPlane.services;
    await db.deleteFrom('installation').where('name', '=', encryptedFacts.ids).execute();
  }
  await using cp = await startTestControlPlane({ file });
  assert.equal(keyAt(cp), key);
  await using other = await startTestControlPlane();
  assert.notEqual(other.controlPlane.services.ids.keyOf(cp.accountId, 'eu-west-1'), key);
});
