// Few share a process: it starts programs.
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { Operator } from '../support/control-plane-command.ts';
import { eventually, queryDatabase, temporaryFolder } from '../support/system.ts';

interface Restored {
  kept: string | null;
  keyFile: string | null;
  applied: string[];
}

/** How many rows each table has, of a database that is whole. */
function rowCounts(file: string): Record<string, number> {
  const [integrity] = queryDatabase<{ integrity_check: string }>(file, 'pragma integrity_check');
  assert.equal(integrity?.integrity_check, 'ok');
  const tables = queryDatabase<{ name: string }>(
    file,
    `select name from sqlite_schema where type = 'table' order by name`,
  );
  return Object.fromEntries(
    tables.map(({ name }) => [
      name,
      queryDatabase<{ n: number }>(file, `select count(*) as n from "${name}"`)[0]?.n ?? -1,
    ]),
  );
}

/** Makes a database so large that copying it takes a while. */
function fill(file: string, megabytes: number): void {
  const db = new DatabaseSync(file);
  db.exec('create table ballast (filling blob)');
  const insert = db.prepare('insert into ballast values (zeroblob(1000000))');
  for (let index = 0; index < megabytes; index += 1) insert.run();
  db.close();
}

/** Creates locations through the API until it is told to stop; gives how many were acknowledged. */
function keepWriting(url: string, apiKey: string) {
  let acknowledged = 0;
  let isOver = false;
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const ended = (async () => {
    while (!isOver) {
      const name = `location-${acknowledged}`;
      const response = await fetch(`${url}/v1/private-locations`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ name, slugName: name }),
      });
      assert.equal(response.status, 201, await response.text());
      acknowledged += 1;
    }
  })();
  return {
    acknowledged: () => acknowledged,
    async stop() {
      isOver = true;
      await ended;
    },
  };
}

const keyOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const installationKey = keyOf(1);
const oldKey = keyOf(2);
const newKey = keyOf(3);

test('a backup taken while serve writes is restored as it was', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  const { rawKey } = await operator.json<{ rawKey: string }>('keys', 'create', '--name', 'test');
  fill(operator.database, 24);
  writeFileSync(`${operator.database}.key`, installationKey, { mode: 0o600 });
  const backup = join(folder.path, 'backup.db');
  await using serving = await operator.serve();
  const writer = keepWriting(serving.url, rawKey);
  await eventually(
    () => writer.acknowledged() > 0,
    () => 'nothing is written',
  );
  const before = writer.acknowledged();
  const { out } = await operator.spawn('backup', '--with-key', backup, '--json');
  const made = JSON.parse(out) as { keyFile: string };
  const after = writer.acknowledged();
  await writer.stop();
  assert.equal(made.keyFile, `${backup}.key`);
  assert.equal(readFileSync(made.keyFile, 'utf8'), installationKey);
  for (const file of [backup, made.keyFile]) {
    assert.equal((statSync(file).mode & 0o777).toString(8), '600', file);
  }
  const counts = rowCounts(backup);
  const written = counts['private_locations'] ?? -1;
  assert.ok(after > before, 'nothing was written during the backup');
  assert.ok(before <= written && written <= after + 1, `${before} <= ${written} <= ${after}`);
  const other = new Operator(join(folder.path, 'other'));
  const { out: done } = await other.spawn('restore', backup, '--yes', '--json');
  const restored = JSON.parse(done) as Restored;
  assert.deepEqual(restored.applied, []);
  assert.equal(restored.kept, null);
  assert.deepEqual(rowCounts(other.database), counts);
  assert.equal(readFileSync(`${other.database}.key`, 'utf8'), installationKey);
  assert.equal((statSync(`${other.database}.key`).mode & 0o777).toString(8), '600');
  await using again = await other.serve();
  assert.ok(again.url);
});

test('restore refuses while serve runs, and keeps what it replaces', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  await operator.json('keys', 'create', '--name', 'before');
  writeFileSync(`${operator.database}.key`, oldKey);
  const backup = join(folder.path, 'backup.db');
  await operator.run('backup', '--with-key', backup);
  writeFileSync(`${operator.database}.key`, newKey);
  await operator.json('keys', 'create', '--name', 'after');
  {
    await using serving = await operator.serve();
    const files = readdirSync(folder.path);
    const error = await operator.refused(1, 'restore', backup, '--yes');
    assert.match(error, /another process has .* open: stop `serve` first/);
    assert.deepEqual(readdirSync(folder.path), files);
    await serving.kill9();
  }
  assert.equal(existsSync(`${operator.database}-wal`), true);
  assert.match(await operator.refused(2, 'restore', backup), /add --yes/);
  const { kept, keyFile } = await operator.json<Restored>('restore', backup, '--yes');
  assert.equal(existsSync(`${operator.database}-wal`), false);
  assert.equal(rowCounts(operator.database)['api_keys'], 1);
  assert.equal(rowCounts(kept ?? '')['api_keys'], 2);
  assert.equal(keyFile, `${operator.database}.key`);
  assert.deepEqual(
    [readFileSync(keyFile, 'utf8'), readFileSync(`${kept}.key`, 'utf8')],
    [oldKey, newKey],
  );
});

