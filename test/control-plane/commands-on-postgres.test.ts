// Few share a process: it starts programs.
import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import test from 'node:test';
import { CompiledQuery } from 'kysely';
import { openPostgres } from '../../control-plane/db/postgres.ts';
import { Operator } from '../support/control-plane-command.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { freePort } from '../../proof/program.ts';
import { temporaryFolder } from '../support/system.ts';

const key = 'k'.repeat(40);
const password = 'hunter2';

/** An operator of replicas on a database, whose files are in a shared folder. */
function operatorOf(
  folder: string,
  { url }: Pick<TestDatabase, 'url'>,
  settings: Record<string, string> = {},
): Operator {
  return new Operator(folder, {
    DATABASE_FILE: '',
    DATABASE_URL: Object.assign(new URL(url), { password }).href,
    ENCRYPTION_KEY: key,
    PUBLIC_URL: 'http://monitor.example',
    ARTIFACTS_DIR: folder,
    ARTIFACTS_SHARED: 'true',
    ...settings,
  });
}

async function execute(url: string, ...statements: string[]): Promise<void> {
  const db = openPostgres({ url, connections: 1, isPrepared: false, applicationName: 'test' });
  try {
    for (const text of statements) await db.executeQuery(CompiledQuery.raw(text));
  } finally {
    await db.destroy();
  }
}

test('commands work on a PostgreSQL as they do on a file', async () => {
  using folder = temporaryFolder();
  await using database = await createTestDatabase({ isReused: false });
  const operator = operatorOf(folder.path, database);
  const { pathname, host } = new URL(database.url);
  const name = `${host}${pathname}`;
  assert.deepEqual(await operator.json('migrate'), { database: name, applied: [] });
  const { accountId } = await operator.json<{ accountId: string }>(
    ...['accounts', 'create', '--name', 'Shop'],
  );
  await operator.json('accounts', 'set', accountId, '--plan', 'team', '--badges', 'on');
  const made = await operator.json<{ id: string }>('keys', 'create', '--name', 'ci');
  await operator.json('keys', 'create-location', '--location', 'eu-central-1');
  await operator.json('keys', 'revoke', made.id);
  const keys = await operator.json<{ revokedAt: string | null }[]>('keys', 'list');
  assert.equal(keys.length, 1);
  assert.notEqual(keys[0]?.revokedAt, null);
  assert.partialDeepStrictEqual(await operator.json('accounts', 'list'), [
    { id: accountId, plan: 'team', badges: true },
  ]);
  assert.deepEqual(await operator.json('verify'), { database: name, ok: true, problems: [] });
  await execute(database.url, `update accounts set settings_json = '{broken'`);
  const found = await operator.run('verify');
  assert.equal(found.code, 1);
  assert.match(found.out, /^accounts\.settings_json: 1 values are not JSON\n$/);
  assert.match(found.error, /pg_amcheck/);
});

