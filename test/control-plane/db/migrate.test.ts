import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import test from 'node:test';
import { sql, type Kysely } from 'kysely';
import { byEngine } from '../../../control-plane/db/engine.ts';
import { migrateToLatest } from '../../../control-plane/db/migrate.ts';
import { openDatabase } from '../../../control-plane/db/open.ts';
import { openPostgres } from '../../../control-plane/db/postgres.ts';
import type { Database } from '../../../control-plane/db/tables.ts';
import { createTestDatabase } from '../../support/postgres.ts';
import { resultRow, runRow } from '../../support/result-rows.ts';
import { rowsOf } from '../../support/tables.ts';
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

/** Each column as `table.column`, with `?` when it may be null. */
async function columnsOf(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await byEngine({
    sqlite: sql<{ place: string }>`
      select t.name || '.' || c.name || iif(c."notnull" or c.pk > 0, '', '?') as place
      from pragma_table_list as t join pragma_table_xinfo(t.name) as c
      where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite_%'
    `,
    postgres: sql<{ place: string }>`
      select table_name || '.' || column_name || case is_nullable when 'YES' then '?' else '' end
        as place
      from information_schema.columns where table_schema = current_schema()
        and not (select relispartition from pg_class where oid = to_regclass(table_name))
    `,
  }).execute(db);
  return rows.map(({ place }) => place).sort();
}

/** The columns of each unique key and unique index without a condition, by table. */
async function uniqueKeysOf(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await byEngine({
    sqlite: sql<{ table_name: string; columns: string }>`
      select t.name as table_name, (
        select group_concat(i.name, ',') from (
          select name from pragma_index_info(l.name) order by seqno
        ) as i
      ) as columns
      from pragma_table_list as t join pragma_index_list(t.name) as l
      where t.schema = 'main' and l."unique" = 1 and l.partial = 0
    `,
    postgres: sql<{ table_name: string; columns: string }>`
      select t.relname as table_name, (
        select string_agg(a.attname, ',' order by k.place)
        from unnest(i.indkey) with ordinality as k (number, place)
        join pg_attribute as a on a.attrelid = t.oid and a.attnum = k.number
      ) as columns
      from pg_index as i join pg_class as t on t.oid = i.indrelid
      join pg_namespace as n on n.oid = t.relnamespace
      where n.nspname = current_schema() and i.indisunique and i.indpred is null
    `,
  }).execute(db);
  // The order of the columns matters to queries, not to what is unique.
  return rows
    .map(({ table_name: table, columns }) => {
      // A partition has its own.
      const name = table.replace(/_d\d+$/, '');
      return `${name} (${columns.split(',').sort().join()})`;
    })
    .sort();
}

test('PostgreSQL has the tables, columns and unique keys of SQLite', async () => {
  await using database = await createTestDatabase();
  const sqlite = openDatabase(':memory:');
  await migrateToLatest(sqlite);
  const postgres = openPostgres({
    url: database.url,
    connections: 2,
    isPrepared: true,
    applicationName: 'monitor/test',
  });
  const columns = await columnsOf(postgres);
  // Results outlive their check there, have their payload in their row, and are partitioned by day.
  const ofPostgresAlone =
    /^(deleted_checks\.|check_results\.(encoding|payload|checksum)\?$|result_payloads\.|.*\.run_day$)/;
  assert.equal(columns.filter((place) => ofPostgresAlone.test(place)).length, 3 + 3 + 5 + 4);
  assert.deepEqual(
    columns.filter((place) => !ofPostgresAlone.test(place)),
    (await columnsOf(sqlite)).filter((place) => !place.startsWith('result_payloads.')),
  );
  const ofPostgres = await uniqueKeysOf(postgres);
  // SQLite counts `integer primary key` without an index.
  const missing = (await uniqueKeysOf(sqlite)).filter((key) => !ofPostgres.includes(key));
  assert.deepEqual(missing, []);
  await sqlite.destroy();
  await postgres.destroy();
});

test('results that a PostgreSQL had before their rows changed shape stay as they were', async () => {
  await using database = await createTestDatabase({ isReused: false });
  const db = openPostgres({
    ...{ url: database.url, connections: 1, isPrepared: false, applicationName: 'monitor/test' },
  });
  await sql`drop schema public cascade`.execute(db);
  await sql`create schema public`.execute(db);
  await migrateToLatest(db, '0023-open-runs');
  await db.insertInto('accounts').values({ id: accountId, name: 'Main', created_at: 1 }).execute();
  const check = {
    ...{ id: checkId, account_id: accountId, type: 'URL', name: 'shop', activated: 1 },
    ...{ frequency: 10, frequency_offset: 3, run_parallel: 0, body_json: '{}', revision: 4 },
    ...{ created_at: 1, updated_at: 2, group_id: null, group_order: null },
  };
  await db.insertInto('checks').values(check).execute();
  const owner = { accountId, checkId };
  const runs = await db
    .insertInto('check_runs')
    .values([runRow(owner, 1), { ...runRow(owner, 2), result_id: randomUUID() }])
    .returning('id')
    .execute();
  const results = await db
    .insertInto('check_results')
    .values(runs.map(({ id }, index) => resultRow(owner, id, index, { response_time_ms: index })))
    .returning(['seq', 'id'])
    .execute();
  const [first] = results;
  assert.ok(first !== undefined);
  const payload = { encoding: 'json', payload: Buffer.from('{"ä":1}'), checksum: 7 } as const;
  await db
    .insertInto('result_payloads')
    .values({ result_seq: first.seq, ...payload })
    .execute();
  const groups = { id: randomUUID(), account_id: accountId, check_id: checkId };
  await db
    .insertInto('error_groups')
    .values({
      ...{ ...groups, error_hash: 'a', raw_message: null, cleaned_message: 'a' },
      ...{ first_seen_at: 1, last_seen_at: 1, archived_until_next_event: 0, archived_for_ever: 0 },
    })
    .execute();
  await db
    .insertInto('check_result_error_groups')
    .values({ result_id: first.id, error_group_id: groups.id, account_id: accountId })
    .execute();
  const tables = ['check_runs', 'check_results', 'result_payloads', 'check_result_error_groups'];
  const read = async () =>
    Promise.all(
      tables.map(async (table) => {
        const rows = await rowsOf(db, table);
        const comparable = rows.map(({ encoding, payload: bytes, checksum, run_day: _, ...row }) =>
          table === 'result_payloads' ? { ...row, encoding, bytes, checksum } : row,
        );
        return comparable.map((row) => JSON.stringify(row)).sort();
      }),
    );
  const before = await read();
  await migrateToLatest(db);
  assert.deepEqual(await read(), before);
  await db.deleteFrom('check_results').where('seq', '=', first.seq).execute();
  assert.deepEqual(
    (await read()).map((rows) => rows.length),
    [2, 1, 0, 0],
  );
  await db.destroy();
});
