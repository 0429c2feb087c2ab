// Few share a process: it starts programs.
// SQLite only: it damages files.
/**
 * Damage to the files of a control plane, with real files. TEST_CASES=300 TEST_SEED=… plays more. A result
 * must survive when none of the pages on which its id stands was touched.
 */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import Database from 'better-sqlite3';
import { pino } from 'pino';
import { startControlPlane } from '../../control-plane/app/compose.ts';
import { readConfig } from '../../control-plane/core/config.ts';
import { salvageDatabase } from '../../control-plane/integrity/salvage.ts';
import { verifyDatabase } from '../../control-plane/integrity/verify.ts';
import { OperatorError } from '../../control-plane/errors/operator-error.ts';
import { Operator } from '../support/control-plane-command.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { damageFile, damageKinds, type DamageKind } from '../../proof/damage.ts';
import { testCases, touchedTexts } from '../support/damage.ts';
import { isLong, seededRandom, testSeed } from '../support/random.ts';
import { Bench, minute, now } from '../support/results.ts';
import { temporaryFolder } from '../support/system.ts';
import { TestClock } from '../support/test-clock.ts';

const logger = pino({ level: 'silent' });

/** Work for a control plane, and its files as a kill would leave them. */
async function fill(folder: string, snapshot: string, random: () => number): Promise<string[]> {
  const clock = new TestClock(now);
  const cp = await startTestControlPlane({
    ...{ clock, file: join(folder, 'cp.db'), requestsPerMinute: 0 },
  });
  const bench = new Bench(clock, cp);
  await cp.api('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: 'hook', url: 'https://hook.example/', method: 'POST' },
  });
  const ids: string[] = [];
  const checkId = await bench.check('url');
  const other = await bench.check('tcp');
  for (let batch = 0; batch < 6; batch += 1) {
    const results = Array.from({ length: 30 }, (_, index) =>
      bench.result(
        index % 3 === 0 ? other : checkId,
        index % 3 === 0 ? 'TCP' : 'URL',
        now - (batch * 30 + index + 1) * minute,
        {
          response: { body: 'x'.repeat(Math.floor(random() * 6_000)) },
        },
      ),
    );
    await bench.submitAll(results);
    ids.push(...results.map(({ id }) => id));
  }
  cpSync(folder, snapshot, { recursive: true });
  await cp[Symbol.asyncDispose]();
  return ids;
}

function idsIn(file: string): Set<string> {
  const database = new Database(file, { readonly: true });
  try {
    return new Set(database.prepare('select id from check_results').pluck().all() as string[]);
  } finally {
    database.close();
  }
}

/** What `serve` says: null when it serves. Anything but words is an error of the test. */
async function startOn(file: string): Promise<string | null> {
  const config = readConfig({ PORT: '0', DATABASE_FILE: file });
  try {
    await using _running = await startControlPlane({ config, logger });
    return null;
  } catch (error) {
    assert.ok(error instanceof OperatorError, String(error));
    assert.equal(error.exitCode, 2, error.message);
    return error.message;
  }
}

test('after damage a control plane serves, or says what is wrong; what is whole is salvaged', async (t) => {
  const seed = testSeed();
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  using folder = temporaryFolder();
  const whole = join(folder.path, 'whole');
  const ids = await fill(join(folder.path, 'live'), whole, random);
  const control = join(folder.path, 'control');
  cpSync(whole, control, { recursive: true });
  assert.deepEqual(verifyDatabase(join(control, 'cp.db')).problems, []);
  const names = ['cp.db', 'cp.db-wal', 'cp.db.key', 'cp.db.lock', 'cp.db.holder', 'cp.db-shm'];
  // The last three hold nothing that could be lost, and of the key every byte counts: all with TEST_LONG=1.
  const usual: Record<string, readonly DamageKind[]> = {
    'cp.db': damageKinds,
    'cp.db-wal': ['flip 20', 'truncate', 'delete'],
    'cp.db.key': ['flip 1', 'delete'],
  };
  const cases = names.flatMap((name) =>
    (isLong ? damageKinds : (usual[name] ?? [])).map((kind) => ({ name, kind })),
  );
  const tally = { served: 0, refused: 0, lost: 0 };
  for (let number = 0; number < testCases(cases.length); number += 1) {
    const { name = '', kind = 'flip 1' } = cases[number % cases.length] ?? {};
    const context = `case ${number}: ${kind} ${name}`;
    const place = join(folder.path, `case-${number}`);
    cpSync(whole, place, { recursive: true });
    const file = join(place, 'cp.db');
    const touched = damageFile(join(place, name), kind, random);
    if (touched === null) continue;
    const spoilt =
      name === 'cp.db' || name === 'cp.db-wal'
        ? touchedTexts(join(whole, name), touched, ids)
        : new Set<string>();

    const salvaged = join(place, 'salvaged.db');
    const report = await salvageDatabase(file, salvaged, () => undefined);
    const kept = idsIn(salvaged);
    const missing = ids.filter((id) => !kept.has(id));
    for (const id of missing) assert.ok(spoilt.has(id), `${context}: lost ${id}, which was whole`);
    assert.deepEqual(verifyDatabase(salvaged).problems, [], context);
    if (missing.length > 0 && touched.end > 0 && touched.bytes.length > 0) {
      const { tables } = report;
      const named = tables.some(({ lost, damagedPages }) => lost + damagedPages > 0);
      assert.ok(
        named || report.orphans.length > 0 || name.endsWith('-wal'),
        `${context}: a loss without a word`,
      );
    }
    tally.lost += missing.length;
    const sentence = await startOn(file);
    if (sentence === null) {
      tally.served += 1;
      assert.equal(await startOn(file), null, `${context}: a second start`);
    } else {
      tally.refused += 1;
      assert.match(sentence, /cp\.db/, context);
      assert.match(sentence, /salvage|restore|put .* back|move it away/i, context);
      assert.equal((await startOn(file)) === null, false, `${context}: refused once, then served`);
    }
    rmSync(place, { recursive: true, force: true });
  }
  t.diagnostic(JSON.stringify(tally));
});

