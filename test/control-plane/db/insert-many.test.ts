import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { sql } from 'kysely';
import { engineOf } from '../../../control-plane/db/engine.ts';
import { prepareInserts } from '../../../control-plane/db/insert-many.ts';
import { rowsOf } from '../../../control-plane/db/rows.ts';
import { insertPayloads } from '../../../control-plane/results/result-rows.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { StatementCount } from '../../support/interleaving.ts';
import { insertResults, now, setUp } from '../../support/results.ts';

const groupColumns = [
  ...(['id', 'account_id', 'check_id', 'error_hash', 'raw_message', 'cleaned_message'] as const),
  ...(['first_seen_at', 'last_seen_at', 'archived_until_next_event', 'archived_for_ever'] as const),
];
const insertGroups = prepareInserts('error_groups', groupColumns, {
  onConflict: sql`on conflict (check_id, error_hash) do nothing`,
  returning: ['id'],
});

test('rows are inserted as they are, those that are there are left and not given back', async () => {
  await using bench = await setUp();
  const { services } = bench.cp.controlPlane;
  const check_id = await bench.check('url');
  const texts = ['', `'"\\{},\n\t`, 'ä🙂', 'NULL', null, '\0', '\ud800'];
  const rows = texts.map((raw_message, index) => ({
    ...{ id: randomUUID(), account_id: bench.cp.accountId, check_id, raw_message },
    ...{
      error_hash: String(index),
      cleaned_message: 'a',
      first_seen_at: now,
      last_seen_at: 2 ** 52,
    },
    ...{ archived_until_next_event: 0, archived_for_ever: 1 },
  }));
  const [first, ...others] = rows;
  assert.ok(first !== undefined);
  assert.deepEqual(await insertGroups.run(services.db, []), []);
  assert.deepEqual(await insertGroups.run(services.db, [first]), [{ id: first.id }]);
  const count = new StatementCount();
  const given = await insertGroups.run(services.db.withPlugin(count), rows);
  assert.deepEqual(
    given,
    others.map(({ id }) => ({ id })),
  );
  const isServer = engineOf(services.db) === 'postgres';
  assert.equal(count.count, isServer ? 1 : rows.length);
  const stored = await services.db
    .selectFrom('error_groups')
    .select(groupColumns)
    .orderBy('error_hash')
    .execute();
  // PostgreSQL has no NUL and no half of a pair.
  const expected = rows
    .slice(0, 5)
    .concat(rows.slice(5).map((row) => (isServer ? { ...row, raw_message: '\ufffd' } : row)));
  assert.deepEqual(
    stored.map((row) => ({ ...row, raw_message: row.raw_message?.toWellFormed() ?? null })),
    expected.map((row) => ({ ...row, raw_message: row.raw_message?.toWellFormed() ?? null })),
  );
});

test('sixteen rows share a statement on SQLite, and all of them on PostgreSQL', async () => {
  await using bench = await setUp();
  const { db } = bench.cp.controlPlane.services;
  const check_id = await bench.check('url');
  const rows = Array.from({ length: 35 }, (_, index) => ({
    ...{ id: randomUUID(), account_id: bench.cp.accountId, check_id, raw_message: null },
    ...{ error_hash: String(index), cleaned_message: 'a', first_seen_at: now, last_seen_at: now },
    ...{ archived_until_next_event: 0, archived_for_ever: index % 2 },
  }));
  const known = rows.filter((_, index) => index % 5 === 0);
  await insertGroups.run(db, known);
  const count = new StatementCount();
  const given = await insertGroups.run(db.withPlugin(count), rows);
  const added = rows.filter((row) => !known.includes(row)).map(({ id }) => id);
  assert.deepEqual(given.map(({ id }) => id).sort(), added.sort());
  assert.equal(count.count, engineOf(db) === 'postgres' ? 1 : 2 + 3);
  const stored = await db.selectFrom('error_groups').select(groupColumns).execute();
  const byHash = Map.groupBy(stored, (row) => row.error_hash);
  for (const row of rows) assert.deepEqual(byHash.get(row.error_hash), [row]);
});

test('bytes arrive as they are, in as many statements as a parameter is long', async () => {
  await using bench = await setUp();
  const { db } = bench.cp.controlPlane.services;
  const check = await bench.check('url');
  const results = Array.from({ length: 3 }, (_, index) => ({ at: now + index, responseTime: 1 }));
  await insertResults(bench, check, 'URL', results);
  const seqs = await db.selectFrom('check_results').select('seq').orderBy('seq').execute();
  const payloads = seqs.map(({ seq }, index) => ({
    result_seq: seq,
    encoding: 'deflate' as const,
    payload: Buffer.alloc(5_000_000, Buffer.from([0, 255, index])),
    checksum: index === 0 ? null : index,
  }));
  const count = new StatementCount();
  await insertPayloads.run(db.withPlugin(count), payloads);
  assert.equal(count.count, 3);
  const stored = await db.selectFrom('result_payloads').selectAll().orderBy('result_seq').execute();
  for (const [index, row] of stored.entries()) {
    assert.equal(Buffer.compare(row.payload, payloads[index]?.payload ?? Buffer.of()), 0);
    assert.equal(row.checksum, payloads[index]?.checksum);
  }
});

test('rows of values are a table in a statement', async () => {
  await using cp = await startTestControlPlane();
  const { db } = cp.controlPlane.services;
  const rows = [
    { name: `a'"\\`, count: 2 ** 45 },
    { name: null, count: -1 },
  ];
  const given = rowsOf<{ name: string | null; count: number }>(
    { name: 'text', count: 'int' },
    rows,
  );
  const { rows: read } = await sql`select name, count from ${given} as given`.execute(db);
  assert.deepEqual(read, rows);
});
