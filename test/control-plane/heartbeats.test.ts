import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import fc from 'fast-check';
import { availabilityWithin } from '../../control-plane/heartbeats/decide/heartbeat-times.ts';
import { stepHeartbeat, type Heartbeat } from '../../control-plane/heartbeats/decide/heartbeat.ts';
import { sweepHeartbeats } from '../../control-plane/heartbeats/heartbeats.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { temporaryFolder } from '../support/system.ts';
import { TestClock } from '../support/test-clock.ts';

const minute = 60_000;
const start = Date.parse('2026-11-21T08:00:00Z');
const waiting: Heartbeat = {
  periodMs: 10 * minute,
  graceMs: 2 * minute,
  lastPingAt: null,
  expectedAt: null,
  failsAt: null,
};

test('a timeline: first, early, on time, in grace, late, failing, recovered', () => {
  const timeline: [atMinutes: number, input: 'ping' | 'tick', event: string | null][] = [
    [0, 'tick', null],
    [100, 'ping', 'RECEIVED'],
    [105, 'ping', 'EARLY'],
    [115, 'ping', 'RECEIVED'],
    [126, 'ping', 'GRACE'],
    [137, 'tick', null],
    [139, 'ping', 'LATE'],
    [151, 'tick', 'FAILING'],
    [500, 'tick', null],
    [501, 'ping', 'RECEIVED'],
  ];
  let heartbeat = waiting;
  for (const [at, kind, event] of timeline) {
    const step = stepHeartbeat(heartbeat, { kind }, at * minute);
    assert.equal(step.effect?.event ?? null, event, `minute ${at}`);
    ({ heartbeat } = step);
  }
});

test('never failing twice without a ping between, and never before the grace is over', () => {
  const inputs = fc.array(
    fc.record({
      kind: fc.constantFrom('ping' as const, 'tick' as const),
      waitMs: fc.nat(20 * minute),
    }),
  );
  fc.assert(
    fc.property(inputs, (steps) => {
      let heartbeat = waiting;
      let now = 0;
      let lastPing: number | null = null;
      for (const { kind, waitMs } of steps) {
        now += waitMs;
        const step = stepHeartbeat(heartbeat, { kind }, now);
        ({ heartbeat } = step);
        if (step.effect?.event === 'FAILING') {
          assert.ok(lastPing !== null && now - lastPing >= waiting.periodMs + waiting.graceMs);
          lastPing = null;
        }
        if (kind === 'ping') lastPing = now;
      }
    }),
  );
});

test('availability is the share of time that was not failing', () => {
  const times = { firstAt: 0, failing: [{ from: 50, to: 75 }] };
  assert.equal(availabilityWithin(times, [{ from: 0, to: 100 }], 100), 75);
  assert.equal(availabilityWithin(times, [{ from: 60, to: 70 }], 100), 0);
  assert.equal(availabilityWithin(times, [{ from: 100, to: 200 }], 100), null);
});

const body = {
  name: 'nightly',
  heartbeat: { period: 10, periodUnit: 'minutes', grace: 2, graceUnit: 'minutes' },
};

test('pings and their absence become events, results and a status', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', body);
  const { pingUrl } = check.heartbeat;
  assert.ok(pingUrl.startsWith(`${cp.url}/ping/`));
  for (const method of ['GET', 'POST', 'HEAD']) {
    const response = await fetch(pingUrl, {
      method,
      headers: { referer: 'https://ci.example', 'user-agent': 'cron' },
      ...(method === 'POST' ? { body: 'anything at all' } : {}),
    });
    assert.equal(response.status, 200, method);
    await response.text();
    clock.advance(1_500);
  }
  clock.advance(13 * minute);
  await sweepHeartbeats(cp.controlPlane.services);
  const status = async () => (await cp.api('GET', `/v1/check-statuses/${check.id}`)).body;
  assert.equal((await status()).hasFailures, true);
  await fetch(pingUrl);
  assert.equal((await status()).hasFailures, false);
  const { body: events } = await cp.api('GET', `/v1/checks/heartbeats/${check.id}/events`);
  const states = events[0].events.map((event: { state: string }) => event.state);
  assert.deepEqual(states.slice(0, 2), ['RECEIVED', 'FAILING']);
  assert.equal(states.at(-1), 'RECEIVED');
  assert.equal(events[0].events.at(-1).source, 'https://ci.example');
  const one = await cp.api(
    'GET',
    `/v1/checks/heartbeats/${check.id}/events/${events[0].events[0].id}`,
  );
  assert.equal(one.body.event.state, 'RECEIVED');
  const results = await cp.api('GET', `/v1/check-results/${check.id}`);
  assert.equal(results.body.length, 5);
  assert.equal(results.body[0].checkType, 'HEARTBEAT');
  assert.equal((await fetch(`${cp.url}/ping/unknown-token-1234`)).status, 404);
});

