// SQLite only: it starts on a file, and reads what is sent from there.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import type { AgentHealthFacts } from '../../../control-plane/notifications/facts.ts';
import { watchHealth } from '../../../control-plane/alerting/agent-health.ts';
import { internalErrors } from '../../../control-plane/alerting/internal-errors.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { httpReceiver, reachesTestServers } from '../../support/http-receiver.ts';
import { FakeAgent, resultOf } from '../../support/fake-agent.ts';
import { makeChannel as makeWebhook } from '../../support/notifications.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';
import { makeChannel, makeCheck, SentNotifications } from '../../support/sent-notifications.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const minute = 60_000;
const location = 'eu-west-1';

const broken = { hasErrors: true, faultCode: 'NETWORK_UNAVAILABLE' };
const browserless = { hasErrors: true, faultCode: 'BROWSER_MISSING' };
const passed: Partial<ResultSubmission> = {};

async function startOn(file: string, clock: TestClock) {
  const cp = await startTestControlPlane({ clock, file, settings: reachesTestServers });
  const sent = new SentNotifications<AgentHealthFacts>(file);
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  const { services } = cp.controlPlane;
  const watch = () => watchHealth(services, internalErrors(services));
  const submit = async (checkId: string, fields: Partial<ResultSubmission>): Promise<void> => {
    const startedAt = fields.startedAt ?? clock.now();
    const item = resultOf(checkId, {
      ...{ scheduledFor: startedAt, startedAt, stoppedAt: startedAt + 20 },
      ...fields,
    });
    const [outcome] = await agent.submit(item);
    assert.equal(outcome?.outcome, 'accepted', JSON.stringify(outcome));
  };
  /** Rounds of five minutes in which each of these checks ends so. */
  const pass = async (
    rounds: number,
    endings: Record<string, Partial<ResultSubmission>> = {},
  ): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      clock.advance(5 * minute);
      await agent.checkIn();
      for (const [checkId, fields] of Object.entries(endings)) await submit(checkId, fields);
      await watch();
    }
  };
  const notified = () =>
    sent
      .take()
      .filter(({ facts }) => facts.kind === 'faults')
      .map(({ channel, facts }) =>
        `${channel} ${facts.code ?? 'all'} ${facts.isOver ? 'over' : ''}`.trim(),
      );
  const locationState = async () => {
    const { body } = await cp.api('GET', '/v1/location-states');
    return (body as unknown as { location: string; faults: unknown[] }[]).find(
      (state) => state.location === location,
    );
  };
  const stop = async (): Promise<void> => {
    sent[Symbol.dispose]();
    await cp[Symbol.asyncDispose]();
  };
  return { cp, agent, clock, sent, pass, submit, notified, watch, locationState, stop };
}

async function setUp() {
  const folder = temporaryFolder();
  const world = await startOn(join(folder.path, 'control-plane.db'), new TestClock(start));
  return {
    ...world,
    async [Symbol.asyncDispose]() {
      await world.stop();
      folder[Symbol.dispose]();
    },
  };
}

test('a location that gives nothing but errors is notified once, and once more with a result', async () => {
  await using world = await setUp();
  const { cp, sent, pass, locationState } = world;
  const channel = await makeChannel(cp);
  const ids = [await makeCheck(cp, [channel]), await makeCheck(cp, [channel], { name: 'about' })];
  const [shop = '', about = ''] = ids;
  await pass(1, { [shop]: passed, [about]: passed });
  await pass(2, { [shop]: broken, [about]: browserless });
  assert.deepEqual(sent.take(), []);
  assert.deepEqual((await locationState())?.faults, []);
  await pass(1, { [shop]: broken, [about]: broken });
  const since = start + 10 * minute;
  const [down, ...furtherDown] = sent.take();
  assert.deepEqual(furtherDown, []);
  assert.ok(down !== undefined);
  assert.deepEqual(down, {
    channel,
    facts: {
      ...{ kind: 'faults', at: down.facts.at, location, locationName: 'Ireland', code: null },
      ...{ isOver: false, isConclusive: false, since, runs: 6, message: null },
      mostCommonCode: 'NETWORK_UNAVAILABLE',
      checks: [
        { id: about, name: 'about' },
        { id: shop, name: 'shop' },
      ],
      incidentKey: down.facts.incidentKey,
    },
  });
  assert.deepEqual((await locationState())?.faults, [
    {
      ...{ code: null, since: new Date(since).toISOString(), runs: 6, checkCount: 2 },
      ...{ mostCommonCode: 'NETWORK_UNAVAILABLE', message: null },
    },
  ]);
  await pass(2, { [shop]: broken, [about]: broken });
  assert.deepEqual(sent.take(), [], 'it was notified before');
  await pass(1, { [shop]: passed });
  const [up, ...furtherUp] = sent.take();
  assert.deepEqual(furtherUp, []);
  assert.deepEqual(
    [up?.channel, up?.facts.isOver, up?.facts.isConclusive, up?.facts.incidentKey],
    [channel, true, true, down.facts.incidentKey],
  );
  await pass(3, { [shop]: passed });
  assert.deepEqual(sent.take(), [], 'what others had meanwhile was the doing of the location');
});

