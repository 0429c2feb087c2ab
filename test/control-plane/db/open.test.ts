import assert from 'node:assert/strict';
import test from 'node:test';
import { sql, type RawBuilder } from 'kysely';
import { openDatabase } from '../../../control-plane/db/open.ts';

test('a statement is planned without the values of a run, so it need not be planned again', async () => {
  const db = openDatabase(':memory:');
  await sql`create table entries (place int, flag int) strict`.execute(db);
  await sql`create index flagged on entries (place) where flag = 1`.execute(db);
  const plan = async (flag: RawBuilder<unknown>): Promise<string> => {
    const query = sql<{ detail: string }>`
      explain query plan select * from entries where place = ${2} and flag = ${flag}`;
    // The planner sees values from the second run on.
    await query.execute(db);
    const { rows } = await query.execute(db);
    return rows.map(({ detail }) => detail).join('\n');
  };
  assert.equal(await plan(sql`${1}`), 'SCAN entries');
  assert.match(await plan(sql.lit(1)), /INDEX flagged/);
  await db.destroy();
});
