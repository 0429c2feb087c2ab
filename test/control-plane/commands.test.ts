// SQLite only: commands work on a file; those on PostgreSQL have tests of their own.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { pino } from 'pino';
import { protocolVersion } from '@monitor/shared/contract/agent-protocol.ts';
import { DatabaseSync } from 'node:sqlite';
import { Operator } from '../support/control-plane-command.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { isLong } from '../support/random.ts';
import { eventually, queryDatabase, temporaryFolder } from '../support/system.ts';
import { controlPlaneProgram } from '../support/programs.ts';

interface Account {
  id: string;
  name: string;
  plan: string;
  runtimeId: string | null;
  badges: boolean;
}

interface Key {
  id: string;
  name: string;
  role: string;
  maskedKey: string;
  expiresAt: string | null;
  revokedAt: string | null;
}

async function statusWith(url: string, rawKey: string): Promise<number> {
  const response = await fetch(`${url}/v1/private-locations`, {
    headers: { authorization: `Bearer ${rawKey}` },
  });
  await response.arrayBuffer();
  return response.status;
}

test('migrate makes the database and its folder, then finds it up to date', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(join(folder.path, 'not', 'there', 'yet'));
  const first = await operator.run('migrate');
  assert.equal(first.code, 0, first.error);
  assert.match(first.out, /^applied 0050-baseline\n(?:applied \d{4}-[a-z-]+\n)+$/);
  assert.match((await operator.run('migrate')).out, /control-plane\.db is up to date\n$/);
  assert.deepEqual(await operator.json('migrate'), { database: operator.database, applied: [] });
});

test('a database of a newer build is refused in one line, by every command and by serve', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  await operator.run('migrate');
  const db = new DatabaseSync(operator.database, { timeout: 60_000 });
  db.exec(`insert into kysely_migration (name, timestamp) values ('9999-from-tomorrow', 'x')`);
  db.close();
  for (const command of [['migrate'], ['serve'], ['keys', 'list']]) {
    const error = await operator.refused(1, ...command);
    assert.match(
      error,
      /control-plane\.db has migrations that this build does not know \(9999-from-tomorrow\): run the newer build/,
    );
    assert.equal(error.trim().split('\n').length, 1, error);
  }
});

test('a database of an older build is changed by migrate and by nothing else', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  await operator.run('migrate');
  const db = new DatabaseSync(operator.database, { timeout: 60_000 });
  db.exec(`delete from kysely_migration where name <> '0050-baseline';
    update kysely_migration set name = '0049-heartbeat-runs'`);
  db.close();
  assert.match(
    await operator.refused(1, 'keys', 'list'),
    /lacks migrations .*control-plane migrate/,
  );
  assert.match(await operator.refused(1, 'keys', 'create', '--name', 'a'), /lacks migrations/);
});

test('what cannot be used is named, with what to do, and ends with 2', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  assert.match(await operator.refused(2, 'frobnicate'), /unknown command/);
  assert.match(await operator.refused(2, 'keys', 'create', '--json'), /--name/);
  assert.match(await operator.refused(2, 'keys', 'create', '--name', ' '), /1 to 255/);
  assert.match(
    await operator.refused(2, 'keys', 'create', '--name', 'a', '--role', 'KING'),
    /OWNER, ADMIN, READ_WRITE, READ_RUN, READ_ONLY/,
  );
  const unusual = ['2027-02-30', '99999999999d', '0d'];
  for (const expires of ['yesterday', '2020-01-01', ...(isLong ? unusual : [])]) {
    const error = await operator.refused(2, 'keys', 'create', '--name', 'a', '--expires', expires);
    assert.match(error, new RegExp(`--expires "${expires}"`));
  }
  assert.match(
    await operator.refused(2, 'keys', 'create-location', '--location', 'mars'),
    /not a data-center location/,
  );
  assert.equal(existsSync(operator.database), false);
  const inMemory = new Operator(folder.path, { DATABASE_FILE: ':memory:' });
  assert.match(await inMemory.refused(2, 'migrate'), /DATABASE_FILE/);
  const secret = 'too-short-secret';
  const misconfigured = new Operator(folder.path, { PORT: 'eighty', ENCRYPTION_KEY: secret });
  const error = await misconfigured.refused(2, 'serve');
  assert.match(error, /PORT: .*\(given: eighty\)/);
  assert.match(error, /ENCRYPTION_KEY/);
  assert.equal(error.includes(secret), false);
});

test('version is for people and for scripts, and needs no settings', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path, { PORT: 'none' });
  const { out } = await operator.run('version');
  assert.match(out, /^control-plane \d+\.\d+\.\d+ \(protocol \d+, /);
  assert.deepEqual(await operator.run('--version'), { code: 0, out, error: '' });
  const { protocol } = await operator.json<{ protocol: number }>('version');
  assert.equal(protocol, protocolVersion);
});

