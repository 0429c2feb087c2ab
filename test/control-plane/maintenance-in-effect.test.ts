// PostgreSQL in the long tier: check-sessions.test.ts and deleted-references.test.ts run its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { runIdOfSlot } from '@monitor/shared/domain/run-id.ts';
import { maintenanceOf, maintenanceWindowsOf } from '../../control-plane/maintenance/windows.ts';
import { sweepSlots } from '../../control-plane/results/sweep-slots.ts';
import {
  startTestControlPlane,
  sweepOnceRead,
  type TestControlPlane,
} from '../support/control-plane.ts';
import { sha256Hex } from '../../control-plane/core/keys.ts';
import { FakeAgent, resultOf, resultOfJob } from '../support/fake-agent.ts';
import { TestClock } from '../support/test-clock.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const start = Date.parse('2026-11-21T08:00:00Z');
const location = 'eu-west-1';

async function setUp() {
  const clock = new TestClock(start);
  const cp = await startTestControlPlane({ clock });
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  return { clock, cp, agent };
}

async function makeCheck(cp: TestControlPlane, fields: Record<string, unknown>): Promise<string> {
  const { status, body } = await cp.api('POST', '/v1/checks/url', {
    name: 'a',
    locations: [location],
    frequency: 1,
    request: { url: 'https://a.example' },
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as string;
}

/** A window some minutes from the start. */
async function makeWindow(
  cp: TestControlPlane,
  [from, to]: readonly [number, number],
  fields: Record<string, unknown>,
): Promise<number> {
  const { status, body } = await cp.api('POST', '/v1/maintenance-windows', {
    name: 'deploy',
    startsAt: new Date(start + from * minute).toISOString(),
    endsAt: new Date(start + to * minute).toISOString(),
    repeatUnit: null,
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as number;
}

async function pausesAt(agent: FakeAgent): Promise<Map<string, [number, number][]>> {
  agent.snapshot = null;
  const { upserts } = await agent.checkIn();
  return new Map(
    upserts.map(({ id, pauses }) => [
      id,
      pauses.map(({ from, to }) => [(from - start) / minute, (to - start) / minute]),
    ]),
  );
}

/** Minutes from the start of the slots that were missed, by reason. */
async function missedOf(cp: TestControlPlane, checkId: string): Promise<Record<string, number[]>> {
  const { body } = await cp.api('GET', `/v1/check-runs/${checkId}?limit=100`);
  const found: Record<string, number[]> = {};
  for (const { missedReason, scheduledFor } of body) {
    const atMinute = Math.floor((Date.parse(scheduledFor) - start) / minute);
    (found[missedReason ?? 'ran'] ??= []).unshift(atMinute);
  }
  return found;
}

test('what a window selects by tag is not run, and its slots are not outages', async () => {
  const { clock, cp, agent } = await setUp();
  await using _cp = cp;
  const { body: group } = await cp.api('POST', '/v2/check-groups', { name: 'g', tags: ['shop'] });
  const tagged = await makeCheck(cp, { tags: ['shop', 'web'] });
  const grouped = await makeCheck(cp, { groupId: group.id });
  const other = await makeCheck(cp, { tags: ['api'] });
  await makeWindow(cp, [3, 6], { tags: ['shop'] });
  await makeWindow(cp, [5, 8], { tags: ['web'] });
  await makeWindow(cp, [0, 60], {});
  assert.deepEqual(
    await pausesAt(agent),
    new Map([
      [tagged, [[3, 8]]],
      [grouped, [[3, 6]]],
      [other, []],
    ]),
  );
  clock.advance(15 * minute);
  await sweepSlots(cp.controlPlane.services);
  const { maintenance: ofTagged } = await missedOf(cp, tagged);
  assert.deepEqual(ofTagged, [3, 4, 5, 6, 7]);
  assert.deepEqual((await missedOf(cp, grouped))['maintenance'], [3, 4, 5]);
  assert.equal((await missedOf(cp, other))['maintenance'], undefined);
});

test('a window that pauses all checks needs no tags', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp, {});
  await makeWindow(cp, [3, 6], { pauseAllChecks: true });
  assert.deepEqual((await pausesAt(agent)).get(id), [[3, 6]]);
});

test('a slot at the start of a window is in it, one at its end is not', async () => {
  const { clock, cp } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp, { tags: ['shop'] });
  const { db } = cp.controlPlane.services;
  await makeWindow(cp, [3, 6], { tags: ['shop'] });
  clock.advance(10 * minute);
  const isIn = async (at: number) => (await maintenanceOf(db, cp.accountId, [id], at)).has(id);
  const from = start + 3 * minute;
  const to = start + 6 * minute;
  assert.deepEqual(
    [await isIn(from - 1), await isIn(from), await isIn(to - 1), await isIn(to)],
    [false, true, true, false],
  );
  const found = await maintenanceOf(db, cp.accountId, [id], from);
  assert.partialDeepStrictEqual(found.get(id), { name: 'deploy', startsAt: from, endsAt: to });
});

test('agents hear of every change of a window, and nothing while nothing changes', async () => {
  const { clock, cp, agent } = await setUp();
  await using _cp = cp;
  const tagged = await makeCheck(cp, { tags: ['shop'] });
  const other = await makeCheck(cp, {});
  const news = async (): Promise<ReadonlyMap<string, number[]>> => {
    const answer = await agent.checkIn();
    return new Map(
      answer.upserts.map(({ id, pauses }) => [id, pauses.map(({ from }) => from - start)]),
    );
  };
  const neither = new Map([
    [tagged, []],
    [other, []],
  ]);
  await agent.checkIn();
  const id = await makeWindow(cp, [10, 20], { tags: ['shop'] });
  const path = `/v1/maintenance-windows/${id}`;
  assert.deepEqual(await news(), new Map([[tagged, [10 * minute]]]));
  assert.equal((await news()).size, 0);
  await cp.api('PUT', path, { startsAt: new Date(start + 5 * minute).toISOString() });
  assert.deepEqual(await news(), new Map([[tagged, [5 * minute]]]));
  await cp.api('PUT', path, { name: 'renamed' });
  assert.equal((await news()).size, 0);
  await cp.api('PUT', `/v1/checks/url/${other}`, { tags: ['shop'] });
  assert.deepEqual(await news(), new Map([[other, [5 * minute]]]));
  const { body } = await cp.api('GET', path);
  await cp.api('DELETE', `${path}/maintenances/${body.nextOccurrences[0].id}`);
  assert.deepEqual(await news(), neither);
  clock.advance(1);
  const again = await makeWindow(cp, [10, 20], { tags: ['shop'] });
  await news();
  await cp.api('DELETE', `/v1/maintenance-windows/${again}`);
  assert.deepEqual(await news(), neither);
});

test('an agent always knows the pauses of eight days, and gets them once a day', async () => {
  const { clock, cp, agent } = await setUp();
  await using _cp = cp;
  await makeCheck(cp, { tags: ['shop'] });
  await makeWindow(cp, [0, 30], { tags: ['shop'], repeatUnit: 'DAY' });
  await agent.checkIn();
  let told = 0;
  let known = 0;
  for (let hours = 0; hours < 5 * 24; hours += 1) {
    const [upsert] = (await agent.checkIn()).upserts;
    if (upsert !== undefined) {
      told += 1;
      known = upsert.pauses.at(-1)?.to ?? 0;
    }
    if (known > 0) assert.ok(known > clock.now() + 7 * day);
    // The agent stays, as it would: only the wall clock moves on.
    clock.setWall(clock.now() + hour);
  }
  // The first telling may have come with the check-in before these.
  assert.ok(told === 4 || told === 5, `told ${told} times in five days`);
});

test('triggered runs execute in maintenance; a new check does not run at once', async () => {
  const { clock, cp, agent } = await setUp();
  await using _cp = cp;
  await agent.checkIn();
  await makeWindow(cp, [0, 60], { tags: ['shop'] });
  clock.advance(minute);
  await agent.checkIn();
  const id = await makeCheck(cp, { tags: ['shop'] });
  assert.deepEqual((await agent.checkIn()).jobs, []);
  const { status } = await cp.api('POST', '/v2/check-sessions/trigger', {
    target: { checkId: [id] },
  });
  assert.equal(status, 201);
  const [job] = (await agent.checkIn()).jobs;
  assert.ok(job !== undefined);
  assert.deepEqual([job.check.id, job.check.pauses], [id, []]);
  const [outcome] = await agent.submit(resultOfJob(job, { startedAt: clock.now() }));
  assert.equal(outcome?.outcome, 'accepted');
  const { body: results } = await cp.api('GET', `/v1/check-results/${id}`);
  assert.equal(results.length, 1);
});

test('slots from before a window was deleted, moved or called off stay what they were', async () => {
  for (const how of ['delete', 'move', 'call off'] as const) {
    const { clock, cp, agent } = await setUp();
    await using _cp = cp;
    const id = await makeCheck(cp, { tags: ['shop'] });
    const windowId = await makeWindow(cp, [2, 60], { tags: ['shop'] });
    const path = `/v1/maintenance-windows/${windowId}`;
    const { body } = await cp.api('GET', path);
    clock.advance(5 * minute);
    if (how === 'delete') await cp.api('DELETE', path);
    else if (how === 'move') await cp.api('PUT', path, { startsAt: '2026-11-21T08:30:00Z' });
    else await cp.api('DELETE', `${path}/maintenances/${body.nextOccurrences[0].id}`);
    await agent.checkIn();
    const slots = (await agent.checkIn()).upserts;
    assert.deepEqual(slots, []);
    clock.advance(7 * minute);
    await sweepSlots(cp.controlPlane.services);
    assert.deepEqual((await missedOf(cp, id))['maintenance'], [2, 3, 4], how);
  }
});

test('a window does not excuse what happened before it was planned', async () => {
  const { clock, cp } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp, { tags: ['shop'] });
  clock.advance(3 * minute);
  await makeWindow(cp, [0, 60], { tags: ['shop'] });
  clock.advance(7 * minute);
  await sweepSlots(cp.controlPlane.services);
  const { maintenance = [] } = await missedOf(cp, id);
  assert.equal(Math.min(...maintenance), 3);
});

