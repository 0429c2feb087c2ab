// SQLite only: hours pass second by second, and in each of them timers ask a server a dozen times.
// Own process: it sends thousands of requests.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { sweepHeartbeats } from '../../../control-plane/heartbeats/heartbeats.ts';
import {
  passTime,
  startTestControlPlane,
  type TestControlPlane,
} from '../../support/control-plane.ts';
import { inLongTier } from '../../support/random.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const year = 365 * 24 * hour;
const start = Date.parse('2026-11-21T08:00:00Z');

async function makeHeartbeat(cp: TestControlPlane, grace = 2) {
  const { body } = await cp.api('POST', '/v1/checks/heartbeat', {
    name: 'nightly',
    heartbeat: { period: 10, periodUnit: 'minutes', grace, graceUnit: 'minutes' },
  });
  const { id, heartbeat } = body as { id: string; heartbeat: { pingUrl: string } };
  const events = async () => {
    await sweepHeartbeats(cp.controlPlane.services);
    const answer = await cp.api('GET', `/v1/checks/heartbeats/${id}/events`);
    const listed = answer.body as { events: { state: string }[] }[];
    return (listed[0]?.events ?? []).map(({ state }) => state);
  };
  return { ping: () => fetch(heartbeat.pingUrl), events };
}

test('a heartbeat does not fail by time in which the process was stopped', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { ping, events } = await makeHeartbeat(cp);
  await ping();
  await passTime(clock, 9 * minute);
  clock.freeze(20 * minute);
  assert.deepEqual(await events(), ['RECEIVED'], 'at once: what waits in the sockets is unread');
  await passTime(clock, 10 * second);
  assert.deepEqual(await events(), ['RECEIVED'], 'the ping was expected meanwhile and may be lost');
  await ping();
  assert.deepEqual((await events()).toSorted(), ['GRACE', 'RECEIVED']);
  await passTime(clock, 13 * minute);
  assert.equal((await events()).includes('FAILING'), true, 'a job that is dead is found');
});

test('a stop that loses no ping puts the deadline off by as long', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { ping, events } = await makeHeartbeat(cp);
  await ping();
  await passTime(clock, 12 * minute - 6 * second);
  clock.freeze(7 * second);
  // Each question gives it a turn to read what waits in its sockets.
  for (let passed = 0; passed < 4; passed += 1) {
    await passTime(clock, second);
    assert.equal((await events()).includes('FAILING'), false);
  }
  await passTime(clock, 4 * second);
  assert.equal((await events()).includes('FAILING'), true);
});

test('a ping that is being recorded is not missing, and one that came too late keeps nothing back', async () => {
  for (const [comesAfterDeadlineMs, isKept] of [
    [-2, true],
    [-1, true],
    [1, false],
  ] as const) {
    const clock = new TestClock(start);
    await using cp = await startTestControlPlane({ clock });
    const { reception, db } = cp.controlPlane.services;
    const { ping, events } = await makeHeartbeat(cp, 0);
    await ping();
    const { fails_at: deadline } = await db
      .selectFrom('heartbeats')
      .select('fails_at')
      .executeTakeFirstOrThrow();
    clock.advance(Number(deadline) - clock.now() + comesAfterDeadlineMs);
    const recorded = Promise.withResolvers<void>();
    const receiving = reception.receive(clock.now(), () => recorded.promise);
    clock.advance(5 * second);
    assert.equal((await events()).includes('FAILING'), !isKept);
    if (comesAfterDeadlineMs === -2) {
      await passTime(clock, minute);
      assert.equal((await events()).includes('FAILING'), true, 'it takes too long');
    }
    recorded.resolve();
    await receiving;
    assert.equal((await events()).includes('FAILING'), true, 'it was recorded as nothing');
  }
});

test('after a pause nothing is concluded before the pings that waited are recorded', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { reception } = cp.controlPlane.services;
  assert.equal(reception.hasReadAll(), true);
  clock.freeze(20 * second);
  assert.equal(reception.hasReadAll(), false);
  const recorded = Promise.withResolvers<void>();
  const receiving = reception.receive(clock.now(), () => recorded.promise);
  await passTime(clock, 10 * second);
  assert.equal(reception.hasReadAll(), false);
  const later = reception.receive(clock.now(), () => new Promise(() => undefined));
  recorded.resolve();
  await receiving;
  assert.equal(reception.hasReadAll(), true, 'a ping that came later keeps nothing back');
  void later;
  clock.freeze(20 * second);
  await passTime(clock, 50 * second);
  void reception.receive(clock.now(), () => new Promise(() => undefined));
  clock.freeze(3 * second);
  await passTime(clock, 5 * second);
  assert.equal(reception.hasReadAll(), false, 'one that has just come');
  await passTime(clock, minute);
  assert.equal(reception.hasReadAll(), true, 'one that takes too long keeps nothing back');
});

