import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { sql, type Kysely } from 'kysely';
import { migrateToLatest } from '../../../control-plane/db/migrate.ts';
import { openDatabase } from '../../../control-plane/db/open.ts';
import type { Database } from '../../../control-plane/db/tables.ts';
import { inRepeatableTransaction, inTransaction } from '../../../control-plane/db/unit.ts';
import { temporaryFolder } from '../../support/system.ts';

const normal = 1;
const full = 2;

async function synchronous(db: Kysely<Database>): Promise<number | undefined> {
  const { rows } = await sql<{ synchronous: number }>`pragma synchronous`.execute(db);
  return rows[0]?.synchronous;
}

const insert = (db: Kysely<Database>, name: string) =>
  db.insertInto('installation').values({ name, value: 'a' }).execute();

async function setUp() {
  const stack = new DisposableStack();
  const folder = stack.use(temporaryFolder());
  const db = openDatabase(join(folder.path, 'a.db'));
  await migrateToLatest(db);
  const names = async () =>
    (await db.selectFrom('installation').select('name').execute()).map(({ name }) => name);
  return {
    db,
    names,
    async [Symbol.asyncDispose]() {
      await db.destroy();
      stack.dispose();
    },
  };
}

test('only the repeatable transaction does without the disk, also among others', async () => {
  await using bench = await setUp();
  const { db } = bench;
  const look = (unit: Kysely<Database>) => synchronous(unit);
  const seen = await Promise.all([
    inTransaction(db, look),
    inRepeatableTransaction(db, look),
    inTransaction(db, look),
    inRepeatableTransaction(db, look),
    look(db),
  ]);
  assert.deepEqual(seen, [full, normal, full, normal, full]);
});

test('a repeatable transaction that fails is undone, and the next ones wait for the disk', async () => {
  await using bench = await setUp();
  const { db } = bench;
  const before = await bench.names();
  await assert.rejects(
    inRepeatableTransaction(db, async (unit) => {
      await insert(unit, 'undone');
      throw new Error('as asked');
    }),
    /as asked/,
  );
  assert.deepEqual(await bench.names(), before);
  assert.equal(await synchronous(db), full);
  await inRepeatableTransaction(db, (unit) => insert(unit, 'kept'));
  assert.deepEqual(await bench.names(), [...before, 'kept'].toSorted());
});