test('a run that began before a window finishes in it and is kept', async () => {
  const { clock, cp, agent } = await setUp();
  await using _cp = cp;
  const id = await makeCheck(cp, { tags: ['shop'] });
  await makeWindow(cp, [2, 20], { tags: ['shop'] });
  const slot = start + 2 * minute - 1_000;
  clock.advance(4 * minute);
  const result = resultOf(id, { scheduledFor: slot, startedAt: slot, stoppedAt: slot + 90_000 });
  assert.equal(result.runId, runIdOfSlot({ checkId: id, location, scheduledFor: slot }, sha256Hex));
  assert.equal((await agent.submit(result))[0]?.outcome, 'accepted');
});

/** One that is pinged every ten minutes. */
async function makeHeartbeat(cp: TestControlPlane, graceMinutes: number) {
  const { body: check } = await cp.api('POST', '/v1/checks/heartbeat', {
    name: 'nightly',
    tags: ['shop'],
    heartbeat: { period: 10, periodUnit: 'minutes', grace: graceMinutes, graceUnit: 'minutes' },
  });
  const failing = async () => {
    await sweepOnceRead(cp.controlPlane.services);
    return (await cp.api('GET', `/v1/check-statuses/${check.id}`)).body.hasFailures as boolean;
  };
  return { pingUrl: check.heartbeat.pingUrl as string, failing };
}