test('a check without results among others that are fine is notified by its error', async () => {
  await using world = await setUp();
  const { cp, pass, notified } = world;
  const channel = await makeChannel(cp);
  const others = await makeChannel(cp);
  const fine = await makeCheck(cp, [others]);
  const one = await makeCheck(cp, [channel]);
  const other = await makeCheck(cp, [channel]);
  await pass(2, { [fine]: passed, [one]: browserless, [other]: browserless });
  assert.deepEqual(notified(), []);
  await pass(4, { [fine]: passed, [one]: browserless, [other]: browserless });
  assert.deepEqual(notified(), [`${channel} BROWSER_MISSING`]);
  await pass(1, { [one]: passed, [other]: browserless, [fine]: passed });
  assert.deepEqual(notified(), []);
  await pass(1, { [other]: passed });
  assert.deepEqual(notified(), [`${channel} BROWSER_MISSING over`]);
});

test('a check that runs rarely and passes does not make its location come and go', async () => {
  await using world = await setUp();
  const { cp, pass, notified } = world;
  const channel = await makeChannel(cp);
  const often = await makeCheck(cp, [channel]);
  const rarely = await makeCheck(cp, [channel]);
  await pass(1, { [rarely]: passed });
  await pass(4, { [often]: browserless });
  assert.deepEqual(notified(), [`${channel} all`]);
  await pass(1, { [often]: browserless, [rarely]: passed });
  assert.deepEqual(notified(), [`${channel} all over`]);
  for (let round = 0; round < 2; round += 1) {
    await pass(3, { [often]: browserless });
    await pass(1, { [rarely]: passed });
  }
  assert.deepEqual(notified(), [`${channel} BROWSER_MISSING`]);
});

test('the notification names the error, in its own words, and arrives once', async () => {
  await using world = await setUp();
  await using receiver = await httpReceiver();
  const { cp, pass } = world;
  const channel = await makeWebhook(cp, 'WEBHOOK', { name: 'w', url: receiver.url });
  const id = await makeCheck(cp, [channel]);
  const errorMessages = ['the gateway 10.0.0.1 of eth0 does not answer'];
  await pass(4, { [id]: { ...broken, errorMessages } });
  await pass(1, { [id]: passed });
  const notified = [await receiver.next(), await receiver.next()].map(({ body }) => {
    const { type, data } = JSON.parse(body) as { type: string; data: Record<string, unknown> };
    return [type, data['REGION'], data['CHECK_ERROR_MESSAGE']];
  });
  assert.deepEqual(notified, [
    ['LOCATION_FAULTS', location, errorMessages[0]],
    ['LOCATION_FAULTS_OVER', location, null],
  ]);
});

test('failures of targets are results: they cause no alert about agents', async () => {
  await using world = await setUp();
  const { cp, pass, notified } = world;
  const id = await makeCheck(cp, [await makeChannel(cp)]);
  await pass(4, { [id]: { hasFailures: true } });
  for (let round = 0; round < 2; round += 1) {
    await pass(2, { [id]: broken });
    await pass(1, { [id]: { hasFailures: true } });
  }
  assert.deepEqual(notified(), []);
});

test('muted checks and checks in maintenance are notified when they no longer are', async () => {
  await using world = await setUp();
  const { cp, clock, pass, notified } = world;
  const channel = await makeChannel(cp);
  const muted = await makeCheck(cp, [channel], { muted: true });
  const tagged = await makeCheck(cp, [channel], { tags: ['deploy'] });
  const endsAt = new Date(clock.now() + 29 * minute).toISOString();
  const { status } = await cp.api('POST', '/v1/maintenance-windows', {
    ...{ name: 'deploy', tags: ['deploy'], repeatUnit: null },
    ...{ startsAt: new Date(clock.now()).toISOString(), endsAt },
  });
  assert.equal(status, 201);
  await pass(5, { [muted]: broken, [tagged]: broken });
  assert.deepEqual(notified(), []);
  await pass(1, { [muted]: broken, [tagged]: broken });
  assert.deepEqual(notified(), [`${channel} all`]);
});

test('a backlog of errors from before the newest results is no news', async () => {
  await using world = await setUp();
  const { cp, clock, pass, submit, notified } = world;
  const id = await makeCheck(cp, [await makeChannel(cp)], { frequency: 60 });
  await pass(1, { [id]: passed });
  const from = clock.now() - 30 * minute;
  for (let run = 0; run < 5; run += 1) {
    await submit(id, { ...broken, startedAt: from + run * minute });
  }
  await pass(3);
  assert.deepEqual(notified(), []);
});

