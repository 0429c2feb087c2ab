import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { pruneRollUps, setRawFrom } from '../../../control-plane/analytics/roll-up-rows.ts';
import { pruneHeartbeatEvents } from '../../../control-plane/heartbeats/prune-events.ts';
import { ResultPruning } from '../../../control-plane/results/prune-results.ts';
import { addToInbox } from '../../../control-plane/results/roll-up-inbox.ts';
import { RollUp } from '../../../control-plane/analytics/roll-up.ts';
import type { Services } from '../../../control-plane/core/services.ts';
import { insertRandomResult } from '../../support/random-results.ts';
import { seededRandom } from '../../support/random.ts';
import {
  Bench,
  fiveRuns,
  hour,
  insertResults,
  minute,
  now,
  setUp,
  unix,
} from '../../support/results.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { rowsOf } from '../../support/tables.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';

const hooks = { setRawFrom, pruneEvents: pruneHeartbeatEvents };
const day = 24 * hour;
const keptMs = 30 * day;

async function all(run: () => Promise<unknown>): Promise<void> {
  while (await run());
}

async function counts(services: Services, ...tables: string[]): Promise<number[]> {
  return Promise.all(tables.map(async (table) => (await rowsOf(services.db, table)).length));
}

const ofResults = [
  'check_results',
  'result_payloads',
  'check_runs',
  'check_result_error_groups',
  'artifacts',
  'heartbeat_events',
];

test('old results go with all that belongs to them, but not before they are rolled up', async () => {
  await using bench = await setUp();
  const { services } = bench.cp.controlPlane;
  const id = await fiveRuns(bench);
  await bench.submit(id, 'URL', now - 10 * minute, {
    hasFailures: true,
    errorMessages: ['refused'],
    artifacts: [{ name: 'a.txt', type: 'file', contentType: 'text/plain', size: 1 }] as never,
  });
  const { body: heartbeat } = await bench.cp.api('POST', '/v1/checks/heartbeat', {
    name: 'job',
    heartbeat: { period: 10, periodUnit: 'minutes', grace: 2, graceUnit: 'minutes' },
  });
  assert.equal((await fetch(heartbeat.heartbeat.pingUrl as string)).status, 200);
  const before = await counts(services, ...ofResults);
  assert.ok(
    before.every((count) => count > 0),
    before.join(),
  );

  const pruning = new ResultPruning(services, keptMs, hooks);
  bench.clock.setWall(now + 35 * day);
  await all(() => pruning.run());
  assert.deepEqual(await counts(services, ...ofResults), before);

  await all(() => new RollUp(services).run());
  await all(() => pruning.run());
  assert.deepEqual(await counts(services, ...ofResults), [0, 0, 0, 0, 0, 0]);
  const [statuses, errorGroups] = await counts(services, 'check_statuses', 'error_groups');
  assert.equal(statuses, 2);
  assert.equal(errorGroups, 1);
  const status = await bench.get(`check-statuses/${id}`);
  assert.equal(status.hasFailures, true);

  const window = `from=${unix(now - 3 * hour)}&to=${unix(now)}`;
  const answer = await bench.get(
    `analytics/url-monitors/${id}?metrics=responseTime_sum,availability,retries,responseTime&${window}`,
  );
  // The five runs, and the one with the file.
  const [sums, points] = answer.series;
  assert.deepEqual(sums.data, [{ responseTime_sum: 2020, availability: 66.667, retries: 1 }]);
  assert.deepEqual(points.data, []);
});

test('results within the time they are kept stay, and so does a run with a result that came late', async () => {
  await using bench = await setUp();
  const { services } = bench.cp.controlPlane;
  const id = await bench.check('url');
  await insertResults(bench, id, 'URL', [
    { at: now - 31 * day, responseTime: 1 },
    { at: now - 30 * day + 1, responseTime: 2 },
  ]);
  await services.db
    .updateTable('check_runs')
    .set({ created_at: now - 31 * day })
    .execute();
  await all(() => new RollUp(services).run());
  const pruning = new ResultPruning(services, keptMs, hooks);
  await all(() => pruning.run());
  const rows = await services.db.selectFrom('check_results').select('response_time_ms').execute();
  assert.deepEqual(rows, [{ response_time_ms: 2 }]);
  assert.deepEqual(await counts(services, 'check_runs'), [1]);
  bench.clock.setWall(now + minute);
  await all(() => pruning.run());
  assert.deepEqual(await counts(services, 'check_results', 'check_runs'), [0, 0]);
});

