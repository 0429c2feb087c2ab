// SQLite only: it starts on a file, and reads what is sent from there.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LocationFacts } from '../../../control-plane/notifications/facts.ts';
import { watchHealth } from '../../../control-plane/alerting/agent-health.ts';
import { unservedLocations } from '../../../control-plane/alerting/unserved-locations.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { FakeAgent } from '../../support/fake-agent.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';
import { makeChannel, makeCheck, SentNotifications } from '../../support/sent-notifications.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const second = 1_000;
const minute = 60 * second;
const location = 'eu-west-1';

interface Start {
  file: string;
  clock: TestClock;
  /** How long the control plane has been running. */
  runningMs: number;
}

/** A control plane on a file, with an agent that is alive when a test says so. */
async function startOn({ file, clock, runningMs }: Start) {
  const cp = await startTestControlPlane({ clock, file });
  const sent = new SentNotifications<LocationFacts>(file);
  const { services } = cp.controlPlane;
  const condition = unservedLocations(services);
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  clock.advance(runningMs);
  /** Lets time pass; agents that are alive check in. */
  const pass = async (ms: number, alive: readonly FakeAgent[] = []): Promise<void> => {
    for (let passed = 0; passed < ms;) {
      // Small steps while agents are alive, and until the control plane has noticed that they are not.
      const isSmall = alive.length > 0 || passed < 30 * second;
      const step = Math.min(ms - passed, isSmall ? 10 * second : 2 * minute);
      clock.advance(step);
      passed += step;
      // After a pause, the control plane concludes nothing before it has read its sockets.
      for (let turn = 0; turn < 5; turn += 1) await nextTurn();
      for (const each of alive) await each.checkIn();
      await watchHealth(services, condition);
    }
  };
  const notified = () =>
    sent.take().map(({ channel, facts }) => `${channel} ${facts.isServed ? 'up' : 'down'}`);
  const stop = async (): Promise<void> => {
    sent[Symbol.dispose]();
    await cp[Symbol.asyncDispose]();
  };
  return { cp, agent, sent, pass, notified, stop };
}

async function setUp() {
  const folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  const world = await startOn({ file, clock: new TestClock(start), runningMs: 10 * minute });
  return {
    ...world,
    async [Symbol.asyncDispose]() {
      await world.stop();
      folder[Symbol.dispose]();
    },
  };
}

test('a location without an agent is notified once, and once more when it has one again', async () => {
  await using world = await setUp();
  const { cp, agent, sent, pass } = world;
  const channel = await makeChannel(cp);
  const ids = [await makeCheck(cp, [channel]), await makeCheck(cp, [channel], { name: 'about' })];
  await pass(20 * second, [agent]);
  await pass(4 * minute);
  assert.deepEqual(sent.take(), []);
  await pass(2 * minute);
  const [down, ...furtherDown] = sent.take();
  assert.deepEqual(furtherDown, []);
  assert.ok(down !== undefined);
  const { facts } = down;
  assert.deepEqual(facts, {
    ...{ kind: 'location', at: facts.at, location, locationName: 'Ireland', isServed: false },
    unservedSince: facts.unservedSince,
    checks: [
      { id: ids[1], name: 'about' },
      { id: ids[0], name: 'shop' },
    ],
    incidentKey: facts.incidentKey,
  });
  const waited = facts.at - facts.unservedSince;
  assert.ok(waited >= 5 * minute && waited <= 6 * minute, `${waited} ms`);
  await pass(60 * minute);
  assert.deepEqual(sent.take(), []);
  await pass(2 * minute, [agent]);
  const [up, ...furtherUp] = sent.take();
  assert.deepEqual(furtherUp, []);
  assert.deepEqual(
    [up?.channel, up?.facts.isServed, up?.facts.incidentKey, up?.facts.unservedSince],
    [channel, true, facts.incidentKey, facts.unservedSince],
  );
  await pass(7 * minute);
  const [again] = sent.take();
  assert.equal(again?.facts.isServed, false);
  assert.notEqual(again.facts.incidentKey, facts.incidentKey);
});