test('when nothing runs at the location any more, the notice is closed', async () => {
  await using world = await setUp();
  const { cp, sent, pass } = world;
  const id = await makeCheck(cp, [await makeChannel(cp)]);
  await pass(3, { [id]: broken });
  assert.deepEqual(
    sent.take().map(({ facts }) => facts.isOver),
    [false],
  );
  assert.equal((await cp.api('DELETE', `/v1/checks/${id}`)).status, 204);
  await pass(1);
  assert.deepEqual(
    sent.take().map(({ facts }) => [facts.isOver, facts.isConclusive]),
    [[true, false]],
  );
});

test('errors from before the agent or the check went away are no news when it is back', async () => {
  await using world = await setUp();
  const { cp, agent, clock, pass, submit, notified, watch } = world;
  const channel = await makeChannel(cp);
  const id = await makeCheck(cp, [channel]);
  await pass(2, { [id]: broken });
  await submit(id, { ...broken, startedAt: clock.now() - minute });
  clock.advance(60 * minute);
  await agent.checkIn();
  await watch();
  assert.deepEqual(notified(), [], 'the stop of the agent may have been the repair');
  await submit(id, broken);
  await watch();
  assert.deepEqual(notified(), [`${channel} all`]);
  const activate = async (activated: boolean) => {
    const request = { url: 'https://a.example' };
    const body = { name: 'shop', locations: [location], request, activated };
    assert.equal((await cp.api('PUT', `/v1/checks/url/${id}`, body)).status, 200);
  };
  await activate(false);
  await pass(1);
  assert.deepEqual(notified(), [`${channel} all over`]);
  await activate(true);
  await pass(1);
  await pass(1, { [id]: broken });
  assert.deepEqual(notified(), [], 'one error is no outage');
});

test('errors from before the maintenance are no news when it is over', async () => {
  await using world = await setUp();
  const { cp, clock, pass, submit, notified, watch } = world;
  const channel = await makeChannel(cp);
  const id = await makeCheck(cp, [channel]);
  const { status } = await cp.api('POST', '/v1/maintenance-windows', {
    ...{ name: 'deploy', pauseAllChecks: true, repeatUnit: null },
    ...{ startsAt: new Date(clock.now() + 6 * minute).toISOString() },
    ...{ endsAt: new Date(clock.now() + 12 * minute).toISOString() },
  });
  assert.equal(status, 201);
  await pass(1, { [id]: broken });
  for (const ago of [3, 2]) await submit(id, { ...broken, startedAt: clock.now() - ago * minute });
  // Whether the agent was away meanwhile is not the question here.
  const { db } = cp.controlPlane.services;
  clock.advance(10 * minute);
  await world.agent.checkIn();
  await db.updateTable('location_states').set({ served_since: start }).execute();
  await watch();
  assert.deepEqual(notified(), []);
  await submit(id, broken);
  await watch();
  assert.deepEqual(notified(), [`${channel} all`]);
});

test('an agent cannot open the alerts of other conditions with their codes', async () => {
  await using world = await setUp();
  const { cp, pass, sent } = world;
  const fine = await makeCheck(cp, []);
  const id = await makeCheck(cp, [await makeChannel(cp)]);
  await pass(6, { [fine]: passed, [id]: { hasErrors: true, faultCode: 'NO_AGENT' } });
  assert.deepEqual(sent.take(), []);
});

test('two errors that take turns are one outage', async () => {
  await using world = await setUp();
  const { cp, pass, notified } = world;
  const channel = await makeChannel(cp);
  const fine = await makeCheck(cp, []);
  const id = await makeCheck(cp, [channel]);
  for (let round = 0; round < 4; round += 1) {
    await pass(1, { [fine]: passed, [id]: browserless });
    await pass(1, { [fine]: passed, [id]: broken });
  }
  assert.deepEqual(notified(), [`${channel} NETWORK_UNAVAILABLE`]);
  await pass(1, { [id]: passed });
  assert.deepEqual(notified(), [`${channel} NETWORK_UNAVAILABLE over`]);
});

test('a restart neither repeats nor loses a notice', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  const clock = new TestClock(start);
  let world = await startOn(file, clock);
  await using _last = { [Symbol.asyncDispose]: () => world.stop() };
  const channel = await makeChannel(world.cp);
  const id = await makeCheck(world.cp, [channel]);
  await world.pass(2, { [id]: broken });
  /** Stops and starts, with the same database. */
  const restart = async (): Promise<void> => {
    await world.stop();
    world = await startOn(file, clock);
  };
  await restart();
  await world.pass(1, { [id]: broken });
  assert.deepEqual(world.notified(), [`${channel} all`]);
  await restart();
  await world.pass(1, { [id]: broken });
  assert.deepEqual(world.notified(), [], 'it was notified before');
  clock.advance(minute);
  await world.submit(id, passed);
  await restart();
  await world.pass(1);
  assert.deepEqual(world.notified(), [`${channel} all over`]);
});