test('an update with another period starts anew; a deactivated monitor hears nothing', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', body);
  await fetch(check.heartbeat.pingUrl);
  const path = `/v1/checks/heartbeat/${check.id}`;
  const changed = await cp.api('PUT', path, { heartbeat: { ...body.heartbeat, period: 5 } });
  assert.equal(changed.body.heartbeat.pingUrl, check.heartbeat.pingUrl);
  await cp.api('PUT', path, { activated: false });
  assert.equal((await fetch(check.heartbeat.pingUrl)).status, 200);
  clock.advance(60 * minute);
  await sweepHeartbeats(cp.controlPlane.services);
  assert.equal((await cp.api('GET', `/v1/check-statuses/${check.id}`)).body.hasFailures, false);
});

test('our own outage fails no heartbeat', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  const clock = new TestClock(start);
  const first = await startTestControlPlane({ clock, file });
  const { body: check } = await first.api('POST', '/v1/checks/heartbeat', body);
  await fetch(check.heartbeat.pingUrl);
  await first[Symbol.asyncDispose]();
  const later = new TestClock(start + 5 * 60 * minute);
  await using second = await startTestControlPlane({ clock: later, file });
  await sweepHeartbeats(second.controlPlane.services);
  assert.equal((await second.api('GET', `/v1/check-statuses/${check.id}`)).body.hasFailures, false);
  later.advance(13 * minute);
  await sweepHeartbeats(second.controlPlane.services);
  assert.equal((await second.api('GET', `/v1/check-statuses/${check.id}`)).body.hasFailures, true);
});

test('a period that is no whole number of milliseconds is one to the nearest', async () => {
  await using cp = await startTestControlPlane();
  for (const heartbeat of [
    { ...body.heartbeat, grace: 5e-324 },
    { ...body.heartbeat, period: 100.000_1, periodUnit: 'seconds' },
  ]) {
    const created = await cp.api('POST', '/v1/checks/heartbeat', { ...body, heartbeat });
    assert.equal(created.status, 201);
    assert.equal(created.body.heartbeat.period, heartbeat.period);
  }
});

test('a monitor whose group is switched off hears nothing and never fails', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { body: group } = await cp.api('POST', '/v2/check-groups', { name: 'g' });
  const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', {
    name: 'backup',
    groupId: group.id,
    heartbeat: { period: 10, periodUnit: 'minutes', grace: 2, graceUnit: 'minutes' },
  });
  const ping = async () => {
    assert.equal((await fetch(check.heartbeat.pingUrl as string)).status, 200);
  };
  const events = async () => {
    const { body } = await cp.api('GET', `/v1/checks/heartbeats/${check.id}/events`);
    return body[0].events.map(({ state }: { state: string }) => state) as string[];
  };
  await ping();
  await cp.api('PUT', `/v2/check-groups/${group.id}`, { name: 'g', activated: false });
  clock.advance(60 * minute);
  await sweepHeartbeats(cp.controlPlane.services);
  await ping();
  clock.advance(1_500);
  assert.deepEqual(await events(), ['RECEIVED']);
  await cp.api('PUT', `/v2/check-groups/${group.id}`, { name: 'g', activated: true });
  await sweepHeartbeats(cp.controlPlane.services);
  await ping();
  assert.deepEqual(await events(), ['RECEIVED', 'RECEIVED']);
});

test('pings that a full disk refused are not missed: the time without room does not count', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { services } = cp.controlPlane;
  const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', body);
  await fetch(check.heartbeat.pingUrl);
  const hasFailed = async (): Promise<boolean> => {
    await sweepHeartbeats(services);
    return (await cp.api('GET', `/v1/check-statuses/${check.id}`)).body.hasFailures;
  };
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
  services.writes.noteFailure(full);
  clock.advance(5 * 60 * minute);
  services.writes.noteFailure(full);
  assert.equal(await hasFailed(), false);
  clock.advance(minute);
  // The timer of the control plane finds that there is room again.
  while (services.writes.problem !== null) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(await hasFailed(), false);
  clock.advance(13 * minute);
  assert.equal(await hasFailed(), true);
});