test('agents that come and go within five minutes are not notified', async () => {
  await using world = await setUp();
  const { cp, agent, pass, notified } = world;
  await makeCheck(cp, [await makeChannel(cp)]);
  await pass(20 * second, [agent]);
  for (let round = 0; round < 4; round += 1) {
    await pass(4 * minute + 50 * second);
    await pass(10 * second, [agent]);
  }
  await agent.call('goodbye', { agentId: agent.id }, 204);
  await pass(4 * minute + 50 * second);
  assert.deepEqual(notified(), []);
  await pass(30 * second);
  assert.deepEqual(notified().length, 1, 'a planned stop counts the same');
});

test('doctor, and an agent that only ends its runs, serve nothing and hide no outage', async () => {
  await using world = await setUp();
  const { cp, agent, pass, notified } = world;
  await makeCheck(cp, [await makeChannel(cp)]);
  const key = await cp.locationKey(location);
  /** As doctor does: an id that is thrown away, nothing offered, and goodbye, in either order. */
  const visit = async (isOvertaken: boolean): Promise<void> => {
    const visitor = new FakeAgent(cp, key);
    const goodbye = () => visitor.call('goodbye', { agentId: visitor.id }, 204);
    if (isOvertaken) await goodbye();
    const answer = await visitor.checkIn([]);
    assert.deepEqual([answer.location, answer.upserts, answer.jobs], [location, [], []]);
    if (!isOvertaken) await goodbye();
  };
  const seen = async () =>
    JSON.stringify([
      (await cp.api('GET', '/v1/agents')).body,
      await cp.controlPlane.services.db.selectFrom('location_states').selectAll().execute(),
    ]);
  const untouched = await seen();
  await visit(true);
  await visit(false);
  assert.equal(await seen(), untouched, 'of a location that nobody ever served');
  await pass(minute, [agent]);
  // It drains: it goes on polling, and takes nothing.
  await agent.checkIn([]);
  await agent.call('goodbye', { agentId: agent.id }, 204);
  const before = await seen();
  for (let minutes = 0; minutes < 4; minutes += 1) {
    await pass(minute);
    await visit(minutes % 2 === 0);
    assert.equal(await seen(), before);
  }
  assert.deepEqual(notified(), []);
  await pass(minute);
  await visit(false);
  await pass(30 * second);
  assert.equal(notified().length, 1);
  await visit(false);
  await pass(minute);
  assert.deepEqual(notified(), [], 'a visit is no recovery');
  await pass(minute, [agent]);
  assert.deepEqual(notified().length, 1, 'an agent is one');
});

test('a location whose only agent drains for long is not served', async () => {
  await using world = await setUp();
  const { cp, agent, pass, notified } = world;
  await makeCheck(cp, [await makeChannel(cp)]);
  await pass(minute, [agent]);
  const draining = { ...agent, checkIn: () => agent.checkIn([]) } as unknown as FakeAgent;
  await pass(4 * minute + 50 * second, [draining]);
  assert.deepEqual(notified(), []);
  await pass(30 * second, [draining]);
  assert.equal(notified().length, 1);
});

test('another agent of the location is enough', async () => {
  await using world = await setUp();
  const { cp, agent, pass, notified } = world;
  await makeCheck(cp, [await makeChannel(cp)]);
  const other = new FakeAgent(cp, await cp.locationKey(location));
  await pass(minute, [agent, other]);
  await pass(6 * minute, [other]);
  assert.deepEqual(notified(), []);
});

