// SQLite only: what it moves is a file.
// Few share a process: it starts programs.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { CompiledQuery, type Kysely } from 'kysely';
import { pino } from 'pino';
import { startControlPlane } from '../../control-plane/app/compose.ts';
import { readConfig } from '../../control-plane/core/config.ts';
import { openPostgres } from '../../control-plane/db/postgres.ts';
import type { Database } from '../../control-plane/db/tables.ts';
import { Operator } from '../support/control-plane-command.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { storableText } from '../../control-plane/db/storable-text.ts';
import { fillEmptyTables } from '../support/fill-tables.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { startS3 } from '../support/s3.ts';
import { temporaryFolder } from '../support/system.ts';
import { buildWorld } from '../support/world.ts';

const publicUrl = 'http://monitor.example';
const key = 'k'.repeat(40);
const gzip = Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.from('a suite')]);

interface Moved {
  rows: number;
  tables: Record<string, number>;
  codeBundles: { copied: number; missing: string[] };
  isKeyChanged: boolean;
  next: string[];
}

/** The variables of replicas on a database, whose files are in a folder that they share. */
function replicaSettings(folder: string, url: string): Record<string, string> {
  return {
    DATABASE_URL: url,
    ENCRYPTION_KEY: key,
    PUBLIC_URL: publicUrl,
    ARTIFACTS_DIR: join(folder, 'shared'),
    ARTIFACTS_SHARED: 'true',
  };
}

/** An operator who moves the database of the folder to another one. */
const mover = (folder: string, { url }: TestDatabase, settings: Record<string, string> = {}) =>
  new Operator(folder, { ...replicaSettings(folder, url), ...settings });

async function query<Row>({ url }: TestDatabase, text: string): Promise<Row[]> {
  const db: Kysely<Database> = openPostgres({
    ...{ url, connections: 1, isPrepared: false, applicationName: 'test' },
  });
  try {
    return (await db.executeQuery<Row>(CompiledQuery.raw(text))).rows;
  } finally {
    await db.destroy();
  }
}

/** Rows as texts that are equal on both engines, in an order of their own. */
function comparable(rows: readonly Record<string, unknown>[]): string[] {
  return rows
    .map((row) =>
      JSON.stringify(
        Object.entries(row)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, value]) => {
            if (value instanceof Uint8Array) return [name, Buffer.from(value).toString('hex')];
            // A NUL, which PostgreSQL does not store, arrives as U+FFFD.
            return [name, typeof value === 'string' ? storableText(value) : value];
          }),
      ),
    )
    .sort();
}

/** Runs a control plane on a file, with one of everything, an approved image among it, and a code bundle. */
async function makeInstallation(file: string, settings: Record<string, string>) {
  await using cp = await startTestControlPlane({ file, settings });
  const { services } = cp.controlPlane;
  const target = { url: cp.url, key: cp.apiKey };
  const world = await buildWorld(services, target, cp.accountId, 'moved');
  const upload = await fetch(`${cp.url}/v1/code-bundles`, {
    method: 'POST',
    headers: { authorization: `Bearer ${cp.apiKey}` },
    body: gzip,
  });
  const { codeBundlePath } = (await upload.json()) as { codeBundlePath: string };
  return { world, apiKey: cp.apiKey, accountId: cp.accountId, codeBundlePath };
}

