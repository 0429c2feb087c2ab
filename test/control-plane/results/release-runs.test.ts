import assert from 'node:assert/strict';
import test from 'node:test';
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { runDayIn } from '../../../control-plane/db/run-days.ts';
import { renameFutureRuns } from '../../../control-plane/results/rename-future-runs.ts';
import { releaseRuns } from '../../../control-plane/results/release-runs.ts';
import { passTime, startTestControlPlane } from '../../support/control-plane.ts';
import { KeyedAgent, slotsOf, type SlotCheck } from '../../support/keyed-agent.ts';
import { isLeftOutOnPostgres } from '../../support/postgres.ts';
import { TestClock } from '../../support/test-clock.ts';

const second = 1_000;
const stepMs = 40 * second;
const start = Date.parse('2026-11-21T08:00:00Z');

type Step = [
  what: 'passes' | 'fails' | 'both' | 'again' | 'back' | 'measured' | 'slot',
  outcome?: string,
];

/** `passes` is what was measured of the slot while the clock was ahead, `fails` what was when it came. */
const plays: Record<
  string,
  { steps: Step[]; kept: string[]; ofSlot: string; isAfterStep?: boolean }
> = {
  'what was stored before': {
    steps: [['passes', 'accepted'], ['back'], ['slot'], ['fails', 'accepted']],
    kept: ['false -40', 'true 0'],
    ofSlot: 'true 0',
  },
  'what was stored before and is sent again': {
    steps: [
      ['passes', 'accepted'],
      ['back'],
      ['again', 'duplicate'],
      ['slot'],
      ['fails', 'accepted'],
    ],
    kept: ['false -40', 'true 0'],
    ofSlot: 'true 0',
  },
  'what was stored before and is sent again once the slot has come': {
    steps: [
      ['passes', 'accepted'],
      ['back'],
      ['slot'],
      ['again', 'duplicate'],
      ['fails', 'accepted'],
      ['again', 'duplicate'],
    ],
    kept: ['false -40', 'true 0'],
    ofSlot: 'true 0',
  },
  'what was on its way': {
    steps: [
      ['back'],
      ['passes', 'accepted'],
      ['again', 'duplicate'],
      ['slot'],
      ['fails', 'accepted'],
    ],
    kept: ['false -40', 'true 0'],
    ofSlot: 'true 0',
  },
  'what waited until the slot came': {
    steps: [['back'], ['slot'], ['passes', 'accepted'], ['fails', 'accepted']],
    kept: ['false -40', 'true 0'],
    ofSlot: 'true 0',
  },
  'what comes with the slot': {
    steps: [['back'], ['slot'], ['both', 'accepted,accepted']],
    kept: ['false -40', 'true 0'],
    ofSlot: 'true 0',
  },
  'what an agent that is cut off measured after that, by the clock from before': {
    steps: [
      ...([['back'], ['measured'], ['passes', 'accepted'], ['again', 'duplicate']] as Step[]),
      ...([['slot'], ['again', 'duplicate'], ['fails', 'accepted']] as Step[]),
    ],
    kept: ['false -40', 'true 0'],
    ofSlot: 'true 0',
    isAfterStep: true,
  },
  'a slot that is run twice while the clock is right': {
    steps: [['slot'], ['passes', 'accepted'], ['fails', 'duplicate'], ['again', 'duplicate']],
    kept: ['false 0'],
    ofSlot: 'false 0',
  },
};

/** The others order the same statements otherwise. */
const onBoth = ['what was stored before', 'what comes with the slot'];

