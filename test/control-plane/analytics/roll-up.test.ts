import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { migrateToLatest } from '../../../control-plane/db/migrate.ts';
import { openDatabase } from '../../../control-plane/db/open.ts';
import { RollUp } from '../../../control-plane/analytics/roll-up.ts';
import { addToInbox, type WaitingResults } from '../../../control-plane/results/roll-up-inbox.ts';
import { resultRow, runRow } from '../../support/result-rows.ts';
import { insertResults, hour, now, setUp } from '../../support/results.ts';
import { seededRandom } from '../../support/random.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';

type Db = ReturnType<typeof openDatabase>;

const accountId = randomUUID();
const checkId = randomUUID();

/** A database with results of 30 days of one check, of which none is rolled up. */
async function openFilled(file: string, results: number): Promise<Db> {
  const db = openDatabase(file);
  await migrateToLatest(db);
  await db.insertInto('accounts').values({ id: accountId, name: 'a', created_at: 1 }).execute();
  await db
    .insertInto('checks')
    .values({
      id: checkId,
      account_id: accountId,
      type: 'URL',
      name: 'shop',
      activated: 1,
      frequency: 10,
      frequency_offset: 0,
      run_parallel: 0,
      body_json: '{}',
      revision: 1,
      created_at: 1,
      updated_at: null,
      group_id: null,
      group_order: null,
    })
    .execute();
  const owner = { accountId, checkId };
  const { id: runId } = await db
    .insertInto('check_runs')
    .values(runRow(owner, 1))
    .returning('id')
    .executeTakeFirstOrThrow();
  const random = seededRandom(1);
  for (let start = 0; start < results; start += 250) {
    const rows = await db
      .insertInto('check_results')
      .values(
        Array.from({ length: Math.min(250, results - start) }, (_, index) => {
          const at = now - Math.floor(((start + index) / results) * 720 * hour);
          return resultRow(owner, runId, at, {
            ...{ has_failures: Number(random() < 0.1), scheduled_for: at, epoch: 1 },
            response_time_ms: Math.floor(random() * 1000),
          });
        }),
      )
      .returning('seq')
      .execute();
    const waiting = rows.map(({ seq }) => ({
      seq,
      runDay: 0,
      checkId,
      occasion: 'finals' as const,
    }));
    await addToInbox(db, waiting, now);
  }
  return db;
}

async function sumsOf(db: Db, hours: number) {
  return db
    .selectFrom('roll_ups')
    .select((select) => [
      select.fn.sum<number>('finals').as('finals'),
      select.fn.sum<number>('failures').as('failures'),
    ])
    .where('hours', '=', hours)
    .executeTakeFirstOrThrow();
}

async function rawSumsOf(db: Db) {
  return db
    .selectFrom('check_results')
    .select((select) => [
      select.fn.countAll<number>().as('finals'),
      select.fn.sum<number>('has_failures').as('failures'),
    ])
    .executeTakeFirstOrThrow();
}

/** How many results are not in the inbox any more. */
async function rolledUp(db: Db, results: number): Promise<number> {
  const rows = await db.selectFrom('roll_up_inbox').select('results_json').execute();
  const waiting = rows.flatMap((row) =>
    Object.values(JSON.parse(row.results_json) as WaitingResults).flat(),
  );
  return results - new Set(waiting).size;
}

const rollUpProcess = fileURLToPath(import.meta.resolve('../../support/roll-up-process.ts'));

/** Lets a process roll up so many batches, and kills it in the middle of whatever it is at: the next, most of the time. */
async function killedAfter(file: string, batches: number): Promise<void> {
  const child = spawn(process.execPath, [rollUpProcess, file, String(batches + 1)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  let seen = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'batch') seen += 1;
    if (seen === batches) child.kill('SIGKILL');
  }
  await exited;
  assert.equal(child.signalCode, 'SIGKILL');
}

test('a kill of what rolls up neither loses nor repeats a result', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'old.db');
  const filled = await openFilled(file, 30_000);
  assert.equal(await rolledUp(filled, 30_000), 0);
  const expected = await rawSumsOf(filled);
  await filled.destroy();

  let before = 0;
  for (const batches of [1, 3, 2]) {
    await killedAfter(file, batches);
    const db = openDatabase(file);
    const reached = await rolledUp(db, 30_000);
    assert.ok(reached > before && reached < 30_000, `${reached} after ${before}`);
    assert.equal((await sumsOf(db, 1)).finals, reached);
    before = reached;
    await db.destroy();
  }

  const db = openDatabase(file);
  const clock = new TestClock(now);
  const rollUp = new RollUp({ db, clock });
  while (await rollUp.run());
  assert.deepEqual(await sumsOf(db, 1), expected);
  // The processes that were killed went by the real clock.
  clock.setWall(Math.max(now, Date.now()) + 48 * hour);
  while (await rollUp.run());
  assert.deepEqual(await sumsOf(db, 24), expected);
  await db.destroy();
});

test('the sums of a check go with it', async () => {
  await using bench = await setUp();
  const { services } = bench.cp.controlPlane;
  const id = await bench.check('url');
  await insertResults(bench, id, 'URL', [{ at: now - 48 * hour, responseTime: 1 }]);
  await new RollUp(services).run();
  const rows = () => services.db.selectFrom('roll_ups').select('check_id').execute();
  assert.deepEqual(await rows(), [{ check_id: id }]);
  assert.equal((await bench.cp.api('DELETE', `/v1/checks/${id}`)).status, 204);
  assert.deepEqual(await rows(), []);
  assert.deepEqual(await services.db.selectFrom('roll_up_days').selectAll().execute(), []);
});
