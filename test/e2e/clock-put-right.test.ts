// Own process: it waits for minutes of virtual time, in turns of the event loop.
import assert from 'node:assert/strict';
import test from 'node:test';
import { between } from '../../proof/case.ts';
import type { TestControlPlane } from '../support/control-plane.ts';
import { isLong, seededRandom, testSeed } from '../support/random.ts';
import { checks, site, startPlay, type VirtualWorld } from '../support/virtual-world.ts';

const second = 1_000;

/** What is stored, as one line for each visit or result: which check, and how it ended. */
async function assertEachVisitHasItsResult(world: VirtualWorld, cp: TestControlPlane) {
  const { db, clock } = cp.controlPlane.services;
  // What has begun ends, and is delivered.
  for (const { id } of await db.selectFrom('checks').select('id').execute()) {
    assert.equal((await cp.api('PUT', `/v1/checks/url/${id}`, { activated: false })).status, 200);
  }
  await world.run(10 * second);
  const results = await db.selectFrom('check_results').selectAll().execute();
  const line = (checkId: string, hasFailed: boolean): string => `${checkId} ${hasFailed}`;
  const count = (lines: readonly string[]) =>
    Object.fromEntries([...Map.groupBy(lines, (each) => each)].map(([k, all]) => [k, all.length]));
  assert.deepEqual(
    count(results.map((each) => line(each.check_id, each.has_failures === 1))),
    count(site.visits.map(({ checkId, hasFailed }) => line(checkId, hasFailed))),
  );
  const runs = await db.selectFrom('check_runs').selectAll().execute();
  const finals = results.filter((each) => each.result_type === 'FINAL');
  assert.equal(runs.filter(({ state }) => state === 'FINAL').length, finals.length);
  const inFuture = results.filter((each) => each.started_at > clock.now() + second);
  assert.deepEqual(inFuture, []);
  return runs;
}

const seeds = isLong ? 200 : 2;
const seed = isLong ? testSeed() : 1;

test(`an outage after the clock was put right is seen: ${seeds} steps of 5 to 300 s`, async (t) => {
  t.diagnostic(`seed ${seed}`);
  for (let turn = 0; turn < seeds; turn += 1) {
    const random = seededRandom(seed + turn);
    const stepMs = Math.round(between(random, 5 * second, 300 * second));
    const aheadForMs = Math.round(between(random, 5 * second, 60 * second));
    await using play = await startPlay(random);
    const { world, walls, cp } = play;
    await play.addAgent();
    await world.run(12 * second + Math.round(random() * 10 * second));
    walls.controlPlane.aheadMs = stepMs;
    await world.run(aheadForMs);
    walls.controlPlane.aheadMs = 0;
    site.isDown = true;
    await world.run(stepMs + 15 * second);
    site.isDown = false;
    await world.run(30 * second);
    const what = `seed ${seed + turn}: ${stepMs} ms for ${aheadForMs} ms`;
    try {
      await assertEachVisitHasItsResult(world, cp);
    } catch (error) {
      throw new Error(what, { cause: error });
    }
    const alerts = await cp.controlPlane.services.db
      .selectFrom('check_alerts')
      .select(['check_id', 'alert_type'])
      .execute();
    const types = [...Map.groupBy(alerts, (each) => each.check_id).values()].map((all) =>
      all.map((each) => each.alert_type).join(),
    );
    assert.deepEqual(types, Array(checks).fill('ALERT_FAILURE,ALERT_RECOVERY'), what);
    t.diagnostic(`${what}, ${site.visits.length} visits`);
  }
});

test('nothing is taken off its slot when only the clock of an agent is set', async () => {
  const random = seededRandom(seed);
  await using play = await startPlay(random);
  const { world, walls, cp } = play;
  await play.addAgent();
  for (const aheadMs of [40 * second, 0, -300 * second, 0]) {
    await world.run(20 * second);
    walls.agent.aheadMs = aheadMs;
  }
  await world.run(20 * second);
  const runs = await assertEachVisitHasItsResult(world, cp);
  const ofNoSlot = runs.filter((run) => run.scheduled_for === null);
  assert.equal(ofNoSlot.length, checks, 'the first run of each check');
  assert.ok(runs.every(({ state }) => state === 'FINAL'));
});