for (const [what, { steps, kept, ofSlot, isAfterStep = false }] of Object.entries(plays)) {
  test(`the clock is set back: ${what}`, async (t) => {
    if (!onBoth.includes(what) && isLeftOutOnPostgres(t)) return;
    const clock = new TestClock(start);
    await using cp = await startTestControlPlane({ clock });
    const { db } = cp.controlPlane.services;
    const { body } = await cp.api('POST', '/v1/checks/url', {
      ...{ name: 'a', locations: ['eu-west-1'], frequency: 0, frequencyOffset: 10 },
      request: { url: 'https://a.example' },
    });
    const check = body as SlotCheck;
    const agent = await KeyedAgent.open(cp, 'eu-west-1');
    await passTime(clock, 30 * second);
    // The slot that was run last before the step.
    const ahead = steps.some(([step]) => step === 'back');
    if (ahead) clock.setWall(clock.now() + stepMs);
    await passTime(clock, 10 * second);
    const [before = 0, last = 0] = slotsOf(check, clock.now()).slice(-2);
    const slot = isAfterStep ? 2 * last - before : last;
    const result = (fields: Partial<ResultSubmission>) =>
      agent.result(check.id, slot, { ...fields, startedAt: slot + 3, stoppedAt: slot + 23 });
    const passes = result({});
    const fails = result({ hasFailures: true });
    const submit = async (...items: ResultSubmission[]) =>
      (await agent.handIn(...items)).map(({ outcome }) => outcome).join();
    for (const [step, expected] of steps) {
      if (step === 'back') clock.setWall(clock.now() - stepMs);
      else if (step === 'measured') await passTime(clock, slot + second - stepMs - clock.now());
      else if (step === 'slot') await passTime(clock, Math.max(0, slot + second - clock.now()));
      else if (step === 'both') assert.equal(await submit(passes, fails), expected);
      else assert.equal(await submit(step === 'fails' ? fails : passes), expected, step);
    }
    const results = await db.selectFrom('check_results').selectAll().orderBy('seq').execute();
    const line = (each: { has_failures: number; started_at: number }): string =>
      `${each.has_failures === 1} ${Math.round((each.started_at - slot) / second)}`;
    assert.deepEqual(results.map(line).sort(), kept);
    for (const each of results) assert.equal(each.stopped_at - each.started_at, 20);
    const runs = await db.selectFrom('check_runs').selectAll().execute();
    assert.equal(runs.length, results.length);
    const run = runs.find((each) => each.scheduled_for === slot);
    assert.deepEqual(results.filter(({ id }) => id === run?.result_id).map(line), [ofSlot]);
    for (const { id } of results) {
      const { status } = await cp.api('GET', `/v1/check-results/${check.id}/${id}`);
      assert.equal(status, 200);
    }
  });
}

test('a failure at a slot that failed before the clock was set back is alerted again', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { db } = cp.controlPlane.services;
  const { body } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'a', locations: ['eu-west-1'], frequency: 0, frequencyOffset: 10 },
    request: { url: 'https://a.example' },
  });
  const check = body as SlotCheck;
  const agent = await KeyedAgent.open(cp, 'eu-west-1');
  await passTime(clock, 30 * second);
  clock.setWall(clock.now() + stepMs);
  await passTime(clock, 20 * second);
  const [failing = 0, passing = 0] = slotsOf(check, clock.now()).slice(-2);
  const measure = async (slot: number, hasFailures: boolean, lateMs = 3) => {
    const times = { startedAt: slot + lateMs, stoppedAt: slot + 23 };
    const [item] = await agent.handIn(agent.result(check.id, slot, { ...times, hasFailures }));
    assert.equal(item?.outcome, 'accepted');
    await passTime(clock, second);
  };
  const alerts = async () =>
    (await db.selectFrom('check_alerts').select(['alert_type', 'incident_key']).execute()).toSorted(
      (one, other) => one.alert_type.localeCompare(other.alert_type),
    );
  await measure(failing, true);
  await measure(passing, false);
  assert.equal((await alerts()).length, 2);
  clock.setWall(clock.now() - stepMs);
  await passTime(clock, failing + second - clock.now());
  await measure(failing, true, 7);
  const [failure, again, recovery] = await alerts();
  assert.deepEqual(
    [failure, again, recovery].map((alert) => alert?.alert_type),
    ['ALERT_FAILURE', 'ALERT_FAILURE', 'ALERT_RECOVERY'],
  );
  assert.notEqual(failure?.incident_key, again?.incident_key);
});

for (const [isDownAhead, expected] of [
  [true, ['ALERT_FAILURE', 'ALERT_RECOVERY']],
  [false, ['ALERT_FAILURE']],
] as const) {
  const [ahead, then] = isDownAhead ? ['fails', 'passes'] : ['passes', 'fails'];
  test(`a slot that is yet to come ${ahead} by the clock from before: the one that comes ${then}`, async (t) => {
    if (isLeftOutOnPostgres(t)) return;
    const clock = new TestClock(start);
    await using cp = await startTestControlPlane({ clock });
    const { db } = cp.controlPlane.services;
    const { body } = await cp.api('POST', '/v1/checks/url', {
      ...{ name: 'a', locations: ['eu-west-1', 'us-east-1'], frequency: 0, frequencyOffset: 10 },
      ...{ runParallel: true, request: { url: 'https://a.example' } },
    });
    const check = body as SlotCheck;
    const agent = await KeyedAgent.open(cp, 'eu-west-1');
    await passTime(clock, 30 * second);
    const measure = async (slot: number, startedAt: number, hasFailures: boolean) => {
      const times = { startedAt, stoppedAt: startedAt + 20 };
      const [item] = await agent.handIn(agent.result(check.id, slot, { ...times, hasFailures }));
      assert.equal(item?.outcome, 'accepted');
    };
    clock.setWall(clock.now() + stepMs);
    await passTime(clock, 10 * second);
    const aheadSlot = slotsOf(check, clock.now()).at(-1) ?? 0;
    clock.setWall(clock.now() - stepMs);
    await passTime(clock, 3 * second);
    await measure(aheadSlot, aheadSlot + 3, isDownAhead);
    await passTime(clock, 11 * second);
    const slot = slotsOf(check, clock.now()).at(-1) ?? 0;
    assert.ok(slot < aheadSlot);
    await measure(slot, slot + 3, !isDownAhead);
    const alerts = await db
      .selectFrom('check_alerts')
      .select('alert_type')
      .orderBy('seq')
      .execute();
    assert.deepEqual(
      alerts.map(({ alert_type: type }) => type),
      expected,
    );
  });
}

