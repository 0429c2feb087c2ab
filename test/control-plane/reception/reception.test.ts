// PostgreSQL in the long tier: hours pass second by second, and in each of them timers ask a server a dozen times;
// results/release-runs.test.ts, agents.test.ts and alerting/alert-on.test.ts run its statements on both.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import type { CheckInAnswer } from '@monitor/shared/contract/agent-protocol.ts';
import { renameFutureRuns } from '../../../control-plane/results/rename-future-runs.ts';
import { sweepSlots } from '../../../control-plane/results/sweep-slots.ts';
import { evaluateDueAlerts } from '../../../control-plane/alerting/evaluate-due-alerts.ts';
import { passTime, startTestControlPlane } from '../../support/control-plane.ts';
import { checkInOf, FakeAgent, resultOf } from '../../support/fake-agent.ts';
import { KeyedAgent, slotsOf, type SlotCheck } from '../../support/keyed-agent.ts';
import { eventually, temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const year = 365 * 24 * hour;
const start = Date.parse('2026-11-21T08:00:00Z');

test('agents are not gone because the control plane was stopped, and gone when they are', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const agent = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  const { hub } = cp.controlPlane.services;
  const isServed = () => hub.isServed(cp.accountId, 'eu-west-1');
  await agent.checkIn();
  await passTime(clock, 5 * second);
  clock.freeze(10 * minute);
  assert.equal(isServed(), true);
  await passTime(clock, 5 * second);
  assert.equal(isServed(), true, 'it has as long as it had left');
  await passTime(clock, 5 * second);
  assert.equal(isServed(), false);
});

test('a polling agent learns at once that the clock was set, by one clock', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const agent = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  await agent.checkIn();
  const { snapshot } = agent;
  const waiting = agent.call<CheckInAnswer>(
    'check-in',
    checkInOf({ agentId: agent.id, snapshot, waitMs: 25_000 }, ['URL', 'TCP', 'DNS', 'ICMP']),
  );
  const { db } = cp.controlPlane.services;
  await eventually(
    async () => (await db.selectFrom('agents').select('capacity_light').execute()).length > 0,
    () => 'the check-in came',
  );
  await passTime(clock, 3 * second);
  clock.setWall(clock.now() + 3 * hour);
  await passTime(clock, 2 * second);
  const { serverTime } = await waiting;
  assert.ok(serverTime.sentAt >= start + 3 * hour);
  assert.ok(serverTime.sentAt - serverTime.receivedAt < minute);
});

test('a lease does not run out while nobody could renew it', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const key = await cp.locationKey('eu-west-1');
  const [one, other] = [new FakeAgent(cp, key), new FakeAgent(cp, key)];
  await one.checkIn();
  await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'a', locations: ['eu-west-1'], frequency: 10 },
    request: { url: 'https://a.example' },
  });
  assert.equal((await one.checkIn()).jobs.length, 1);
  clock.freeze(5 * minute);
  assert.equal((await other.checkIn()).jobs.length, 0, 'it is being run');
  await passTime(clock, 2 * minute);
  assert.equal((await other.checkIn()).jobs.length, 1);
});

test('an escalation by time does not count the time in which nothing could be heard', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const agent = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  const { body } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'a', locations: ['eu-west-1'], frequency: 1 },
    request: { url: 'https://a.example' },
    useGlobalAlertSettings: false,
    alertSettings: {
      escalationType: 'TIME_BASED',
      timeBasedEscalation: { minutesFailingThreshold: 5 },
    },
  });
  const { id } = body as { id: string };
  await passTime(clock, 2 * minute);
  const at = clock.now();
  const failed = { scheduledFor: at, startedAt: at, stoppedAt: at, hasFailures: true };
  await agent.submit(resultOf(id, failed));
  const alerts = async () => {
    await evaluateDueAlerts(services);
    return (await services.db.selectFrom('check_alerts').select('alert_type').execute()).length;
  };
  clock.freeze(hour);
  await passTime(clock, 10 * second);
  assert.equal(await alerts(), 0);
  clock.setWall(clock.now() + 3 * hour);
  await passTime(clock, 2 * minute);
  assert.equal(await alerts(), 0);
  clock.setWall(clock.now() - 3 * hour);
  await passTime(clock, 2 * minute);
  assert.equal(await alerts(), 0);
  await passTime(clock, 2 * minute);
  assert.equal(await alerts(), 1);
});

