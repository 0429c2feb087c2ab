import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { sql, type Kysely } from 'kysely';
import { RollUp } from '../../../control-plane/analytics/roll-up.ts';
import { setRawFrom } from '../../../control-plane/analytics/roll-up-rows.ts';
import type { Database } from '../../../control-plane/db/tables.ts';
import { daysOf, isOfDays, runDayOf } from '../../../control-plane/db/run-days.ts';
import { pruneHeartbeatEvents } from '../../../control-plane/heartbeats/prune-events.ts';
import { ResultPruning } from '../../../control-plane/results/prune-results.ts';
import { runsOnPostgres } from '../../support/postgres.ts';
import { hour, minute, now, setUp } from '../../support/results.ts';
import { eventually } from '../../support/system.ts';
import { rowsOf } from '../../support/tables.ts';

const day = 24 * hour;
const today = Math.floor(now / day);
const keptMs = 30 * day;
const hooks = { setRawFrom, pruneEvents: pruneHeartbeatEvents };
const onPostgres = { skip: runsOnPostgres ? false : 'SQLite has no partitions' };

async function daysIn(db: Kysely<Database>): Promise<number[]> {
  const { rows } = await sql<{ name: string }>`
    select inhrelid::regclass::text as name from pg_inherits
    where inhparent = 'check_results'::regclass`.execute(db);
  return rows.map(({ name }) => Number(name.replace('check_results_d', ''))).sort((a, b) => a - b);
}

async function all(run: () => Promise<unknown>): Promise<void> {
  while (await run());
}

test('the day of a run follows from its slot, or from the time in its id', () => {
  const slot = { run_id: randomUUID(), scheduled_for: 20_000 * day + 5 };
  assert.equal(runDayOf(slot), 20_000);
  const id = '0192d4e0-8400-7000-8000-000000000000';
  const time = Number.parseInt('0192d4e08400', 16);
  assert.equal(runDayOf({ run_id: id, scheduled_for: null }), Math.floor(time / day));
  assert.equal(runDayOf({ run_id: randomUUID(), scheduled_for: null }), 0, 'it tells no time');
});

test(
  'a result is stored on the day of its run, and the same one days later meets it there',
  onPostgres,
  async () => {
    await using bench = await setUp();
    const { db } = bench.cp.controlPlane.services;
    const id = await bench.check('url');
    const at = now - 3 * day;
    await Promise.all([
      bench.submit(id, 'URL', at, { hasFailures: true, errorMessages: ['refused'] }),
      bench.submit(id, 'URL', at + hour),
      bench.submit(id, 'URL', now - 12 * day),
    ]);
    assert.deepEqual((await rowsOf(db, 'check_results')).map((row) => row['run_day']).sort(), [
      today - 12,
      today - 3,
      today - 3,
    ]);
    assert.deepEqual(
      (await rowsOf(db, 'check_result_error_groups')).map((row) => row['run_day']),
      [today - 3],
    );
    bench.clock.setWall(now + 5 * day);
    await bench.submitAll([bench.result(id, 'URL', at)], /^duplicate$/);
    assert.equal((await rowsOf(db, 'check_results')).length, 3);
    const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain ${db
        .selectFrom('check_runs')
        .selectAll()
        .where(isOfDays('check_runs', daysOf([today - 3])))}`.execute(db);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    assert.deepEqual(
      new Set(plan.match(/check_runs_d\d+/g)),
      new Set(['check_runs_d0', `check_runs_d${today - 3}`]),
    );
  },
);

test('results of many days without partitions are stored in one commit', onPostgres, async () => {
  await using bench = await setUp();
  const { db } = bench.cp.controlPlane.services;
  const id = await bench.check('url');
  const days = Array.from({ length: 12 }, (_, index) => index + 1);
  await bench.submitAll(days.map((ago) => bench.result(id, 'URL', now - ago * day)));
  assert.deepEqual(
    (await rowsOf(db, 'check_results'))
      .map((row) => today - Number(row['run_day']))
      .sort((a, b) => a - b),
    days,
  );
});

test('days are made two weeks ahead, and an old one is dropped', onPostgres, async () => {
  await using bench = await setUp();
  const { services } = bench.cp.controlPlane;
  const { db } = services;
  const id = await bench.check('url');
  await bench.submit(id, 'URL', now - 10 * minute, {
    hasFailures: true,
    errorMessages: ['refused'],
    artifacts: [{ name: 'a.txt', type: 'file', contentType: 'text/plain', size: 1 }] as never,
  });
  await db.updateTable('artifacts').set({ object_key: 'files/a' }).execute();
  const pruning = new ResultPruning(services, keptMs, hooks);
  await all(() => pruning.run());
  const ahead = Array.from({ length: 15 }, (_, index) => today + index);
  // A database that was used before has others.
  const made = await daysIn(db);
  assert.deepEqual(
    ahead.filter((each) => !made.includes(each)),
    [],
  );

  const gone = now + 34 * day;
  bench.clock.setWall(gone);
  await all(() => pruning.run());
  assert.ok((await daysIn(db)).includes(today), 'its result waits for the sums');
  assert.equal((await rowsOf(db, 'artifacts')).length, 1);
  await all(() => new RollUp(services).run());
  await all(() => pruning.run());
  const left = await daysIn(db);
  assert.equal(left.includes(today), false);
  assert.equal(left.includes(today + 34 + 14), true);
  for (const table of ['check_results', 'check_runs', 'check_result_error_groups', 'artifacts']) {
    assert.deepEqual(await rowsOf(db, table), [], table);
  }
  assert.deepEqual(
    (await rowsOf(db, 'artifact_garbage')).map((row) => row['object_key']),
    ['files/a'],
  );
  const [progress] = await rowsOf(db, 'roll_up_progress');
  assert.equal(progress?.['raw_from'], gone - keptMs);
  // A day that is gone comes back with a result of it.
  bench.clock.setWall(now);
  await bench.submit(id, 'URL', now - 9 * minute);
  assert.ok((await daysIn(db)).includes(today));
});

test(
  'a day that somebody reads is dropped later, and nobody waits for long',
  onPostgres,
  async () => {
    await using bench = await setUp();
    const { services } = bench.cp.controlPlane;
    const { db } = services;
    const id = await bench.check('url');
    await bench.submit(id, 'URL', now - 10 * minute);
    await all(() => new RollUp(services).run());
    const pruning = new ResultPruning(services, keptMs, hooks);
    bench.clock.setWall(now + 34 * day);
    const reader = await db.startTransaction().execute();
    await reader.selectFrom('check_results').select('id').execute();
    await all(() => pruning.run());
    assert.equal((await rowsOf(db, 'check_results')).length, 1);
    await reader.commit().execute();
    await all(() => pruning.run());
    assert.equal((await rowsOf(db, 'check_results')).length, 1, 'it is not tried each minute');
    // The timers of the control plane read it as well.
    await eventually(
      async () => {
        bench.clock.freeze(10 * minute);
        await all(() => pruning.run());
        return (await rowsOf(db, 'check_results')).length === 0;
      },
      () => 'the day is dropped',
    );
  },
);
