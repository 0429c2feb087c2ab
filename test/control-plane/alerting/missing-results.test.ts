// SQLite only: it starts on a file, and reads what is sent from there.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import type { CheckInRequest } from '@monitor/shared/contract/agent-protocol.ts';
import type { FleetAgent, LocationState } from '@monitor/shared/contract/fleet.ts';
import type { AlertFacts, AgentHealthFacts } from '../../../control-plane/notifications/facts.ts';
import { messageOf } from '../../../control-plane/notifications/message.ts';
import { watchHealth } from '../../../control-plane/alerting/agent-health.ts';
import { missingResults } from '../../../control-plane/alerting/missing-results.ts';
import { overloadedLocations } from '../../../control-plane/alerting/overloaded-locations.ts';
import { unservedLocations } from '../../../control-plane/alerting/unserved-locations.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { checkInOf, FakeAgent, resultOf } from '../../support/fake-agent.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';
import { makeChannel, makeCheck, SentNotifications } from '../../support/sent-notifications.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const minute = 60_000;
const location = 'eu-west-1';
type Load = NonNullable<CheckInRequest['load']>;
const calm: Load = {
  ...{ overloadedSince: null, reason: null, cpuWaitRatio: 0.01, lastSuspension: null },
};

async function setUp() {
  const folder = temporaryFolder();
  const clock = new TestClock(start);
  const file = join(folder.path, 'control-plane.db');
  const cp = await startTestControlPlane({ clock, file });
  const sent = new SentNotifications<AgentHealthFacts | AlertFacts>(file);
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  const { services } = cp.controlPlane;
  const watch = async () => {
    for (const condition of [missingResults(services), overloadedLocations(services)])
      await watchHealth(services, condition);
  };
  const checkIn = (load: Load) =>
    agent.call('check-in', checkInOf({ agentId: agent.id, load }, ['URL']));
  const submit = async (checkId: string, fields = {}) => {
    const at = clock.now();
    const times = { scheduledFor: at, startedAt: at, stoppedAt: at };
    const [outcome] = await agent.submit(resultOf(checkId, { ...times, ...fields }));
    assert.equal(outcome?.outcome, 'accepted', JSON.stringify(outcome));
  };
  /** So many half minutes in which the agent checks in, and these checks have results. */
  const pass = async (minutes: number, checkIds: readonly string[] = [], load = calm) => {
    for (let half = 0; half < 2 * minutes; half += 1) {
      clock.advance(10_000);
      await checkIn(load);
      clock.advance(10_000);
      await checkIn(load);
      clock.advance(10_000);
      await checkIn(load);
      for (const checkId of checkIds) await submit(checkId);
      await watch();
    }
  };
  const notified = () =>
    sent
      .take()
      .filter(({ facts }) => facts.kind === 'faults')
      .map(({ channel, facts }) => ({ channel, facts: facts as AgentHealthFacts }));
  const state = async (): Promise<LocationState | undefined> => {
    const { body } = await cp.api('GET', '/v1/location-states');
    return (body as LocationState[]).find((each) => each.location === location);
  };
  return {
    ...{ cp, clock, sent, agent, services, watch, checkIn, submit, pass, notified, state },
    async [Symbol.asyncDispose]() {
      sent[Symbol.dispose]();
      await cp[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

test('a served check without results is notified once, with the others of its location, and once when it is over', async () => {
  await using world = await setUp();
  const { cp, pass, notified, state } = world;
  const channel = await makeChannel(cp);
  const one = await makeCheck(cp, [channel], { frequency: 1 });
  const other = await makeCheck(cp, [channel], { frequency: 1, name: 'about' });
  await pass(3, [one, other]);
  await pass(4, []);
  assert.deepEqual(notified(), []);
  await pass(2, []);
  const [notice, ...others] = notified();
  assert.deepEqual(others, []);
  assert.deepEqual(
    [notice?.channel, notice?.facts.code, notice?.facts.checks.map(({ name }) => name)],
    [channel, 'NO_RESULTS', ['about', 'shop']],
  );
  assert.equal(notice?.facts.since, start + 3 * minute);
  const { title, label, tone } = messageOf(notice.facts, 'id', 'https://monitor.example');
  assert.deepEqual([label, tone], ['NOT MONITORED', 'failing']);
  assert.match(title, /^Monitoring is not happening: 2 checks of location "Ireland"/);
  assert.deepEqual(
    (await state())?.faults.map(({ code, checkCount, runs }) => [code, checkCount, runs]),
    [['NO_RESULTS', 2, 0]],
  );
  await pass(10, [one]);
  assert.deepEqual(notified(), [], 'one of them is still silent, and that was notified');
  await pass(1, [one, other]);
  assert.deepEqual(
    notified().map(({ facts }) => [facts.code, facts.isOver, facts.incidentKey]),
    [['NO_RESULTS', true, notice.facts.incidentKey]],
  );
  assert.deepEqual((await state())?.faults, []);
});

test('checks that are not to run or run rarely are not notified, nor is anything while nothing can be received', async () => {
  await using world = await setUp();
  const { cp, clock, pass, notified } = world;
  const channel = await makeChannel(cp);
  const rare = await makeCheck(cp, [channel], { frequency: 60 });
  const idle = await makeCheck(cp, [channel], { frequency: 1, activated: false });
  const muted = await makeCheck(cp, [channel], { frequency: 1, muted: true });
  const tagged = await makeCheck(cp, [channel], { frequency: 1, tags: ['deploy'] });
  const often = await makeCheck(cp, [channel], { frequency: 1 });
  await cp.api('POST', '/v1/maintenance-windows', {
    ...{ name: 'deploy', tags: ['deploy'], repeatUnit: null },
    startsAt: new Date(start).toISOString(),
    endsAt: new Date(start + 100 * 60 * minute).toISOString(),
  });
  await pass(2, [often]);
  clock.freeze(60 * minute);
  await pass(1, []);
  clock.setWall(clock.now() + 180 * minute);
  await pass(1, []);
  clock.setWall(clock.now() - 180 * minute);
  await pass(1, []);
  assert.deepEqual(notified(), []);
  await pass(6, []);
  const notices = notified();
  assert.deepEqual(
    notices.map(({ facts }) => facts.checks.map(({ id }) => id)),
    [[often]],
  );
  assert.match(notices[0]?.facts.message ?? '', /the clock of the control plane was set/);
  assert.ok([rare, idle, muted, tagged].every((id) => id !== often));
});

test('an overloaded location is notified once, and shown in its state and in alerts about its runs', async () => {
  await using world = await setUp();
  const { cp, clock, sent, pass, submit, notified, state } = world;
  const channel = await makeChannel(cp);
  const id = await makeCheck(cp, [channel], { frequency: 1 });
  await pass(1, [id]);
  const since = clock.now();
  const load: Load = {
    ...{ overloadedSince: since, cpuWaitRatio: 0.7, lastSuspension: null },
    reason: 'threads waited\n\u202e70 % of the time',
  };
  await pass(2, [id], load);
  const [notice, ...others] = notified();
  assert.deepEqual(others, []);
  assert.equal(notice?.facts.code, 'LOCATION_OVERLOADED');
  assert.equal(notice.facts.message, 'threads waited 70 % of the time');
  assert.ok(notice.facts.at - since <= 2 * minute);
  assert.equal((await state())?.overloadedSince, new Date(since).toISOString());
  const { body: agents } = await cp.api('GET', '/v1/agents');
  assert.equal((agents as FleetAgent[])[0]?.load?.cpuWaitRatio, 0.7);

  clock.advance(1_000);
  await submit(id, { hasFailures: true, errorMessages: ['status was 500'] });
  const alerts = sent.take().filter(({ facts }) => facts.kind === 'alert');
  assert.equal(alerts.length, 1);
  const { reason } = messageOf(alerts[0]?.facts as AlertFacts, 'id', 'https://monitor.example');
  assert.match(
    reason,
    /The location Ireland is overloaded since 2026-11-21 08:01:00 UTC: threads waited 70 % of the time; times measured there include the agent's own waiting\.$/,
  );

  await pass(2, [id]);
  await pass(1, [id], { ...load, overloadedSince: clock.now() });
  await pass(4, [id]);
  assert.deepEqual(notified(), [], 'what comes and goes is one overload');
  assert.equal((await state())?.overloadedSince, null);
  await pass(3, [id]);
  assert.deepEqual(
    notified().map(({ facts }) => [facts.code, facts.isOver]),
    [['LOCATION_OVERLOADED', true]],
  );
});

test('an overloaded agent that comes and goes is one overload', async () => {
  await using world = await setUp();
  const { cp, clock, pass, notified, services, watch } = world;
  const channel = await makeChannel(cp);
  const id = await makeCheck(cp, [channel], { frequency: 1 });
  const load: Load = { ...calm, overloadedSince: clock.now(), reason: 'threads waited' };
  await pass(2, [id], load);
  assert.deepEqual(
    notified().map(({ facts }) => facts.isOver),
    [false],
  );
  for (let round = 0; round < 3; round += 1) {
    clock.advance(2 * minute);
    assert.equal(services.hub.isServed(cp.accountId, location), false);
    await watch();
    await pass(2, [id], load);
  }
  assert.deepEqual(notified(), []);
});

test('a run in progress, or maintenance, is no result: no recovery is notified', async () => {
  await using world = await setUp();
  const { cp, clock, pass, notified, submit } = world;
  const channel = await makeChannel(cp);
  const id = await makeCheck(cp, [channel], { frequency: 1 });
  await pass(3, [id]);
  await pass(6, []);
  assert.equal(notified().length, 1);
  await submit(id, { resultType: 'ATTEMPT', hasFailures: true });
  await pass(2, []);
  assert.deepEqual(notified(), [], 'its run goes on');
  await cp.api('POST', '/v1/maintenance-windows', {
    ...{ name: 'deploy', tags: [], pauseAllChecks: true, repeatUnit: null },
    startsAt: new Date(clock.now()).toISOString(),
    endsAt: new Date(clock.now() + 10 * minute).toISOString(),
  });
  await pass(5, []);
  assert.deepEqual(notified(), [], 'in maintenance');
  await pass(14, []);
  assert.deepEqual(notified(), [], 'it was notified before');
  await pass(1, [id]);
  assert.deepEqual(
    notified().map(({ facts }) => facts.isOver),
    [true],
  );
});

test('a check in locations without agents warns at once, and is notified after half an hour', async () => {
  await using world = await setUp();
  const { cp, clock, sent, services } = world;
  const channel = await makeChannel(cp);
  await world.checkIn(calm);
  const save = async (locations: string[]) => {
    const { body } = await cp.api('POST', '/v1/checks/url?autoAssignAlerts=false', {
      ...{ name: 'shop', frequency: 10, locations, request: { url: 'https://a.example' } },
      alertChannelSubscriptions: [{ alertChannelId: channel, activated: true }],
    });
    return body as { id: string; warnings?: string[] };
  };
  const nowhere = await save(['us-east-1', 'us-west-1']);
  assert.deepEqual(nowhere.warnings, [
    'no agent serves us-east-1, us-west-1: the check has no results until one does',
  ]);
  const partly = await save([location, 'us-east-1']);
  assert.deepEqual(partly.warnings, [
    'no agent serves us-east-1: the check does not run there until one does',
  ]);
  assert.deepEqual((await save([location])).warnings, undefined);
  const changed = await cp.api('PUT', `/v1/checks/url/${partly.id}`, { locations: [] });
  assert.deepEqual((changed.body as { warnings?: string[] }).warnings, [
    'the check has no location, so it never runs',
  ]);
  const { body } = await cp.api('GET', '/v1/accounts/me/entitlements');
  const { locations } = body as { locations: { all: { id: string; available: boolean }[] } };
  assert.deepEqual(
    locations.all.filter(({ available }) => available).map(({ id }) => id),
    [location],
  );

  const condition = unservedLocations(services);
  const wait = async (minutes: number) => {
    for (let passed = 0; passed < minutes; passed += 1) {
      for (let part = 0; part < 6; part += 1) {
        clock.advance(10_000);
        await world.checkIn(calm);
      }
      await watchHealth(services, condition);
    }
    return sent.take().filter(({ facts }) => (facts.kind as string) === 'location');
  };
  assert.deepEqual(await wait(29), []);
  const notices = (await wait(20)).map(
    ({ facts }) => facts as unknown as { location: string; checks: { id: string }[] },
  );
  assert.deepEqual(
    notices.map((facts) => [facts.location, facts.checks.map(({ id }) => id)]),
    [['us-east-1', [nowhere.id]]],
  );
});