test('slots that a step skipped are not missed, and those of a future that was called off are run', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const agent = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  await agent.checkIn();
  const { body } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'a', locations: ['eu-west-1'], frequency: 10, frequencyOffset: 1 },
    request: { url: 'https://a.example' },
  });
  const { id } = body as { id: string };
  const runs = () =>
    services.db
      .selectFrom('check_runs')
      .select(['scheduled_for', 'state'])
      .where('scheduled_for', 'is not', null)
      .orderBy('id')
      .execute();
  await passTime(clock, 2 * second);
  clock.setWall(start + 3 * hour);
  await passTime(clock, minute);
  while (await sweepSlots(services));
  assert.deepEqual(await runs(), []);
  const slot = start + 3 * hour + 10 * minute;
  await passTime(clock, 12 * minute);
  const result = { scheduledFor: slot, startedAt: slot, stoppedAt: slot };
  assert.equal((await agent.submit(resultOf(id, result)))[0]?.outcome, 'accepted');
  await passTime(clock, 20 * minute);
  while (await sweepSlots(services));
  assert.ok((await runs()).some(({ state }) => state === 'MISSED'));
  const stored = await runs();
  clock.setWall(clock.now() - 3 * hour);
  // What agents say soon after a step is from before it.
  await passTime(clock, 2 * minute);
  const place = { accountId: cp.accountId, location: 'eu-west-1' };
  services.reception.hearClock(place, -3 * hour);
  await renameFutureRuns(services);
  assert.deepEqual(await runs(), stored, 'the agent says that the clock is behind');
  services.reception.hearClock(place, 0);
  while (await renameFutureRuns(services));
  assert.deepEqual(
    (await runs()).filter((run) => (run.scheduled_for ?? 0) > clock.now() + minute),
    [],
  );

  // Two hours and more later the same slots come again.
  clock.advance(slot - clock.now() - minute);
  await renameFutureRuns(services);
  const of = (await runs()).filter((run) => (run.scheduled_for ?? 0) >= slot);
  assert.deepEqual(
    of.filter((run) => (run.scheduled_for ?? 0) < slot + 5 * minute),
    [],
  );
  await passTime(clock, 2 * minute);
  const measuredAgain = resultOf(id, { ...result, stoppedAt: slot + 1 });
  assert.equal((await agent.submit(measuredAgain))[0]?.outcome, 'accepted');
  const { body: results } = await cp.api('GET', `/v1/check-results/${id}`);
  assert.equal((results as unknown[]).length, 2, 'what was measured meanwhile is kept');
});

test('a clock that is far ahead deletes nothing until agents confirm it', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { reception } = cp.controlPlane.services;
  assert.equal(reception.isClockTrusted(), true);
  clock.setWall(start + year);
  assert.equal(reception.isClockTrusted(), false);
  await passTime(clock, 2 * minute);
  reception.hearClock({ accountId: 'a', location: 'one' }, year);
  reception.hearClock({ accountId: 'a', location: 'two' }, year + 300);
  assert.match(reception.clockProblem ?? '', /365 days ahead of the agents of 2 locations/);
  clock.advance(48 * hour);
  assert.equal(reception.isClockTrusted(), false);
  clock.setWall(clock.now() - year);
  await reception.recorded();
  assert.equal(reception.isClockTrusted(), true);
  assert.equal(reception.clockProblem, null);
  clock.setWall(clock.now() + year);
  await passTime(clock, 2 * minute);
  reception.hearClock({ accountId: 'a', location: 'one' }, 20);
  assert.equal(reception.isClockTrusted(), false, 'others may say something else');
  await passTime(clock, 2 * minute);
  reception.hearClock({ accountId: 'a', location: 'one' }, 20);
  assert.equal(reception.isClockTrusted(), true, 'it was three days behind before');
});

test('what agents measured is taken while the clock is wrong for a while, whichever way', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const { body } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'a', locations: ['eu-west-1'], frequency: 10, frequencyOffset: 1 },
    request: { url: 'https://a.example' },
  });
  const check = body as SlotCheck;
  await passTime(clock, 2 * second);
  clock.advance(hour);
  const slots = slotsOf(check, clock.now());
  const agent = await KeyedAgent.open(cp, 'eu-west-1');
  const outcomeOf = async (slot = 0) =>
    (await agent.handIn(agent.result(check.id, slot)))[0]?.outcome;
  assert.equal(await outcomeOf(slots[0]), 'accepted');
  // As a machine that was paused goes on with the clock that it had then.
  clock.setWall(clock.now() - hour);
  assert.equal(await outcomeOf(slots[3]), 'accepted');
  clock.setWall(clock.now() + year);
  assert.equal(services.reception.isClockTrusted(), false);
  assert.equal(await outcomeOf(slots[4]), 'accepted');
  const finals = await services.db
    .selectFrom('check_runs')
    .select('scheduled_for')
    .where('state', '=', 'FINAL')
    .orderBy('scheduled_for')
    .execute();
  assert.deepEqual(
    finals.map((run) => run.scheduled_for),
    [slots[0], slots[3], slots[4]],
  );
});

test('a restart does not confirm a clock that is far ahead', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  const clock = new TestClock(start);
  const first = await startTestControlPlane({ clock, file });
  clock.setWall(start + year);
  await passTime(clock, 2 * minute);
  await first[Symbol.asyncDispose]();
  await using cp = await startTestControlPlane({ clock, file });
  const { reception } = cp.controlPlane.services;
  await passTime(clock, 2 * minute);
  assert.equal(reception.isClockTrusted(), false);
  await passTime(clock, 20 * minute);
  assert.equal(reception.isClockTrusted(), false);
  clock.setWall(clock.now() - year);
  assert.equal(reception.isClockTrusted(), true);
});