test('a ping that was lost in a pause is made up for by the next one', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const { ping, events } = await makeHeartbeat(cp, 0.1);
  await ping();
  await passTime(clock, 10 * minute - 10 * second, 5 * second);
  clock.freeze(20 * second);
  // The job pings every ten minutes: ten seconds ago, and not again before the next time.
  await passTime(clock, 10 * minute - 11 * second, 5 * second);
  await ping();
  assert.deepEqual((await events()).includes('FAILING'), false);
});

for (const [name, stepMs, options] of [
  ['three hours ahead', 3 * hour, {}],
  ['a year ahead', year, inLongTier],
  ['three hours back', -3 * hour, {}],
] as const) {
  test(
    `a clock that is set ${name} and right again fails no heartbeat, and is on record`,
    options,
    async () => {
      const clock = new TestClock(start);
      await using cp = await startTestControlPlane({ clock });
      const { ping, events } = await makeHeartbeat(cp);
      await ping();
      for (const by of [stepMs, -stepMs]) {
        await passTime(clock, 4 * minute, 5 * second);
        clock.setWall(clock.now() + by);
        await passTime(clock, 5 * minute, 5 * second);
        await ping();
        await passTime(clock, minute);
      }
      assert.equal((await events()).includes('FAILING'), false);
      const gaps = await cp.controlPlane.services.db
        .selectFrom('reception_gaps')
        .select(['cause', 'step_ms'])
        .execute();
      assert.deepEqual(gaps, [
        { cause: 'clock-step', step_ms: stepMs },
        { cause: 'clock-step', step_ms: -stepMs },
      ]);
      await passTime(clock, 13 * minute, 5 * second);
      assert.equal((await events()).includes('FAILING'), true, 'a job that is dead is found');
    },
  );
}

for (const [says, stopMs, runMs, options] of [
  ['a short stop in each minute', 4 * second, 56 * second, inLongTier],
  ['a stop of twenty seconds every five minutes', 20 * second, 280 * second, inLongTier],
  ['each second comes late', 300, second, {}],
  ['it hardly runs', 3 * second, second, {}],
] as const) {
  test(
    `a job that is dead is found, however the control plane stalls or is stopped: ${says}`,
    options,
    async () => {
      const clock = new TestClock(start);
      await using cp = await startTestControlPlane({ clock });
      const { ping, events } = await makeHeartbeat(cp);
      await ping();
      const isFound = async () => (await events()).includes('FAILING');
      let lookedAt = 0;
      for (let passed = 0; passed < 2 * hour; passed += stopMs + runMs) {
        await passTime(clock, runMs);
        clock.freeze(stopMs);
        await new Promise((resolve) => setImmediate(resolve));
        await sweepHeartbeats(cp.controlPlane.services);
        if (passed - lookedAt < 5 * minute) continue;
        lookedAt = passed;
        if (await isFound()) break;
      }
      assert.equal(await isFound(), true);
    },
  );
}

test('a clock that was set while nothing ran is on record, and nothing from the future is kept', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  const ahead = new TestClock(start + 3 * hour);
  const first = await startTestControlPlane({ clock: ahead, file });
  const before = await makeHeartbeat(first);
  await before.ping();
  await first[Symbol.asyncDispose]();
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock, file });
  const { db } = cp.controlPlane.services;
  const heartbeats = await db
    .selectFrom('heartbeats')
    .select(['last_ping_at', 'expected_at', 'fails_at'])
    .execute();
  assert.deepEqual(heartbeats, [
    { last_ping_at: start, expected_at: start + 10 * minute, fails_at: start + 12 * minute },
  ]);
  assert.deepEqual(await db.selectFrom('reception_gaps').select(['cause', 'step_ms']).execute(), [
    { cause: 'clock-step', step_ms: -3 * hour },
  ]);
});