test('restore takes only whole databases of this program that this build knows', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  await operator.json('keys', 'create', '--name', 'test');
  const file = (name: string) => join(folder.path, name);
  const alter = (name: string, sql: string) => {
    const db = new DatabaseSync(file(name));
    db.exec(sql);
    db.close();
  };
  await operator.run('backup', file('newer.db'));
  alter(
    'newer.db',
    `insert into kysely_migration (name, timestamp) values ('9999-from-tomorrow', 'x')`,
  );
  alter('other.db', 'create table recipes (name text)');
  writeFileSync(file('empty.db'), '');
  for (const foreign of ['other.db', 'empty.db'])
    assert.match((await operator.run('verify', file(foreign))).out, /no tables of a control plane/);
  writeFileSync(file('text.db'), 'no database at all '.repeat(500));
  await operator.run('backup', file('damaged.db'));
  truncateSync(file('damaged.db'), Math.floor(statSync(file('damaged.db')).size / 8192) * 4096);
  mkdirSync(file('folder.db'));
  const before = readdirSync(folder.path).sort();
  const said = {
    'newer.db': /newer\.db has migrations that this build does not know \(9999-from-tomorrow\)/,
    'other.db': /other\.db is a database, but not one of a control plane/,
    'text.db': /could not restore .*text\.db.*: file is not a database/,
    'damaged.db': /damaged\.db.*(damaged|malformed)/,
    'folder.db': /is not a file/,
    'nowhere.db': /there is no backup at/,
    'control-plane.db': /is the database itself/,
  };
  for (const [name, expected] of Object.entries(said)) {
    assert.match(await operator.refused(1, 'restore', '--yes', file(name)), expected);
  }
  assert.deepEqual(readdirSync(folder.path).sort(), before);
  assert.equal(rowCounts(operator.database)['api_keys'], 1);
});

test('a damaged database can be replaced by a backup, and its log is not taken for the new one', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  await operator.json('keys', 'create', '--name', 'test');
  const backup = join(folder.path, 'backup.db');
  await operator.run('backup', backup);
  writeFileSync(operator.database, 'scribbled over '.repeat(1_000));
  writeFileSync(`${operator.database}-wal`, 'a log');
  const { kept } = await operator.json<Restored>('restore', backup, '--yes');
  assert.equal(existsSync(`${operator.database}-wal`), false);
  assert.match(readFileSync(kept ?? '', 'utf8'), /^scribbled over/);
  assert.equal(rowCounts(operator.database)['api_keys'], 1);
});

test('backup overwrites only what it may, and says what is wrong', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  const backup = join(folder.path, 'backup.db');
  assert.match(await operator.refused(1, 'backup', backup), /there is no database at/);
  await operator.json('keys', 'create', '--name', 'one');
  await operator.run('backup', backup);
  await operator.json('keys', 'create', '--name', 'two');
  assert.match(await operator.refused(1, 'backup', backup), /exists: .*--force/);
  assert.equal(rowCounts(backup)['api_keys'], 1);
  writeFileSync(`${backup}.key`, 'of another database');
  const forced = await operator.run('backup', backup, '--force');
  assert.equal(forced.code, 0, forced.error);
  assert.match(forced.out, /^backed up to .*backup\.db \(\d+ bytes, integrity checked\)\n/);
  assert.equal(rowCounts(backup)['api_keys'], 2);
  assert.equal(existsSync(`${backup}.key`), false);
  for (const suffix of ['', '.key']) {
    if (suffix !== '') writeFileSync(operator.database + suffix, 'key');
    const error = await operator.refused(1, 'backup', operator.database + suffix, '--force');
    assert.match(error, /belongs to the database itself/);
  }
  const deep = join(folder.path, 'not', 'there.db');
  assert.match(await operator.refused(1, 'backup', deep), /make the folder .*not first/);
  assert.match(await operator.refused(1, 'backup', folder.path), /is a folder/);
  const sealed = new Operator(folder.path, { ENCRYPTION_KEY: 'k'.repeat(32) });
  const withSetting = await sealed.run('backup', join(folder.path, 'sealed.db'));
  assert.match(withSetting.out, /the key \(ENCRYPTION_KEY\) is not in the backup/);
  assert.equal(existsSync(join(folder.path, 'sealed.db.key')), false);
});

test('a backup that is killed or stopped leaves nothing under the final name', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  await operator.run('migrate');
  fill(operator.database, 96);
  const target = join(folder.path, 'backups');
  mkdirSync(target);
  const backup = join(target, 'backup.db');
  await using killed = operator.start('backup', backup);
  await killed.line('backing up');
  await killed.kill9();
  assert.equal((await killed.exited).signal, 'SIGKILL');
  assert.equal(existsSync(backup), false);
  const left = readdirSync(target);
  assert.ok(
    left.every((name) => name.includes('.partial')),
    left.join(),
  );
  await using stopped = operator.start('backup', backup);
  await stopped.line('backing up');
  stopped.signal('SIGTERM');
  assert.equal((await stopped.exited).code, 1);
  assert.ok(stopped.lines.includes('stopped by SIGTERM; nothing was changed'));
  assert.deepEqual(readdirSync(target), left);
  const whole = await operator.run('backup', backup);
  assert.equal(whole.code, 0, whole.error);
  assert.match(whole.error, /is left of a backup that did not end: delete it/);
  assert.equal(rowCounts(backup)['ballast'], 96);
  assert.deepEqual(readdirSync(target).sort(), [...left, 'backup.db'].sort());
});
