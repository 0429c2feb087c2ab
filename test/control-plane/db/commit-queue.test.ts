import assert from 'node:assert/strict';
import test from 'node:test';
import { CommitQueue } from '../../../control-plane/db/commit-queue.ts';
import { migrateToLatest } from '../../../control-plane/db/migrate.ts';
import { openDatabase } from '../../../control-plane/db/open.ts';

async function setUp() {
  const db = openDatabase(':memory:');
  await migrateToLatest(db);
  const commits = new CommitQueue(db);
  const names = async () =>
    (await db.selectFrom('accounts').select('name').orderBy('name').execute()).map(
      (row) => row.name,
    );
  const add = (name: string) =>
    commits.run(async (unit) => {
      await unit.insertInto('accounts').values({ id: name, name, created_at: 1 }).execute();
      return name;
    });
  return { db, commits, names, add };
}

test('writes that arrive together are all done, and each gets its own value', async () => {
  const { names, add } = await setUp();
  assert.deepEqual(await Promise.all(['a', 'b', 'c'].map(add)), ['a', 'b', 'c']);
  assert.deepEqual(await names(), ['a', 'b', 'c']);
});

test('a write that fails undoes itself and nothing else', async () => {
  const { names, add, commits } = await setUp();
  const failing = commits.run(async (unit) => {
    await unit.insertInto('accounts').values({ id: 'x', name: 'x', created_at: 1 }).execute();
    throw new Error('no');
  });
  const outcomes = await Promise.allSettled([add('a'), failing, add('b'), add('a')]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  );
  assert.deepEqual(await names(), ['a', 'b']);
});

test('when nothing can be committed everybody learns it, and the next write works', async () => {
  const { db, names, add, commits } = await setUp();
  const broken = commits.run(async (unit) => {
    await unit
      .insertInto('variables')
      .values({
        account_id: 'nobody',
        key: 'k',
        value: 'v',
        locked: 0,
        secret: 0,
        created_at: 1,
        updated_at: null,
      })
      .execute();
  });
  await assert.rejects(broken, /FOREIGN KEY/);
  await add('later');
  assert.deepEqual(await names(), ['later']);
  await db.destroy();
  await assert.rejects(add('never'));
});