test('commands that only look make no database', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  for (const command of [
    ['keys', 'list', '--json'],
    ['accounts', 'set', 'x', '--plan', 'team'],
  ]) {
    assert.match(await operator.refused(1, ...command), /there is no database at .*DATABASE_FILE/);
  }
  assert.equal(existsSync(operator.database), false);
  writeFileSync(operator.database, 'not a database, but long enough to be read as one'.repeat(99));
  assert.match(
    await operator.refused(1, 'keys', 'list'),
    /could not use the database .*: file is not a database; name a file that is a database/,
  );
});

test('a key is shown raw by create alone, and only masked by list', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  const made = await operator.run(
    ...['keys', 'create', '--name', 'ci', '--role', 'READ_RUN', '--expires', '90d'],
  );
  assert.equal(made.code, 0, made.error);
  const rawKey = /^rawKey: (cu_[0-9a-f]{64})$/m.exec(made.out)?.[1] ?? '';
  assert.notEqual(rawKey, '');
  assert.match(made.error, /shown this once/);
  assert.equal(made.error.includes(rawKey), false);
  await operator.json('keys', 'create', '--name', 'a\tname\u001b[31m');
  const [ci, other] = await operator.json<Key[]>('keys', 'list');
  assert.deepEqual([ci?.name, ci?.role, other?.role], ['ci', 'READ_RUN', 'OWNER']);
  assert.equal(ci?.maskedKey, `cu_…${rawKey.slice(-4)}`);
  const days = (Date.parse(ci?.expiresAt ?? '') - Date.now()) / 86_400_000;
  assert.ok(days > 89.9 && days <= 90, String(days));
  const { out } = await operator.run('keys', 'list');
  assert.equal(out.includes(rawKey), false);
  const lines = out.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => line.split('\t').length),
    [8, 8],
  );
  assert.equal(out.includes('\u001b'), false);
  const location = await operator.json<{ rawKey: string }>(
    ...['keys', 'create-location', '--location', 'eu-central-1'],
  );
  assert.match(location.rawKey, /^pl_[0-9a-f]{64}$/);
});

const script = '/usr/bin/script';
const skip = existsSync(script) ? false : `needs ${script} of util-linux to make a terminal`;

test('a terminal gets a table with a header', { skip }, async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  await operator.json('keys', 'create', '--name', 'ci');
  const command = `${process.execPath} ${controlPlaneProgram} keys list`;
  const out = execFileSync(script, ['-qec', command, '/dev/null'], {
    env: { ...process.env, DATABASE_FILE: operator.database },
    encoding: 'utf8',
  });
  assert.match(out, /^ID +NAME +KEY +ROLE +EXPIRES +LAST USED +REVOKED +ACCOUNT\r\n/);
});

test('with several accounts, the one that is meant must be named', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  const first = await operator.json<{ accountId: string }>('accounts', 'create', '--name', 'One');
  const key = await operator.json<{ accountId: string }>('keys', 'create', '--name', 'only');
  assert.equal(key.accountId, first.accountId);
  const { accountId } = await operator.json<{ accountId: string }>(
    ...['accounts', 'create', '--name', 'Two'],
  );
  const unclear = await operator.refused(2, 'keys', 'create', '--name', 'k');
  assert.match(unclear, new RegExp(`--account <id>; there are:\n.*One\n  ${accountId}  Two`));
  const nobody = await operator.refused(1, 'keys', 'create', '--name', 'k', '--account', 'x');
  assert.match(nobody, /there is no account "x"; there are:/);
  await operator.json('keys', 'create', '--name', 'k', '--account', accountId);
  const keys = await operator.json<Key[]>('keys', 'list', '--account', accountId);
  assert.deepEqual(
    keys.map(({ name }) => name),
    ['k'],
  );
});

test('a second account says whose channels send no more, and so does the start', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  const logged: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line) => logged.push(line) });
  const start = (settings = {}) =>
    startTestControlPlane({ file: operator.database, logger, settings });
  let own = '';
  {
    await using cp = await start();
    own = cp.accountId;
    const config = { name: 'x', number: '+491234567' };
    const { status } = await cp.api('POST', '/v1/alert-channels', { type: 'SMS', config });
    assert.equal(status, 201);
  }
  {
    await using _alone = await start();
    assert.deepEqual(logged, [], 'one account alone may');
  }
  const { error } = await operator.run('accounts', 'create', '--name', 'Two');
  const says = /channels of accounts do not send.*OPERATOR_CHANNEL_ACCOUNTS/;
  assert.match(error, says);
  assert.ok(error.includes(own));
  const another = await operator.run(...['accounts', 'create', '--name', 'Three', '--json']);
  assert.match(another.error, says);
  JSON.parse(another.out);
  {
    await using _several = await start();
    assert.match(logged.join(''), says);
    assert.ok(logged.join('').includes(own));
    assert.equal(logged.length, 1);
  }
  await using _named = await start({ OPERATOR_CHANNEL_ACCOUNTS: own });
  assert.equal(logged.length, 1);
});

