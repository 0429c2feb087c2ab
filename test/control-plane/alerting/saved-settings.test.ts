// SQLite only: it starts on a file, and reads what is sent from there.
/** A save changes settings: it throws away nothing that was seen, and counts as no good news. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { watchHealth } from '../../../control-plane/alerting/agent-health.ts';
import { evaluateDueAlerts } from '../../../control-plane/alerting/evaluate-due-alerts.ts';
import { internalErrors } from '../../../control-plane/alerting/internal-errors.ts';
import { missingResults } from '../../../control-plane/alerting/missing-results.ts';
import { unservedLocations } from '../../../control-plane/alerting/unserved-locations.ts';
import { sweepHeartbeats } from '../../../control-plane/heartbeats/heartbeats.ts';
import { messageOf } from '../../../control-plane/notifications/message.ts';
import type { NotificationFacts } from '../../../control-plane/notifications/facts.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { FakeAgent, resultOf } from '../../support/fake-agent.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';
import { makeChannel, makeCheck, SentNotifications } from '../../support/sent-notifications.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const location = 'eu-west-1';

async function setUp() {
  const folder = temporaryFolder();
  const clock = new TestClock(start);
  const file = join(folder.path, 'control-plane.db');
  const cp = await startTestControlPlane({ clock, file, requestsPerMinute: 0 });
  const sent = new SentNotifications<NotificationFacts>(file);
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  const { services } = cp.controlPlane;
  const conditions = [missingResults, internalErrors, unservedLocations].map((each) =>
    each(services),
  );
  const channel = await makeChannel(cp);
  const heartbeat = {
    name: 'nightly',
    heartbeat: { period: 2, periodUnit: 'minutes', grace: 0, graceUnit: 'minutes' },
    alertChannelSubscriptions: [{ alertChannelId: channel, activated: true }],
  };
  const world = {
    ...{ cp, clock, agent, channel },
    isAlive: true,
    /** What each run of these checks ends with, every minute. */
    runs: new Map<string, object>(),
    async pass(minutes: number): Promise<void> {
      for (let step = 0; step < 6 * minutes; step += 1) {
        // In longer steps the agent would be given up.
        clock.advance(10_000);
        if (world.isAlive) await agent.checkIn();
        if (step % 6 === 0) {
          for (const [checkId, fields] of world.runs) {
            const at = clock.now();
            const times = { scheduledFor: at, startedAt: at, stoppedAt: at };
            const [outcome] = await agent.submit(resultOf(checkId, { ...times, ...fields }));
            assert.equal(outcome?.outcome, 'accepted', JSON.stringify(outcome));
          }
        }
        await sweepHeartbeats(services);
        await evaluateDueAlerts(services);
        for (const condition of conditions) await watchHealth(services, condition);
      }
    },
    async save(type: string, id: string, change: object): Promise<void> {
      const saved = await cp.api('PUT', `/v1/checks/${type}/${id}`, change);
      assert.equal(saved.status, 200, JSON.stringify(saved.body));
    },
    async pinged(fields: object = {}) {
      const { body } = await cp.api('POST', '/v1/checks/heartbeat', { ...heartbeat, ...fields });
      const ping = () => fetch(body.heartbeat.pingUrl as string);
      await ping();
      return { id: body.id as string, ping };
    },
    /** The labels of what was sent since. */
    notified: () =>
      sent.take().map(({ facts }) => messageOf(facts, 'id', 'https://monitor.example').label),
    async [Symbol.asyncDispose]() {
      sent[Symbol.dispose]();
      await cp[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
  return world;
}

type World = Awaited<ReturnType<typeof setUp>>;

const internal = {
  ...{ hasErrors: true, hasFailures: false, errorCode: 'BROWSER_UNAVAILABLE' },
  errorMessages: ['no browser'],
};
const settings = (fields: object) => ({
  useGlobalAlertSettings: false,
  alertSettings: {
    escalationType: 'RUN_BASED',
    runBasedEscalation: { failedRunThreshold: 2 },
    reminders: { amount: 0, interval: 5 },
    ...fields,
  },
});

/** Each compares what was sent before the save and after it. */
const saves: Record<string, (world: World) => Promise<void>> = {
  'a monitor that missed its ping while muted alerts once it is unmuted': async (world) => {
    const { id } = await world.pinged({ muted: true });
    await world.pass(5);
    const before = world.notified();
    await world.save('heartbeat', id, { muted: false });
    await world.pass(6);
    assert.deepEqual([before, world.notified()], [[], ['FAILING']]);
  },
  'one that was pinged again meanwhile does not': async (world) => {
    const { id, ping } = await world.pinged({ muted: true });
    await world.pass(5);
    await ping();
    const before = world.notified();
    await world.save('heartbeat', id, { muted: false });
    await world.pass(1);
    assert.deepEqual([before, world.notified()], [[], []]);
  },
  'the recovery of one that was pinged while it was muted is sent once it is unmuted': async (
    world,
  ) => {
    const { id, ping } = await world.pinged();
    await world.pass(4);
    const before = world.notified();
    await world.save('heartbeat', id, { muted: true });
    await world.pass(1);
    await ping();
    assert.deepEqual(world.notified(), []);
    await world.save('heartbeat', id, { muted: false });
    await world.pass(1);
    assert.deepEqual([before, world.notified()], [['FAILING'], ['RECOVERED']]);
    await ping();
    await world.pass(1);
    assert.deepEqual(world.notified(), []);
  },
  'reminders that are switched on remind of a ping that is missing already': async (world) => {
    const { id } = await world.pinged(settings({}));
    await world.pass(4);
    const before = world.notified();
    await world.save('heartbeat', id, settings({ reminders: { amount: 1, interval: 5 } }));
    await world.pass(6);
    assert.deepEqual([before, world.notified()], [['FAILING'], ['STILL FAILING']]);
  },
  'reminders that are switched on for all remind of it too, and of no other that has its own settings':
    async (world) => {
      await world.pinged();
      await world.pinged({ name: 'other', ...settings({}) });
      await world.pass(4);
      const before = world.notified();
      const { alertSettings } = settings({ reminders: { amount: 1, interval: 5 } });
      await world.cp.api('PUT', `/v1/accounts/${world.cp.accountId}`, { alertSettings });
      await world.pass(6);
      assert.deepEqual([before, world.notified()], [['FAILING', 'FAILING'], ['STILL FAILING']]);
    },
  'the second failure in a row alerts, whatever was saved after the first': async (world) => {
    const id = await makeCheck(world.cp, [world.channel], { frequency: 1, ...settings({}) });
    world.runs.set(id, { hasFailures: true });
    await world.pass(1);
    const before = world.notified();
    await world.save('url', id, { frequency: 5, name: 'other' });
    await world.pass(1);
    assert.deepEqual([before, world.notified()], [[], ['FAILING']]);
  },
  'a check that fails goes on failing after a save, and alerts anew after a pause': async (
    world,
  ) => {
    const id = await makeCheck(world.cp, [world.channel], { frequency: 1 });
    world.runs.set(id, { hasFailures: true });
    await world.pass(1);
    const before = world.notified();
    await world.save('url', id, { frequency: 5, request: { url: 'https://b.example' } });
    await world.pass(2);
    assert.deepEqual(world.notified(), []);
    await world.save('url', id, { activated: false });
    assert.deepEqual(world.notified(), ['DEACTIVATED']);
    await world.save('url', id, { activated: true });
    await world.pass(1);
    assert.deepEqual([before, world.notified()], [['FAILING'], ['FAILING']]);
  },
  'a check without results is not said to have results because its schedule was saved': async (
    world,
  ) => {
    const id = await makeCheck(world.cp, [world.channel], { frequency: 1 });
    world.runs.set(id, {});
    await world.pass(1);
    world.runs.clear();
    await world.pass(7);
    const before = world.notified();
    await world.save('url', id, { frequency: 2 });
    await world.pass(2);
    await world.save('url', id, { frequency: 60 });
    await world.pass(2);
    assert.deepEqual(world.notified(), []);
    world.runs.set(id, {});
    await world.pass(1);
    assert.deepEqual([before, world.notified()], [['NOT MONITORED'], ['MONITORED AGAIN']]);
  },
  'one that is deactivated has no results again, either': async (world) => {
    const id = await makeCheck(world.cp, [world.channel], { frequency: 1 });
    await world.pass(7);
    const before = world.notified();
    await world.save('url', id, { activated: false });
    await world.pass(1);
    assert.deepEqual([before, world.notified()], [['NOT MONITORED'], ['NOTHING RUNS']]);
  },
  'a location without an agent is alerted on time, though its check was saved meanwhile': async (
    world,
  ) => {
    const id = await makeCheck(world.cp, [world.channel], { frequency: 1 });
    // Longer than a restart of the control plane excuses.
    world.runs.set(id, {});
    await world.pass(6);
    world.isAlive = false;
    world.runs.clear();
    await world.pass(5);
    const before = world.notified();
    await world.save('url', id, { frequency: 2 });
    await world.pass(2);
    assert.deepEqual([before, world.notified()], [[], ['NO AGENT']]);
  },
  'a check that is new in such a location waits as long as any': async (world) => {
    await world.pass(6);
    world.isAlive = false;
    await world.pass(10);
    const id = await makeCheck(world.cp, [world.channel], {
      ...{ frequency: 1, locations: ['us-east-1'] },
    });
    await world.pass(1);
    await world.save('url', id, { locations: [location] });
    await world.pass(4);
    const before = world.notified();
    await world.pass(2);
    assert.deepEqual([before, world.notified()], [[], ['NO AGENT']]);
  },
  'errors of the agent are counted on under another schedule': async (world) => {
    const id = await makeCheck(world.cp, [world.channel], { frequency: 1 });
    world.runs.set(id, internal);
    await world.pass(9);
    const before = world.notified();
    await world.save('url', id, { frequency: 2 });
    await world.pass(3);
    assert.deepEqual([before, world.notified()], [[], ['NOT MEASURING']]);
  },
};

for (const [name, save] of Object.entries(saves)) {
  test(name, async () => {
    await using world = await setUp();
    await save(world);
  });
}
