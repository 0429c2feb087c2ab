import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import test from 'node:test';
import { migrateToLatest } from '../../../control-plane/db/migrate.ts';
import { openDatabase } from '../../../control-plane/db/open.ts';
import { fieldsOf, findCheck } from '../../../control-plane/checks/store.ts';

const accountId = '0b0cbb6e-9d6c-4a3c-8a53-1f5f64d8e7a1';
const checkId = '1b0cbb6e-9d6c-4a3c-8a53-1f5f64d8e7a2';

/** Every one after the first, in order. */
const laterMigrations = readdirSync('control-plane/db/migrations')
  .map((file) => file.replace(/\.ts$/, ''))
  .toSorted()
  .slice(1);

test('a database of the first version keeps its data, and its keys what they could do', async () => {
  const db = openDatabase(':memory:');
  assert.deepEqual(await migrateToLatest(db, '0001-first'), ['0001-first']);
  await db.insertInto('accounts').values({ id: accountId, name: 'Main', created_at: 1 }).execute();
  await db
    .insertInto('api_keys')
    .values({
      id: 'key',
      account_id: accountId,
      name: 'old',
      key_hash: 'hash',
      masked_key: 'cu_…',
      created_at: 1,
      last_used_at: null,
      expires_at: null,
      revoked_at: null,
    })
    .execute();
  // As the first version wrote them: without the columns that came later.
  const check = {
    id: checkId,
    account_id: accountId,
    type: 'URL',
    name: 'shop',
    activated: 1,
    frequency: 10,
    frequency_offset: 3,
    run_parallel: 0,
    body_json: JSON.stringify({
      groupId: null,
      tags: ['a'],
      request: { url: 'https://a.example' },
    }),
    revision: 4,
    created_at: 1,
    updated_at: 2,
  };
  await db
    .insertInto('checks')
    .values(check as never)
    .execute();
  await db
    .insertInto('check_statuses')
    .values({
      check_id: checkId,
      account_id: accountId,
      has_failures: 1,
      has_errors: 0,
      is_degraded: 0,
      longest_run_ms: 5,
      shortest_run_ms: 5,
      last_run_location: 'eu-west-1',
      last_check_run_id: 1,
      ssl_days_remaining: null,
      last_started_at: 1,
      created_at: 1,
      updated_at: null,
    })
    .execute();

  assert.deepEqual(await migrateToLatest(db), laterMigrations);
  const row = await findCheck(db, accountId, checkId);
  assert.ok(row !== undefined);
  assert.deepEqual([row.revision, row.group_id, row.group_order], [4, null, null]);
  assert.deepEqual([fieldsOf(row)['tags'], fieldsOf(row).groupId], [['a'], null]);
  const status = await db.selectFrom('check_statuses').selectAll().executeTakeFirstOrThrow();
  assert.equal(status.has_failures, 1);
  const key = await db.selectFrom('api_keys').selectAll().executeTakeFirstOrThrow();
  assert.equal(key.role, 'OWNER');
  const account = await db.selectFrom('accounts').selectAll().executeTakeFirstOrThrow();
  assert.deepEqual(
    [account.name, account.plan, account.settings_json],
    ['Main', 'enterprise', '{}'],
  );
  assert.deepEqual(await migrateToLatest(db), []);
  await db.destroy();
});

test('a migration that fails leaves the database as it was, and can be tried again', async () => {
  const db = openDatabase(':memory:');
  await migrateToLatest(db, '0001-first');
  // The last table that the second migration makes.
  await db.schema.createTable('queue_samples').addColumn('a', 'text').execute();
  await assert.rejects(migrateToLatest(db), /0002-whole-api failed/);
  const tables = await db.introspection.getTables();
  assert.equal(
    tables.some(({ name }) => name === 'check_groups'),
    false,
  );
  await db.schema.dropTable('queue_samples').execute();
  assert.deepEqual(await migrateToLatest(db), laterMigrations);
  await db.destroy();
});

test('open alerts about agents stay open under their new names', async () => {
  const db = openDatabase(':memory:');
  await migrateToLatest(db, '0017-agent-wait');
  await db.insertInto('accounts').values({ id: accountId, name: 'Main', created_at: 1 }).execute();
  // Tables that this build no longer knows.
  const insert = (table: string, row: Record<string, unknown>) =>
    db
      .insertInto(table as 'agents')
      .values({ account_id: accountId, ...row } as never)
      .execute();
  await insert('location_notices', {
    ...{ location: 'gone', unserved_since: 1, incident_key: 'location/1' },
    ...{ channels_json: '[7]', sent_at: 2 },
  });
  for (const [location, conclusive_at] of [
    ['broken', null],
    ['mended', 3],
  ]) {
    await insert('location_faults', { location, since: 1 });
    await insert('fault_notices', {
      ...{ location, code: '', since: 1, incident_key: `faults/${location}` },
      ...{ channels_json: '[8]', sent_at: 2, conclusive_at },
    });
  }
  // An agent may have sent this code as its own.
  await insert('fault_notices', {
    ...{ location: 'gone', code: 'NO_AGENT', since: 1, incident_key: 'faults/gone' },
    ...{ channels_json: '[9]', sent_at: 2, conclusive_at: null },
  });
  await migrateToLatest(db);
  const alerts = await db
    .selectFrom('agent_health_alerts')
    .select(['location', 'code', 'since', 'incident_key', 'channels_json'])
    .orderBy('location')
    .execute();
  assert.deepEqual(
    alerts.map((row) => Object.values(row).join(' ')),
    [
      'broken  1 faults/broken [8]',
      'gone NO_AGENT 1 location/1 [7]',
      'mended  1 faults/mended [8]',
    ],
  );
  const streaks = await db.selectFrom('location_error_streaks').select('location').execute();
  assert.deepEqual(streaks, [{ location: 'broken' }], 'the other outage is over');
  await db.destroy();
});