test('a second serve is refused by name, commands go on beside the first, and a kill frees the lock', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  await using first = await operator.serve();
  const error = await operator.refused(1, 'serve');
  assert.match(error, new RegExp(`served already, by process ${first.child.pid} on `));
  await operator.json('keys', 'create', '--name', 'beside');
  await operator.json('backup', join(folder.path, 'backup.db'));
  assert.deepEqual((await operator.json<{ ok: boolean }>('verify')).ok, true);
  assert.match(await operator.refused(1, 'salvage', join(folder.path, 'new.db')), /is served/);
  await first.kill9();
  await using second = await operator.serve();
  await second.line('did not end by itself');
  assert.doesNotMatch(second.lines.join(), /log of the database/, 'it lies there');
  await operator.json('keys', 'create', '--name', 'last');
  await second.kill9();
  assert.equal((await operator.json<unknown[]>('keys', 'list')).length, 2);
  await using third = await operator.serve();
  await third.line('a command has taken it into the database');
  assert.doesNotMatch(third.lines.join(), /"level":50|is missing|are missing/, 'nothing is');
});

test('an emptied database, a missing key and a key that does not fit are refused, with a way on', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  const { database } = operator;
  assert.equal(await startOn(database), null);
  const key = `${database}.key`;
  const keep = join(folder.path, 'keep');
  cpSync(database, join(keep, 'db'));
  cpSync(key, join(keep, 'key'));

  writeFileSync(database, '');
  assert.match(
    await operator.refused(2, 'serve'),
    /is empty \(0 bytes\), but its key file .* restore/,
  );
  assert.match(await operator.refused(2, 'keys', 'create', '--name', 'x'), /is empty/);
  rmSync(database);
  assert.match(String(await startOn(database)), /is missing, but its key file/);
  assert.equal(existsSync(database), false);

  cpSync(join(keep, 'db'), database);
  rmSync(key);
  assert.match(String(await startOn(database)), /key file .* is missing, and the database/);
  assert.equal(existsSync(key), false);
  writeFileSync(key, Buffer.alloc(32, 7).toString('base64'));
  assert.match(String(await startOn(database)), /does not fit the database/);

  await using anew = operator.start('serve', '--new-key');
  await anew.log('serving');
  anew.signal('SIGTERM');
  await anew.exited;
  assert.equal(await startOn(database), null);
});

test('a damaged database is refused with what to do, and salvage and restore bring it back', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  const { rawKey } = await operator.json<{ rawKey: string }>('keys', 'create', '--name', 'one');
  {
    await using running = await operator.serve();
    await running.kill9();
  }
  damageFile(operator.database, 'flip 200', seededRandom(7));
  const { code, error } = await operator.run('serve');
  assert.equal(code, 2);
  assert.match(error, /control-plane\.db .*control-plane salvage/s);
  const verified = await operator.spawn('verify', '--json');
  assert.equal(verified.code, 1);
  assert.equal((JSON.parse(verified.out) as { ok: boolean }).ok, false);
  const salvaged = join(folder.path, 'salvaged.db');
  const { out } = await operator.spawn('salvage', salvaged, '--json');
  const done = JSON.parse(out) as { tables: { table: string; rows: number }[] };
  assert.ok(done.tables.some(({ table, rows }) => table === 'accounts' && rows === 1));
  assert.equal((await operator.run('restore', '--yes', salvaged)).code, 0);
  await using running = await operator.serve();
  const answer = await fetch(`${running.url}/v1/checks`, {
    headers: { authorization: `Bearer ${rawKey}` },
  });
  assert.equal(answer.status, 200);
  assert.equal(
    readdirSync(folder.path).some((name) => name.endsWith('.partial')),
    false,
  );
});

test('a backup is verified without a trace beside it', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  await operator.json('keys', 'create', '--name', 'one');
  const backups = join(folder.path, 'backups');
  mkdirSync(backups);
  const backup = join(backups, 'backup.db');
  assert.equal((await operator.run('backup', backup)).code, 0);
  assert.deepEqual(verifyDatabase(backup).problems, []);
  assert.deepEqual(readdirSync(backups), ['backup.db']);
});