test('every row of every table arrives as it was, once', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  await makeInstallation(file, { ENCRYPTION_KEY: key });
  const source = new DatabaseSync(file);
  const tables = fillEmptyTables(source);
  assert.ok(tables.length > 60, String(tables.length));
  // The newest groups were deleted.
  source.exec(`update sqlite_sequence set seq = seq + 7 where name = 'check_groups'`);
  const slot = 1_760_000_000_000;
  source.exec(
    `update check_runs set scheduled_for = ${slot}
     where id = (select max(check_run_id) from check_results)`,
  );
  await using target = await createTestDatabase({ isReused: false });
  await using s3 = await startS3();
  const inBucket = { ...s3.settings, ARTIFACTS_DIR: '', ARTIFACTS_SHARED: '' };
  const operator = mover(folder.path, target, inBucket);
  const moved = await operator.json<Moved>('move');
  assert.equal(moved.isKeyChanged, false);
  assert.deepEqual(moved.codeBundles, { copied: 2, missing: [] });
  assert.match(
    moved.next[0] ?? '',
    /aws s3 sync \/.*\/artifacts s3:\/\/files\/ --exclude '\.partial\/\*' --endpoint-url http/,
  );
  for (const table of tables) {
    const own = source.prepare(`select * from "${table}"`).all();
    const rows = await query<Record<string, unknown>>(target, `select * from "${table}"`);
    const without = rows
      .filter(({ name }) => table !== 'installation' || name !== 'moved_from')
      // PostgreSQL has the payload of a result in its row.
      .map((row) => Object.fromEntries(Object.keys(own[0] ?? {}).map((name) => [name, row[name]])));
    assert.deepEqual(comparable(without), comparable(own), table);
    assert.equal(moved.tables[table], own.length, table);
  }
  // A run of a slot goes to the day of its slot, and its results with it.
  for (const [day, table] of [
    ['run.run_day', 'check_runs as run'],
    ['result.run_day', 'check_runs as run join check_results as result on check_run_id = run.id'],
  ]) {
    const [row] = await query<{ days: number[] }>(
      target,
      `select array_agg(${day}) as days from ${table} where run.scheduled_for = ${slot}`,
    );
    assert.deepEqual(row?.days, [Math.floor(slot / 86_400_000)], table);
  }
  // What a counter gave once it does not give again.
  for (const { name, seq } of source
    .prepare('select name, seq from sqlite_sequence where seq > 0')
    .all()) {
    const [column] = await query<{ name: string }>(
      target,
      `select column_name as name from information_schema.columns
       where table_name = '${String(name)}' and is_identity = 'YES'`,
    );
    const [next] = await query<{ value: number }>(
      target,
      `select nextval(pg_get_serial_sequence('${String(name)}', '${column?.name}')) as value`,
    );
    assert.equal(next?.value, Number(seq) + 1, String(name));
  }
  source.close();
  assert.match(await operator.refused(1, 'move'), /was moved to .* already, at .*`serve` with/);
});

test('an installation with a key file goes on as replicas with ENCRYPTION_KEY', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  const before = await makeInstallation(file, {});
  assert.ok(existsSync(`${file}.key`));
  const paths = [
    '/v1/checks',
    '/v1/check-statuses',
    '/v1/variables',
    '/v1/alert-channels',
    '/v1/private-locations',
    '/v1/status-pages',
  ];
  const ask = async (url: string, path: string) => {
    const answer = await fetch(url + path, {
      headers: { authorization: `Bearer ${before.apiKey}` },
    });
    assert.equal(answer.status, 200, path);
    return answer.json() as Promise<unknown>;
  };
  const asked = new Map<string, unknown>();
  let idKey: string;
  {
    await using cp = await startTestControlPlane({ file, settings: { PUBLIC_URL: publicUrl } });
    for (const path of paths) asked.set(path, await ask(cp.url, path));
    idKey = cp.controlPlane.services.ids.keyOf(before.accountId, 'eu-central-1');
  }
  await using target = await createTestDatabase({ isReused: false });
  const moved = await mover(folder.path, target).json<Moved>('move');
  assert.equal(moved.isKeyChanged, true);
  assert.deepEqual(moved.codeBundles, { copied: 2, missing: [] });
  assert.match(
    moved.next[0] ?? '',
    /^copy the files of results: cp -an .*\/artifacts\/\. .*\/shared\/$/,
  );

  await using replica = await startControlPlane({
    config: readConfig({ PORT: '0', ...replicaSettings(folder.path, target.url) }),
    logger: pino({ level: 'silent' }),
  });
  for (const [path, answer] of asked) assert.deepEqual(await ask(replica.url, path), answer, path);
  assert.equal(replica.services.ids.keyOf(before.accountId, 'eu-central-1'), idKey);
  const [bundle] = await query<{ object_key: string }>(
    target,
    'select object_key from code_bundles',
  );
  const stream = await replica.services.artifacts.open(bundle?.object_key ?? '');
  assert.deepEqual(Buffer.concat(await (stream?.toArray() ?? [])), gzip);
});