test('a heartbeat does not fail in maintenance and has its grace time afterwards', async () => {
  const { clock, cp } = await setUp();
  await using _cp = cp;
  const { pingUrl, failing } = await makeHeartbeat(cp, 2);
  await makeWindow(cp, [11, 40], { tags: ['shop'] });
  const second = await makeWindow(cp, [100, 200], { tags: ['shop'] });
  await fetch(pingUrl);
  clock.advance(41 * minute);
  assert.equal(await failing(), false);
  clock.advance(minute);
  assert.equal(await failing(), true, 'at the end of the window and two minutes');

  clock.advance(50 * minute);
  await fetch(pingUrl);
  assert.equal(await failing(), false, 'a ping is heard');
  clock.advance(20 * minute);
  assert.equal(await failing(), false, 'in the second window');
  await fetch(pingUrl);
  clock.advance(30 * minute);
  assert.equal(await failing(), false, 'after a ping in the window');
  await cp.api('DELETE', `/v1/maintenance-windows/${second}`);
  clock.advance(minute);
  assert.equal(await failing(), false, 'the window is gone, the grace time runs');
  clock.advance(minute);
  assert.equal(await failing(), true);
});

test('a ping that was expected in maintenance may come within the grace time after it', async () => {
  const { clock, cp } = await setUp();
  await using _cp = cp;
  const { pingUrl, failing } = await makeHeartbeat(cp, 5);
  await makeWindow(cp, [8, 12], { tags: ['shop'] });
  await fetch(pingUrl);
  clock.advance(16 * minute);
  assert.equal(await failing(), false);
  clock.advance(minute);
  assert.equal(await failing(), true);
});

test('windows of others are neither seen nor in effect', async () => {
  const { cp, agent } = await setUp();
  await using _cp = cp;
  const { db } = cp.controlPlane.services;
  const id = await makeCheck(cp, { tags: ['shop'] });
  const foreign = { authorization: `Bearer ${await cp.foreignKey()}` };
  const window = {
    name: 'theirs',
    startsAt: new Date(start).toISOString(),
    endsAt: new Date(start + hour).toISOString(),
    repeatUnit: null,
    pauseAllChecks: true,
  };
  const { status } = await cp.api('POST', '/v1/maintenance-windows', window, foreign);
  assert.equal(status, 201);
  assert.deepEqual((await pausesAt(agent)).get(id), []);
  assert.equal((await maintenanceOf(db, cp.accountId, [id], start)).size, 0);
  assert.deepEqual(await maintenanceWindowsOf(db, cp.accountId), []);
});