test('an attempt that has just become FINAL waits until it counts as such', async () => {
  await using bench = await setUp();
  const { services } = bench.cp.controlPlane;
  const id = await bench.check('url');
  await insertResults(bench, id, 'URL', [{ at: now - 31 * day, responseTime: 7 }]);
  await services.db.updateTable('check_results').set({ result_type: 'ATTEMPT' }).execute();
  const { seq } = await services.db
    .selectFrom('check_results')
    .select('seq')
    .executeTakeFirstOrThrow();
  await services.db.deleteFrom('roll_up_inbox').execute();
  await addToInbox(services.db, [{ seq, runDay: 0, checkId: id, occasion: 'attempts' }], now);
  await all(() => new RollUp(services).run());
  await services.db.updateTable('check_results').set({ result_type: 'FINAL' }).execute();
  await addToInbox(services.db, [{ seq, runDay: 0, checkId: id, occasion: 'promoted' }], now);
  const pruning = new ResultPruning(services, keptMs, hooks);
  await all(() => pruning.run());
  assert.deepEqual(await counts(services, 'check_results', 'roll_up_inbox'), [1, 1]);
  await all(() => new RollUp(services).run());
  await all(() => pruning.run());
  assert.deepEqual(await counts(services, 'check_results', 'roll_up_inbox'), [0, 0]);
  const window = `from=${unix(now - 32 * day)}&to=${unix(now)}`;
  const answer = await bench.get(
    `analytics/url-monitors/${id}?metrics=responseTime_sum,retries&${window}`,
  );
  assert.deepEqual(answer.series[0].data, [{ responseTime_sum: 7, retries: 0 }]);
});

test('after pruning, windows and buckets of whole hours say what they said before', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const { services } = bench.cp.controlPlane;
  const random = seededRandom(7);
  const id = await bench.check('url');
  const of = { db: services.db, accountId: bench.cp.accountId, random };
  for (let index = 0; index < 250; index += 1) {
    const at = Math.floor(now - 40 * day + (index / 250) * 40 * day);
    await insertRandomResult(of, { id, type: 'URL' }, at, at);
  }
  await all(() => new RollUp(services).run());
  const questions = [0, 60, 180, 1440, 10_080].flatMap((interval) =>
    [0, 36, 20 * 24].map((hoursAgo) => {
      const window = `from=${unix(now - 39 * day)}&to=${unix(now - hoursAgo * hour)}`;
      const buckets = interval === 0 ? '' : `&aggregationInterval=${interval}`;
      return `metrics=responseTime_avg,responseTime_p95,dns_max,availability,retries&limit=100&${window}${buckets}`;
    }),
  );
  const ask = () =>
    Promise.all(
      questions.map(
        async (query) => (await bench.get(`analytics/url-monitors/${id}?${query}`)).series,
      ),
    );
  const before = await ask();
  const pruning = new ResultPruning(services, keptMs, hooks);
  await all(() => pruning.run());
  assert.ok((await rowsOf(services.db, 'check_results')).length < 200);
  assert.deepEqual(await ask(), before);
});

test('the file does not grow when as much is forgotten as arrives', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'a.db');
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock, file });
  const { services } = cp.controlPlane;
  const bench = new Bench(clock, cp);
  const id = await bench.check('url');
  const pruning = new ResultPruning(services, day, hooks);
  const sizes: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    const start = now + round * 2 * day;
    clock.setWall(start);
    const payload = { response: { status: 200 }, filling: randomBytes(6000).toString('hex') };
    await insertResults(
      bench,
      id,
      'URL',
      Array.from({ length: 80 }, (_, index) => ({ at: start + index, responseTime: 1, payload })),
    );
    await services.db.updateTable('check_runs').set({ created_at: start }).execute();
    await all(() => new RollUp(services).run());
    clock.setWall(start + 2 * day);
    await all(() => pruning.run());
    const pages = await rowsOf(services.db, 'pragma_page_count');
    sizes.push(Number(pages[0]?.['page_count']));
  }
  const [, second = 0] = sizes;
  assert.ok((sizes.at(-1) ?? 0) <= second * 1.1, sizes.join());
  assert.ok(statSync(file).size > 0);
});

test('sums that are older than they are kept are forgotten', async () => {
  await using bench = await setUp();
  const { services } = bench.cp.controlPlane;
  const id = await bench.check('url');
  const ages = [399, 401];
  await insertResults(
    bench,
    id,
    'URL',
    ages.map((days) => ({ at: now - days * day, responseTime: days })),
  );
  await all(() => new RollUp(services).run());
  bench.clock.setWall(now + 2 * minute);
  await all(() => new RollUp(services).run());
  assert.deepEqual(await counts(services, 'roll_ups'), [4]);
  await all(() => pruneRollUps(services, 400 * day));
  const kept = services.db.selectFrom('roll_ups').select(['hours', 'first_at']);
  const rows = await kept.orderBy('hours').execute();
  assert.deepEqual(
    rows.map((row) => [row.hours, row.first_at]),
    [
      [1, now - 399 * day],
      [24, now - 399 * day],
    ],
  );
});