test('a move that was killed is served by nobody and begun again by the next', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  await makeInstallation(file, { ENCRYPTION_KEY: key });
  await using target = await createTestDatabase({ isReused: false });
  const operator = mover(folder.path, target);
  // A row that no batch can bring in ends the first run in the middle.
  await query(
    target,
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'in the middle'; end $$`,
  );
  await query(
    target,
    'create trigger refuse before insert on check_statuses execute function refuse()',
  );
  assert.match(await operator.refused(1, 'move'), /could not move .* in the middle/);
  const serving = mover(folder.path, target, { DATABASE_FILE: '' });
  for (const command of [['serve'], ['keys', 'list']]) {
    assert.match(
      await serving.refused(2, ...command),
      /holds a part of .*control-plane\.db: run `control-plane move --from/,
    );
  }
  await query(target, 'drop trigger refuse on check_statuses');
  const again = await operator.spawn('move');
  assert.equal(again.code, 0, again.error);
  assert.match(again.out, /\ncopied 2 code bundles\n$/);
  assert.match(again.error, /did not end: beginning again/);
  assert.match(
    again.out,
    /^moved \d+ rows of \d+ tables to 127\.0\.0\.1:\d+\/test_\w+; both sides/,
  );
  assert.deepEqual((await serving.json<unknown[]>('keys', 'list')).length > 0, true);
});

test('what cannot be moved, and where to it cannot be, is said in a sentence', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'control-plane.db');
  await using target = await createTestDatabase({ isReused: false });
  const operator = mover(folder.path, target);
  assert.match(await operator.refused(1, 'move'), /there is no database at .*control-plane\.db/);
  await mover(folder.path, target, { DATABASE_URL: '' }).run('migrate');
  {
    await using served = await mover(folder.path, target, { DATABASE_URL: '' }).serve();
    assert.notEqual(served.url, '');
    assert.match(await operator.refused(1, 'move'), /is served, by process \d+ .* stop that first/);
  }
  const settings = (more: Record<string, string>) => mover(folder.path, target, more);
  assert.match(
    await settings({ ENCRYPTION_KEY: '' }).refused(2, 'move'),
    /ENCRYPTION_KEY: is needed with DATABASE_URL/,
  );
  assert.match(
    await settings({ ARTIFACTS_SHARED: '' }).refused(2, 'move'),
    /ARTIFACTS_S3_BUCKET: is needed/,
  );
  assert.match(
    await settings({ DATABASE_URL: '' }).refused(2, 'move'),
    /say where to: --to postgres:/,
  );
  assert.match(
    await settings({ ENCRYPTION_KEY: 'o'.repeat(40) }).refused(2, 'move'),
    /neither ENCRYPTION_KEY nor the key file .* opens the database .*control-plane\.db/,
  );
  await query(target, 'drop schema public cascade');
  await query(target, 'create schema public');
  await query(target, 'create table shop (id int)');
  assert.match(await operator.refused(1, 'move'), /holds tables of something else \(shop, …\)/);
  await query(target, 'drop table shop');
  const own = settings({ DATABASE_FILE: '' });
  await own.json('accounts', 'create', '--name', 'Other');
  assert.match(await operator.refused(1, 'move'), /holds another installation/);
  assert.ok(existsSync(file));
});