test('the channels of active, unmuted checks there are notified, by check or group', async () => {
  await using world = await setUp();
  const { cp, agent, pass, notified } = world;
  const names = ['own', 'group', 'muted', 'mutedGroup', 'idle', 'elsewhere', 'off'] as const;
  const channel = {} as Record<(typeof names)[number] | 'failureOnly' | 'recoveryOnly', number>;
  for (const name of names) channel[name] = await makeChannel(cp);
  channel.failureOnly = await makeChannel(cp, { sendRecovery: false });
  channel.recoveryOnly = await makeChannel(cp, { sendFailure: false });
  const group = async (id: number, fields: Record<string, unknown> = {}) => {
    const subscription = [{ alertChannelId: id, activated: true }];
    const fill = { name: 'g', alertChannelSubscriptions: subscription, ...fields };
    const path = '/v2/check-groups?autoAssignAlerts=false';
    return (await cp.api('POST', path, fill)).body.id as number;
  };
  await makeCheck(cp, [channel.own, channel.failureOnly, channel.recoveryOnly]);
  await makeCheck(cp, [channel.own], { groupId: await group(channel.group) });
  await makeCheck(cp, [channel.muted], { muted: true });
  const mutedGroup = await group(channel.mutedGroup, { muted: true });
  await makeCheck(cp, [channel.mutedGroup], { groupId: mutedGroup });
  await makeCheck(cp, [channel.idle], { activated: false });
  await makeCheck(cp, [channel.elsewhere], { locations: ['us-east-1'] });
  await makeCheck(cp, [], {
    alertChannelSubscriptions: [{ alertChannelId: channel.off, activated: false }],
  });
  await pass(20 * second, [agent]);
  await pass(6 * minute);
  const wanted = [channel.own, channel.group, channel.failureOnly];
  assert.deepEqual(
    notified(),
    wanted.map((id) => `${id} down`),
  );
  await cp.api('DELETE', `/v1/alert-channels/${channel.group}`);
  await pass(minute, [agent]);
  assert.deepEqual(notified(), [`${channel.own} up`]);
});

test('a location without subscribed channels is notified as soon as there is one', async () => {
  await using world = await setUp();
  const { cp, agent, pass, notified } = world;
  const channel = await makeChannel(cp);
  const id = await makeCheck(cp, []);
  await pass(20 * second, [agent]);
  await pass(10 * minute);
  assert.deepEqual(notified(), []);
  const alertChannelSubscriptions = [{ alertChannelId: channel, activated: true }];
  await cp.api('PUT', `/v1/checks/url/${id}`, { alertChannelSubscriptions });
  await pass(20 * second);
  assert.deepEqual(notified(), [`${channel} down`]);
});

test('a private location counts from its first check, a data-center location from its first agent', async () => {
  await using world = await setUp();
  const { cp, sent, pass } = world;
  const channel = await makeChannel(cp);
  await pass(20 * minute);
  const place = { name: 'The basement', slugName: 'basement' };
  assert.equal((await cp.api('POST', '/v1/private-locations', place)).status, 201);
  await pass(20 * minute);
  await makeCheck(cp, [channel], { locations: [], privateLocations: ['basement'] });
  await makeCheck(cp, [channel], { locations: ['us-east-1'] });
  await pass(4 * minute);
  assert.deepEqual(sent.take(), []);
  await pass(10 * minute);
  assert.deepEqual(
    sent.take().map(({ facts }) => [facts.location, facts.locationName, facts.checks.length]),
    [['basement', 'The basement', 1]],
  );
});

test('checks that are assigned to a location that was left long ago get their five minutes', async () => {
  await using world = await setUp();
  const { cp, agent, pass, notified } = world;
  await pass(minute, [agent]);
  await pass(60 * minute);
  await makeCheck(cp, [await makeChannel(cp)]);
  await pass(4 * minute + 50 * second);
  assert.deepEqual(notified(), []);
  await pass(20 * second);
  assert.equal(notified().length, 1);
});

test('a restart raises no false notice, and neither repeats nor loses one', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  const clock = new TestClock(start);
  let { cp, agent, pass, notified, stop } = await startOn({ file, clock, runningMs: 10 * minute });
  const channel = await makeChannel(cp);
  await makeCheck(cp, [channel]);
  await pass(20 * second, [agent]);
  await pass(minute);
  /** Stops, stays down, starts, with the same agent. */
  const restart = async (downMs: number): Promise<void> => {
    await stop();
    clock.advance(downMs);
    ({ cp, agent, pass, notified, stop } = await startOn({ file, clock, runningMs: 0 }));
  };
  await restart(30 * minute);
  await pass(minute);
  await pass(minute, [agent]);
  await pass(4 * minute, [agent]);
  assert.deepEqual(notified(), [], 'it came back with the control plane');

  await restart(minute);
  await pass(6 * minute);
  assert.deepEqual(notified(), [`${channel} down`]);
  await restart(minute);
  await pass(30 * minute);
  assert.deepEqual(notified(), [], 'it was notified before');
  await restart(minute);
  await pass(minute, [agent]);
  assert.deepEqual(notified(), [`${channel} up`]);
  await stop();
});
