// PostgreSQL only: it makes transactions fail.
import assert from 'node:assert/strict';
import test from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import { databaseFailure } from '../../../control-plane/db/failure.ts';
import { openPostgres } from '../../../control-plane/db/postgres.ts';
import { inTransaction } from '../../../control-plane/db/unit.ts';
import { untilEndedOrWaiting } from '../../support/interleaving.ts';
import { createTestDatabase } from '../../support/postgres.ts';

async function setUp() {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await createTestDatabase());
  const db = openPostgres({
    ...{ url: database.url, connections: 3, isPrepared: true, applicationName: 'monitor/test' },
  });
  stack.defer(() => db.destroy());
  return { db, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test('a transaction that finds no row, and then one that another has inserted, looks again', async () => {
  await using bench = await setUp();
  const { db } = bench;
  const row = { name: 'address', value: 'first' };
  const first = await db.startTransaction().execute();
  await first.insertInto('installation').values(row).execute();
  const second = inTransaction(db, async (unit) => {
    const taken = await unit.selectFrom('installation').selectAll().executeTakeFirst();
    if (taken !== undefined) return `taken by ${taken.value}`;
    await unit
      .insertInto('installation')
      .values({ ...row, value: 'second' })
      .execute();
    return 'free';
  });
  assert.equal(await untilEndedOrWaiting(db, second), false);
  await first.commit().execute();
  assert.equal(await second, 'taken by first');
});

test('a transaction that always meets the same key ends with that failure', async () => {
  await using bench = await setUp();
  const insert = () =>
    inTransaction(bench.db, (unit) =>
      unit.insertInto('installation').values({ name: 'address', value: 'a' }).execute(),
    );
  await insert();
  await assert.rejects(insert(), (error) => databaseFailure(error) === 'unique');
});

test('the pauses between attempts grow, and chance keeps transactions apart', async () => {
  await using bench = await setUp();
  const delays: number[] = [];
  const clock = {
    ...systemClock,
    after(delayMs: number, callback: () => void) {
      delays.push(delayMs);
      return systemClock.after(0, callback);
    },
  };
  const chances = [0, 0.5, 0.5, 1];
  const random = () => chances[delays.length] ?? 0;
  const conflict = Object.assign(new Error('deadlock detected'), { code: '40P01' });
  await assert.rejects(
    inTransaction(bench.db, () => Promise.reject(conflict), { clock, random }),
    conflict,
  );
  assert.deepEqual(delays, [10, 40, 80, 240]);
});