test('accounts are made, changed and listed', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  const { accountId } = await operator.json<{ accountId: string }>(
    ...['accounts', 'create', '--name', 'Shop'],
  );
  const changed = await operator.json<Account>(
    ...['accounts', 'set', accountId, '--badges', 'on', '--runtime', '2025.04', '--plan', 'team'],
  );
  const { name, plan, runtimeId, badges } = changed;
  assert.deepEqual([name, plan, runtimeId, badges], ['Shop', 'team', '2025.04', true]);
  await operator.spawn('accounts', 'set', accountId, '--name', 'Store');
  assert.deepEqual(await operator.json('accounts', 'list'), [{ ...changed, name: 'Store' }]);
  assert.match((await operator.run('accounts', 'list')).out, /\tStore\tteam\t2025\.04\ton\t/);
  assert.deepEqual(queryDatabase(operator.database, 'select settings_json from accounts')[0], {
    __proto__: null,
    settings_json: '{"badges":true,"secretDetection":true}',
  });
  assert.match(await operator.refused(2, 'accounts', 'set', accountId), /nothing to set/);
  for (const [option, value] of Object.entries({ badges: 'maybe', runtime: '1', plan: 'gold' })) {
    const error = await operator.refused(2, 'accounts', 'set', accountId, `--${option}`, value);
    assert.match(error, /Allowed choices are/);
  }
  assert.match(await operator.refused(1, 'accounts', 'set', 'x', '--plan', 'team'), /Store/);
});

test('the alert settings of an account are set, shown by the API, and taken back', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  const { accountId, rawKey } = await operator.json<{ accountId: string; rawKey: string }>(
    ...['keys', 'create', '--name', 'a'],
  );
  const set = (text: string) =>
    operator.json<{ alertSettings: Record<string, Record<string, unknown>> }>(
      ...['accounts', 'set', accountId, '--alert-settings', text],
    );
  const asked = { reminders: { amount: 3, interval: 10 }, escalationType: 'TIME_BASED' };
  const { alertSettings } = await set(JSON.stringify(asked));
  assert.partialDeepStrictEqual(alertSettings, asked);
  assert.deepEqual(alertSettings['timeBasedEscalation'], { minutesFailingThreshold: 5 });

  await using cp = await startTestControlPlane({ file: operator.database });
  const ofAccount = { authorization: `Bearer ${rawKey}` };
  const shown = async () =>
    (await cp.api('GET', '/v1/accounts/me', undefined, ofAccount)).body.alertSettings;
  assert.deepEqual(await shown(), alertSettings);
  const wrong = ['accounts', 'set', accountId, '--alert-settings', '{"reminders":{"amount":7}}'];
  assert.match(await operator.refused(2, ...wrong), /--alert-settings: reminders\.amount/);
  const misspelt = ['accounts', 'set', accountId, '--alert-settings', '{"reminders":{"amout":2}}'];
  assert.match(await operator.refused(2, ...misspelt), /there is no reminders\.amout/);
  const escalationPolicyId = '6f1ed002-ab59-4e6f-a9a7-4b3d1a6e1c11';
  const unknown = [...wrong.slice(0, 4), JSON.stringify({ escalationPolicyId })];
  assert.match(await operator.refused(1, ...unknown), /has no escalation policy 6f1ed002/);
  assert.deepEqual(await shown(), alertSettings, 'what is refused changes nothing');
  await set('default');
  assert.partialDeepStrictEqual(await shown(), {
    escalationType: 'RUN_BASED',
    reminders: { amount: 0, interval: 5 },
  });
});

test('a running serve refuses a revoked key and an expired one', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  const kept = await operator.json<{ rawKey: string }>('keys', 'create', '--name', 'kept');
  const revoked = await operator.json<{ id: string; rawKey: string }>(
    ...['keys', 'create', '--name', 'revoked'],
  );
  await using serving = await operator.serve();
  const expiring = await operator.json<{ id: string; rawKey: string }>(
    ...['keys', 'create', '--name', 'short', '--expires', '90d'],
  );
  assert.equal(await statusWith(serving.url, revoked.rawKey), 200);
  assert.equal(await statusWith(serving.url, expiring.rawKey), 200);
  // The ninety days are nearly over. No command is sure to be through before a date so close.
  const database = new DatabaseSync(operator.database, { timeout: 60_000 });
  database
    .prepare('update api_keys set expires_at = ? where id = ?')
    .run(Date.now() + 1_000, expiring.id);
  database.close();
  const { out } = await operator.run('keys', 'revoke', revoked.id);
  assert.match(out, /serve refuses it within 5 s/);
  for (const [what, key] of Object.entries({ revoked: revoked.rawKey, expired: expiring.rawKey })) {
    const isRefused = async () => (await statusWith(serving.url, key)) === 401;
    await eventually(isRefused, () => `the ${what} key still works`);
  }
  assert.equal(await statusWith(serving.url, kept.rawKey), 200);
  assert.match((await operator.run('keys', 'revoke', revoked.id)).out, /was revoked before/);
  assert.match(await operator.refused(1, 'keys', 'revoke', 'x'), /keys list/);
  const keys = await operator.json<Key[]>('keys', 'list');
  assert.deepEqual(
    keys.map(({ name, revokedAt }) => [name, revokedAt !== null]),
    [
      ['kept', false],
      ['revoked', true],
      ['short', false],
    ],
  );
});