test('what works on files says what PostgreSQL has for it, and ends with 2', async () => {
  using folder = temporaryFolder();
  const operator = operatorOf(folder.path, { url: 'postgres://monitor@db.example:6432/mo' });
  for (const [command, line] of [
    [
      ['backup', 'x'],
      /`pg_dump --host=db\.example --port=6432 --username=monitor --format=custom --file=<file> mo`, or with point-in-time/,
    ],
    [
      ['restore', 'x', '--yes'],
      /`pg_restore --host=db\.example --port=6432 --username=monitor --dbname=mo --clean/,
    ],
    [['salvage', 'x'], /name a file with --from/],
  ] as const) {
    const error = await operator.refused(2, ...command);
    assert.match(error, line);
    assert.doesNotMatch(error, new RegExp(password));
  }
});

test('a PostgreSQL that cannot be used, and one without tables, is named with what to do', async () => {
  using folder = temporaryFolder();
  const away = operatorOf(
    folder.path,
    { url: 'postgres://monitor@127.0.0.1:1/monitor' },
    { DATABASE_FAILOVER_SECONDS: '1' },
  );
  for (const [command, code] of [
    ['serve', 1],
    ['migrate', 2],
    ['verify', 2],
  ] as const) {
    const { code: ended, error } = await away.run(command);
    assert.equal(ended, code, command);
    assert.match(
      error,
      /DATABASE_URL: the database 127\.0\.0\.1:1\/monitor cannot be used .*check/,
    );
    assert.doesNotMatch(error, new RegExp(password));
  }
  await using database = await createTestDatabase({ isReused: false });
  await execute(database.url, 'drop schema public cascade', 'create schema public');
  const empty = operatorOf(folder.path, database);
  assert.match(await empty.refused(1, 'keys', 'list'), /lacks migrations .*control-plane migrate/);
  assert.match((await empty.run('migrate')).out, /^applied /);
});

test('a PostgreSQL of another encoding, and one that takes no writes, is refused with what to do', async () => {
  using folder = temporaryFolder();
  await using database = await createTestDatabase({ isReused: false });
  const { pathname } = new URL(database.url);
  await execute(
    database.url,
    `alter database ${pathname.slice(1)} set default_transaction_read_only = on`,
  );
  const operator = operatorOf(folder.path, database);
  for (const command of ['serve', 'migrate']) {
    assert.match(
      await operator.refused(2, command),
      /DATABASE_URL: the database .* takes no writes, as a standby does: name the primary\n$/,
    );
  }
  const ascii = `${pathname.slice(1)}_ascii`;
  await execute(
    Object.assign(new URL(database.url), { pathname: '/postgres' }).href,
    `create database ${ascii} encoding 'SQL_ASCII' locale 'C' template template0`,
  );
  const url = Object.assign(new URL(database.url), { pathname: `/${ascii}` }).href;
  assert.match(
    await operatorOf(folder.path, { url }).refused(2, 'serve'),
    /stores texts as SQL_ASCII: create the database with encoding UTF8/,
  );
});

test('a replica with another key does not start, and neither do two that begin with two keys', async () => {
  using folder = temporaryFolder();
  await using database = await createTestDatabase({ isReused: false });
  await operatorOf(folder.path, database).json('migrate');
  const other = operatorOf(folder.path, database, { ENCRYPTION_KEY: 'o'.repeat(40) });
  for (const command of [['serve'], ['migrate']]) {
    assert.match(
      await other.refused(2, ...command),
      /ENCRYPTION_KEY does not fit the database 127\.0\.0\.1:\d+\/test_\w+: .* another key\. Put that one back/,
    );
  }
  await execute(database.url, 'drop schema public cascade', 'create schema public');
  const outcomes = await Promise.all(
    [key, 'o'.repeat(40)].map((ENCRYPTION_KEY) =>
      operatorOf(folder.path, database, { ENCRYPTION_KEY }).spawn('migrate'),
    ),
  );
  assert.deepEqual(outcomes.map(({ code }) => code).sort(), [0, 2], JSON.stringify(outcomes));
});

test('the key is changed while no replica serves, and not otherwise', async () => {
  using folder = temporaryFolder();
  await using database = await createTestDatabase({ isReused: false });
  const before = operatorOf(folder.path, database);
  const next = { ENCRYPTION_KEY: 'n'.repeat(40) };
  const change = operatorOf(folder.path, database, { ...next, ENCRYPTION_KEY_PREVIOUS: key });
  {
    await using serving = await before.serve();
    assert.notEqual(serving.url, '');
    assert.match(
      await change.refused(1, 'keys', 'rotate-encryption'),
      /is in use, by monitor\/[\w-]+ at 127\.0\.0\.1: stop every `serve` first/,
    );
    const anew = operatorOf(folder.path, database, next);
    assert.match(
      await anew.refused(1, 'serve', '--new-key'),
      /is in use, by monitor\/[\w-]+ at 127\.0\.0\.1: stop every `serve` first/,
    );
  }
  assert.equal((await change.run('keys', 'rotate-encryption')).code, 0);
  assert.match(await before.refused(2, 'migrate'), /does not fit/);
  assert.equal((await operatorOf(folder.path, database, next).run('migrate')).code, 0);
});

test('serve that starts before its database says so, waits, and serves once it is there', async () => {
  using folder = temporaryFolder();
  await using database = await createTestDatabase();
  const { hostname, port: serverPort } = new URL(database.url);
  const port = await freePort();
  const url = Object.assign(new URL(database.url), { hostname: '127.0.0.1', port: String(port) });
  const operator = operatorOf(folder.path, { url: url.href });
  await using serving = operator.start('serve');
  const line = await serving.log('the database is away, it is tried until it answers');
  assert.doesNotMatch(JSON.stringify(line), new RegExp(password));
  const relay = createServer((socket) => {
    const onward = connect(Number(serverPort), hostname);
    for (const each of [socket, onward]) each.on('error', () => each.destroy());
    socket.pipe(onward).pipe(socket);
  }).listen(port, '127.0.0.1');
  await serving.log('serving');
  serving.signal('SIGTERM');
  const { code } = await serving.exited;
  assert.equal(code, 0);
  relay.close();
});
