import assert from 'node:assert/strict';
import test from 'node:test';
import { sql, type Kysely } from 'kysely';
import { byEngine, engineOf } from '../../../control-plane/db/engine.ts';
import {
  baselineName,
  migrateToLatest,
  migrationState,
} from '../../../control-plane/db/migrate.ts';
import { openDatabase } from '../../../control-plane/db/open.ts';
import { openPostgres } from '../../../control-plane/db/postgres.ts';
import type { Database } from '../../../control-plane/db/tables.ts';
import { createTestDatabase } from '../../support/postgres.ts';

const all = [
  baselineName,
  '0051-push-devices',
  '0052-planned-work',
  '0053-audit-by-resource',
  '0054-agent-host-names',
  '0055-root-causes',
  '0056-services-of-checks',
  '0057-on-call-calendars',
  '0058-maintenance-resumed',
  '0059-channels-of-agents',
  '0060-deployment-triggers',
  '0061-owed-incidents',
  '0062-shadow',
  '0063-service-incidents',
  '0064-project-commits',
  '0065-shadow-retries',
  '0066-run-shards',
  '0067-baselines',
  '0068-counted-checks',
  '0069-ended-subscriptions',
  '0070-shadow-reports',
];
const accountId = '0b0cbb6e-9d6c-4a3c-8a53-1f5f64d8e7a1';

test('a migration that fails leaves the database as it was, and can be tried again', async () => {
  const db = openDatabase(':memory:');
  // One of the last tables that the migration makes.
  await db.schema.createTable('held_deletions').addColumn('a', 'text').execute();
  await assert.rejects(migrateToLatest(db), new RegExp(`${baselineName} failed`));
  const tables = await db.introspection.getTables();
  assert.equal(
    tables.some(({ name }) => name === 'check_groups'),
    false,
  );
  await db.schema.dropTable('held_deletions').execute();
  assert.deepEqual(await migrateToLatest(db), all);
  assert.deepEqual(await migrateToLatest(db), []);
  await db.destroy();
});

const appliedAt = '2026-11-27T00:00:00.000Z';

/** As builds before the baseline left it: the same tables, and the names of their migrations. */
async function asBeforeBaseline(db: Kysely<Database>, names: readonly string[]): Promise<void> {
  // The database of a test has all migrations already.
  if (engineOf(db) === 'postgres') {
    await sql`drop schema public cascade`.execute(db);
    await sql`create schema public`.execute(db);
  }
  await migrateToLatest(db, baselineName);
  await db.insertInto('accounts').values({ id: accountId, name: 'Main', created_at: 1 }).execute();
  await sql`delete from migration_facts`.execute(db);
  await sql`delete from kysely_migration`.execute(db);
  for (const name of names) {
    await sql`insert into kysely_migration (name, timestamp) values (${name}, ${appliedAt})`.execute(
      db,
    );
  }
}

test('a database of the build before the baseline goes on; an older one is refused as it is', async () => {
  await using server = await createTestDatabase({ isReused: false });
  const postgres = openPostgres({
    ...{ url: server.url, connections: 1, isPrepared: false, applicationName: 'monitor/test' },
  });
  for (const { db, names } of [
    { db: openDatabase(':memory:'), names: ['0001-first', '0048-refusals', '0049-heartbeat-runs'] },
    { db: postgres, names: ['0018-agent-health', '0049-heartbeat-runs'] },
  ]) {
    await asBeforeBaseline(db, names.slice(0, -1));
    await assert.rejects(migrateToLatest(db), /lacks migrations up to 0049-heartbeat-runs/);
    await sql`insert into kysely_migration (name, timestamp) values ('0049-heartbeat-runs', ${appliedAt})`.execute(
      db,
    );
    assert.deepEqual((await migrationState(db)).unknown, []);
    assert.deepEqual(await migrateToLatest(db), all);
    const { applied, pending } = await migrationState(db);
    assert.deepEqual([applied, pending], [[...names, ...all], []]);
    assert.deepEqual(await db.selectFrom('accounts').select('name').execute(), [{ name: 'Main' }]);
    assert.deepEqual(await migrateToLatest(db), []);
    await db.destroy();
  }
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
