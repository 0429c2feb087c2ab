// Own process: it waits for minutes of virtual time, in turns of the event loop.
import assert from 'node:assert/strict';
import test from 'node:test';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import { startAgent } from '../../agent/compose.ts';
import { readConfig } from '../../agent/config.ts';
import { between } from '../../proof/case.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { plainNetwork } from '../support/plain-network.ts';
import { isLong, seededRandom, testSeed } from '../support/random.ts';
import { temporaryFolder } from '../support/system.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const second = 1_000;
const checks = 4;
const location = 'eu-central-1';
const url = 'http://127.0.0.1:9/';

interface Visit {
  checkId: string;
  hasFailed: boolean;
}

/** The target of all plays: a process loads the runner of a type once. */
const site = { isDown: false, visits: [] as Visit[], random: seededRandom(0) };

async function visit(_: unknown, { clock, run }: { clock: Clock; run: { checkId: string } }) {
  const startedAt = clock.now();
  const hasFailed = site.isDown;
  site.visits.push({ checkId: run.checkId, hasFailed });
  // Some take longer than the time between two submissions.
  const tookMs = Math.round(between(site.random, 20, 3_000));
  await new Promise<void>((resolve) => clock.after(tookMs, resolve));
  return {
    ...{ startedAt, stoppedAt: clock.now(), responseTime: tookMs },
    failure: hasFailed ? { code: 'ECONNREFUSED', message: 'refused' } : null,
    request: { method: 'GET', url },
    response: hasFailed
      ? null
      : {
          ...{ status: 200, statusText: 'OK', headers: {}, body: '' },
          ...{ timings: {}, timingPhases: {} },
        },
  };
}

/** A control plane, and an agent with four checks; the clock of each of them can be set. */
async function startPlay(random: () => number) {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder());
  const world = new VirtualWorld();
  const walls = { controlPlane: { aheadMs: 0 }, agent: { aheadMs: 0 } };
  Object.assign(site, { isDown: false, visits: [], random });
  const cp = stack.use(
    await startTestControlPlane({
      clock: world.clock(walls.controlPlane),
      file: join(folder.path, 'control-plane.db'),
      settings: { REQUESTS_PER_MINUTE: '0' },
    }),
  );
  for (let index = 0; index < checks; index += 1) {
    const { status } = await cp.api('POST', '/v1/checks/url', {
      ...{ name: `check ${index}`, frequency: 0, frequencyOffset: 10, locations: [location] },
      request: { url, method: 'GET', assertions: [] },
    });
    assert.equal(status, 201);
  }
  const { config } = readConfig({
    environment: {
      ...{ API_KEY: await cp.locationKey(location), CONTROL_PLANE_URL: cp.url },
      ...{ AGENT_HEALTH_PORT: '0', AGENT_HEALTH_HOST: '127.0.0.1' },
      ...{ AGENT_DATA_DIR: join(folder.path, 'agent'), AGENT_CHECK_TYPES: 'URL' },
    },
  });
  stack.use(
    await startAgent({
      ...{ config, logger: pino({ level: 'silent' }), network: plainNetwork },
      clock: world.clock(walls.agent),
      runners: { URL: { pool: 'light', load: () => Promise.resolve(visit as never) } },
    }),
  );
  const owned = stack.move();
  return { world, walls, cp, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** What is stored, as one line for each visit or result: which check, and how it ended. */
async function assertEachVisitHasItsResult(cp: TestControlPlane) {
  const { db, clock } = cp.controlPlane.services;
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
      await assertEachVisitHasItsResult(cp);
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
  for (const aheadMs of [40 * second, 0, -300 * second, 0]) {
    await world.run(20 * second);
    walls.agent.aheadMs = aheadMs;
  }
  await world.run(20 * second);
  const runs = await assertEachVisitHasItsResult(cp);
  const ofNoSlot = runs.filter((run) => run.scheduled_for === null);
  assert.equal(ofNoSlot.length, checks, 'the first run of each check');
  assert.ok(runs.every(({ state }) => state === 'FINAL'));
});