test('a second attempt that was made while the clock was ahead is of its time when the clock is right', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { db } = cp.controlPlane.services;
  const { body } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'a', locations: ['eu-west-1'], frequency: 0, frequencyOffset: 10 },
    ...{ retryStrategy: { type: 'FIXED', baseBackoffSeconds: 3, maxRetries: 1 } },
    request: { url: 'https://a.example' },
  });
  const check = body as SlotCheck;
  const agent = await KeyedAgent.open(cp, 'eu-west-1');
  await passTime(clock, 30 * second);
  const slot = slotsOf(check, clock.now()).at(-1) ?? 0;
  const measure = async (attempt: number, resultType: 'ATTEMPT' | 'FINAL') => {
    const times = { startedAt: clock.now(), stoppedAt: clock.now() + 20 };
    const fields = { ...times, attempt, resultType, hasFailures: true };
    const [item] = await agent.handIn(agent.result(check.id, slot, fields));
    assert.equal(item?.outcome, 'accepted');
    return times.startedAt;
  };
  const first = await measure(1, 'ATTEMPT');
  clock.setWall(clock.now() + stepMs);
  await passTime(clock, 3 * second);
  const again = await measure(2, 'FINAL');
  clock.setWall(clock.now() - stepMs);
  await passTime(clock, 2 * second);
  const results = await db.selectFrom('check_results').selectAll().orderBy('seq').execute();
  assert.deepEqual(
    results.map((each) => [each.scheduled_for, each.started_at, each.stopped_at]),
    [
      [slot, first, first + 20],
      [slot, again - stepMs, again - stepMs + 20],
    ],
  );
  assert.ok(results.every(({ created_at: stored }) => stored <= clock.now()));
});

test('nobody takes a run of another location off its slot', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { body } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'a', frequency: 0, frequencyOffset: 10, runParallel: true },
    ...{ locations: ['eu-west-1', 'us-east-1'], request: { url: 'https://a.example' } },
  });
  const check = body as SlotCheck;
  const [agent, other] = [
    await KeyedAgent.open(cp, 'eu-west-1'),
    await KeyedAgent.open(cp, 'us-east-1'),
  ];
  await passTime(clock, 40 * second);
  const slot = slotsOf(check, clock.now()).at(-1) ?? 0;
  clock.setWall(clock.now() - 2 * stepMs);
  await passTime(clock, 2 * stepMs + second);
  const result = agent.result(check.id, slot);
  assert.equal((await agent.handIn(result))[0]?.outcome, 'accepted');
  const forged = { ...result, startedAt: slot + 5, hasFailures: true };
  assert.equal((await other.handIn(forged))[0]?.outcome, 'refused');
  assert.equal((await agent.handIn(result))[0]?.outcome, 'duplicate');
});

test('a run that was missed when it was found, and is over when its check is locked, is kept', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { db } = cp.controlPlane.services;
  const { body } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'a', locations: ['eu-west-1'], frequency: 0, frequencyOffset: 10 },
    request: { url: 'https://a.example' },
  });
  const agent = await KeyedAgent.open(cp, 'eu-west-1');
  await passTime(clock, 40 * second);
  const slot = slotsOf(body as SlotCheck, clock.now()).at(-1) ?? 0;
  await agent.handIn(agent.result(body.id as string, slot));
  const runs = () =>
    db
      .selectFrom('check_runs')
      .selectAll()
      .select(runDayIn('check_runs').as('run_day'))
      .where((where) => where.or([where('scheduled_for', '=', slot), where('state', '=', 'FINAL')]))
      .execute();
  const found = (await runs()).map((run) => ({ ...run, state: 'MISSED' }));
  assert.equal(found.length, 1);
  const release = () =>
    db.transaction().execute((unit) => releaseRuns(unit, found, { to: slot, stepMs: -stepMs }));
  await release();
  const released = await runs();
  // Another replica found it as well.
  await release();
  assert.deepEqual(await runs(), released);
  const slots = async () => (await runs()).map((run) => [run.state, run.scheduled_for]);
  assert.deepEqual(await slots(), [['FINAL', null]]);
  // One that came afterwards, from an agent whose clock is ahead, is found by looking for it.
  const ahead = { scheduled_for: clock.now() + 2 * stepMs };
  await db.updateTable('check_runs').set(ahead).where('state', '=', 'FINAL').execute();
  await renameFutureRuns(cp.controlPlane.services);
  assert.deepEqual(await slots(), [['FINAL', null]]);
});
