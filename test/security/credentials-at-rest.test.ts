// Few share a process: it starts programs.
// SQLite only: it looks into files.
/** One credential of each kind, made through the API: none is readable on disk, in a backup, or after a new key. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { openSecretCipher, SecretCipher } from '../../control-plane/core/secret-cipher.ts';
import { makeAuthority } from '../support/certificates.ts';
import { Operator } from '../support/control-plane-command.ts';
import { Program } from '../../proof/program.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { isLong } from '../support/random.ts';
import { queryDatabase, temporaryFolder } from '../support/system.ts';
import { controlPlaneProgram } from '../support/programs.ts';

const marker = 'Mk7-canary';

interface Made {
  /** What people may read again, by what it is. */
  shown: Record<string, unknown>;
  /** What stands in no file, in one of its lines. */
  needles: string[];
}

interface Check {
  id: string;
  request: { headers: unknown; queryParameters: unknown; basicAuth: unknown };
  environmentVariables: unknown;
  heartbeat: { pingToken: string; pingUrl: string };
}

/** A control plane of this process on a database in a folder, which can be stopped and started again. */
class Installation implements AsyncDisposable {
  readonly databaseFile: string;
  readonly #settings: Record<string, string>;
  #running: TestControlPlane | null = null;

  constructor(folder: string, settings: Record<string, string>) {
    this.databaseFile = join(folder, 'control-plane.db');
    this.#settings = settings;
  }

  static async start(folder: string, settings: Record<string, string> = {}): Promise<Installation> {
    const installation = new Installation(folder, settings);
    await installation.restart();
    return installation;
  }

  async restart(): Promise<void> {
    await this.stop();
    const of = { file: this.databaseFile, settings: this.#settings, requestsPerMinute: 0 };
    this.#running = await startTestControlPlane(of);
  }

  async stop(): Promise<void> {
    await this.#running?.[Symbol.asyncDispose]();
    this.#running = null;
  }

  get running(): TestControlPlane {
    return this.#running ?? assert.fail('it was stopped');
  }

  async api<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.running.api(method, path, body);
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
    return answer.body as T;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Everything as a key that may write reads it. */
async function read(
  system: Pick<Installation, 'api'>,
  ids: Record<string, string | number>,
): Promise<Made['shown']> {
  const check = await system.api<Check>('GET', `/v1/checks/${ids['check']}`);
  const heartbeat = await system.api<Check>('GET', `/v1/checks/${ids['heartbeat']}`);
  const group = await system.api<Record<string, unknown>>(
    'GET',
    `/v1/check-groups/${ids['group']}`,
  );
  const channel = await system.api<{ config: unknown }>(
    'GET',
    `/v1/alert-channels/${ids['channel']}`,
  );
  const slack = await system.api<{ config: unknown }>('GET', `/v1/alert-channels/${ids['slack']}`);
  const locked = await system.api<{ value: unknown }>('GET', '/v1/variables/LOCKED');
  const location = await system.api<{ proxyUrl: unknown }>(
    'GET',
    `/v1/private-locations/${ids['location']}`,
  );
  const trigger = await system.api<{ token: string }>('GET', `/v1/triggers/checks/${ids['check']}`);
  const [dashboard] = await system.api<[{ keys: unknown }]>('GET', '/v1/dashboards');
  return {
    dashboard: dashboard.keys,
    request: check.request,
    variables: check.environmentVariables,
    pingToken: heartbeat.heartbeat.pingToken,
    group: group['apiCheckDefaults'],
    groupVariables: group['environmentVariables'],
    channel: channel.config,
    slack: slack.config,
    locked: locked.value,
    proxyUrl: location.proxyUrl,
    token: trigger.token,
  };
}

async function makeEverything(
  system: Pick<Installation, 'api'>,
): Promise<{ ids: Record<string, string | number>; needles: string[] }> {
  const pairs = (name: string) => [
    { key: 'Authorization', value: `${marker}-${name}`, locked: false },
  ];
  const { key, cert } = await (await makeAuthority()).issue({ host: 'localhost', validForDays: 9 });
  const variables = [
    { key: 'A', value: `${marker}-check-locked`, locked: true, secret: false },
    { key: 'B', value: `${marker}-check-secret`, locked: false, secret: true },
  ];
  const defaults = {
    headers: pairs('group-header'),
    queryParameters: pairs('group-query'),
    basicAuth: { username: 'u', password: `${marker}-group-password` },
    assertions: [],
    url: '',
  };
  const group = await system.api<{ id: number }>('POST', '/v1/check-groups', {
    ...{ name: 'group', apiCheckDefaults: defaults, environmentVariables: variables },
  });
  const check = await system.api<{ id: string }>('POST', '/v1/checks/api', {
    name: 'check',
    groupId: group.id,
    environmentVariables: variables,
    request: {
      ...{ method: 'GET', url: 'https://a.example/', headers: pairs('header') },
      queryParameters: pairs('query'),
      basicAuth: { username: 'u', password: `${marker}-password` },
    },
  });
  const heartbeat = await system.api<{ id: string }>('POST', '/v1/checks/heartbeat', {
    name: 'heartbeat',
    heartbeat: {
      period: 1,
      periodUnit: 'days',
      grace: 1,
      graceUnit: 'hours',
      pingToken: `${marker}-ping-token`,
    },
  });
  await system.api('POST', `/v1/triggers/checks/${check.id}`);
  const { token } = await system.api<{ token: string }>('GET', `/v1/triggers/checks/${check.id}`);
  const channel = await system.api<{ id: number }>('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: {
      ...{ name: 'hook', url: `https://a.example/${marker}-webhook-address`, method: 'POST' },
      ...{ headers: pairs('webhook-header'), webhookSecret: `${marker}-webhook-secret` },
    },
  });
  const slack = await system.api<{ id: number }>('POST', '/v1/alert-channels', {
    type: 'SLACK',
    config: { url: `https://hooks.example/services/${marker}-slack` },
  });
  await system.api('POST', '/v1/variables', {
    key: 'LOCKED',
    value: `${marker}-locked`,
    locked: true,
  });
  await system.api('POST', '/v1/variables', {
    key: 'SECRET',
    value: `${marker}-secret`,
    secret: true,
  });
  const location = await system.api<{ id: string }>('POST', '/v1/private-locations', {
    ...{ name: 'here', slugName: 'here', proxyUrl: `http://u:${marker}-proxy@proxy.example:3128` },
  });
  await system.api('POST', '/v1/client-certificates', { host: 'a.example', cert, key });
  await system.api('POST', '/v1/dashboards', {
    ...{ isPrivate: true, keys: [{ rawKey: `${marker}-dashboard` }] },
  });
  return {
    ids: {
      ...{ check: check.id, heartbeat: heartbeat.id, group: group.id, location: location.id },
      ...{ channel: channel.id, slack: slack.id },
    },
    needles: [marker, token, key.split('\n')[2] ?? ''],
  };
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

function assertOnNoDisk(folder: string, needles: readonly string[]): void {
  for (const path of filesOf(folder)) {
    const content = readFileSync(path);
    for (const needle of needles)
      assert.equal(content.includes(needle), false, `${needle} in ${path}`);
  }
}

test('credentials are readable in no file, before and after a new key, and work all the same', async () => {
  using folder = temporaryFolder();
  using backups = temporaryFolder();
  await using system = await Installation.start(folder.path);
  const { ids, needles } = await makeEverything(system);
  const shown = await read(system, ids);
  assert.equal(JSON.stringify(shown).split(marker).length - 1, 16, JSON.stringify(shown));
  assertOnNoDisk(folder.path, needles);

  const operator = new Operator(folder.path);
  const backup = join(backups.path, 'plain.db');
  const made = await operator.run('backup', backup);
  assert.match(made.out, /is not in the backup/);
  assert.deepEqual(readdirSync(backups.path), ['plain.db']);
  assertOnNoDisk(backups.path, needles);
  assert.equal(
    (await operator.json<{ keyFile: string }>('backup', '--with-key', join(backups.path, 'b.db')))
      .keyFile,
    join(backups.path, 'b.db.key'),
  );

  const refused = await operator.run('keys', 'rotate-encryption');
  assert.equal(refused.code, 1);
  assert.match(refused.error, /stop `serve` first/);

  await system.restart();
  assert.deepEqual(await read(system, ids), shown);
  assertOnNoDisk(folder.path, needles);

  const calls = async (): Promise<number[]> =>
    Promise.all(
      [`/ping/${marker}-ping-token`, `/ping/${marker}-another`].map(
        async (path) => (await fetch(system.running.url + path, { method: 'POST' })).status,
      ),
    );
  assert.deepEqual(await calls(), [200, 404]);

  await system.stop();
  const keyBefore = readFileSync(`${operator.database}.key`, 'utf8');
  const rotated = await operator.json<{ values: number; kinds: Record<string, number> }>(
    'keys',
    'rotate-encryption',
  );
  assert.ok(rotated.values >= 18, JSON.stringify(rotated));
  assert.notEqual(readFileSync(`${operator.database}.key`, 'utf8'), keyBefore);
  const old = new SecretCipher(Buffer.from(keyBefore, 'base64'));
  const db = new DatabaseSync(operator.database, { readOnly: true });
  const [channel] = db.prepare('select * from alert_channels').all() as {
    config_json: string;
    account_id: string;
  }[];
  db.close();
  assert.throws(() => old.decrypt(channel?.config_json ?? '', channel?.account_id ?? ''));
  await system.restart();
  assert.deepEqual(await read(system, ids), shown);
  assert.deepEqual(await calls(), [200, 404]);
});

test('a change of the key that is killed at any moment loses nothing', async () => {
  using folder = temporaryFolder();
  await using system = await Installation.start(folder.path);
  const { ids } = await makeEverything(system);
  const shown = await read(system, ids);
  for (let index = 0; index < (isLong ? 300 : 100); index += 1) {
    await system.api('POST', '/v1/variables', {
      key: `V${index}`,
      value: `${marker}-${index}`,
      locked: true,
    });
  }
  await system.stop();
  const operator = new Operator(folder.path);
  // Each is killed a little later than the one before, from before its first step to behind its last.
  for (let afterMs = 400; afterMs < 2_400; afterMs += isLong ? 330 : 660) {
    const program = new Program([controlPlaneProgram, 'keys', 'rotate-encryption'], {
      DATABASE_FILE: operator.database,
    });
    const timer = setTimeout(() => {
      program.signal('SIGKILL');
    }, afterMs);
    await program.exited;
    clearTimeout(timer);
    const cipher = openSecretCipher({}, operator.database);
    const db = new DatabaseSync(operator.database);
    const rows = db.prepare('select * from variables where locked = 1').all() as {
      value: string;
      account_id: string;
    }[];
    db.close();
    for (const row of rows) assert.match(cipher.decrypt(row.value, row.account_id), /^Mk7-canary/);
  }
  await operator.json('keys', 'rotate-encryption');
  assert.equal(readFileSync(`${operator.database}.key`, 'utf8').trim().split('\n').length, 1);
  await system.restart();
  assert.deepEqual(await read(system, ids), shown);
});

test('with ENCRYPTION_KEY the key before is named by a setting', async () => {
  using folder = temporaryFolder();
  const [first, second] = ['a'.repeat(40), 'b'.repeat(40)];
  const before = { ENCRYPTION_KEY: first };
  let ids: Record<string, string | number> = {};
  let shown: Made['shown'] = {};
  {
    await using system = await Installation.start(folder.path, before);
    ({ ids } = await makeEverything(system));
    shown = await read(system, ids);
  }
  const alone = await new Operator(folder.path, { ENCRYPTION_KEY: second }).run(
    'keys',
    'rotate-encryption',
  );
  assert.equal(alone.code, 2);
  assert.match(alone.error, /ENCRYPTION_KEY_PREVIOUS/);
  const both = { ENCRYPTION_KEY: second, ENCRYPTION_KEY_PREVIOUS: first };
  const wrong = await new Operator(folder.path, {
    ENCRYPTION_KEY: second,
    ENCRYPTION_KEY_PREVIOUS: 'c'.repeat(40),
  }).run('keys', 'rotate-encryption');
  assert.equal(wrong.code, 2);
  assert.match(wrong.error, /does not fit the database/);
  await new Operator(folder.path, both).json('keys', 'rotate-encryption');
  await using system = await Installation.start(folder.path, { ENCRYPTION_KEY: second });
  assert.equal(Object.keys(shown).length > 0 && ids['check'] !== undefined, true);
  const rows = queryDatabase<{ value: string; account_id: string }>(
    system.databaseFile,
    "select * from variables where key = 'LOCKED'",
  );
  const cipher = new SecretCipher(Buffer.from(second));
  assert.equal(cipher.decrypt(rows[0]?.value ?? '', rows[0]?.account_id ?? ''), `${marker}-locked`);
});

test('with a key that is lost, everything but the credentials goes on', async () => {
  using folder = temporaryFolder();
  const before = await Installation.start(folder.path);
  const { ids } = await makeEverything(before);
  await before.stop();
  const lost = { ENCRYPTION_KEY: 'n'.repeat(40) };
  await using serving = new Operator(folder.path, lost).start('serve', '--new-key');
  await serving.log('serving');
  await serving.stop();
  await using system = await Installation.start(folder.path, lost);
  const shown = await read(system, ids);
  assert.equal(JSON.stringify(shown).includes(marker), false);
  const request = shown['request'] as Check['request'];
  assert.deepEqual(request.headers, [{ key: 'Authorization', value: '', locked: false }]);
  assert.deepEqual(shown['channel'], {});
  assert.equal(shown['token'], '');

  await system.stop();
  // The key changes all the same; values that nobody can open do not stand in its way.
  const rotated = await new Operator(folder.path, {
    ENCRYPTION_KEY: 'm'.repeat(40),
    ENCRYPTION_KEY_PREVIOUS: 'n'.repeat(40),
  }).json<{ unreadable: Record<string, number> }>('keys', 'rotate-encryption');
  assert.equal(rotated.unreadable['values of variables'], 1);
  await using again = await Installation.start(folder.path, { ENCRYPTION_KEY: 'm'.repeat(40) });
  assert.deepEqual(await read(again, ids), shown);
});

test('a database that lost the facts of its installation keeps its credentials and tokens', async () => {
  using folder = temporaryFolder();
  await using system = await Installation.start(folder.path);
  const { ids } = await makeEverything(system);
  const hash = 'c0ffee00'.repeat(8);
  await system.api('PUT', `/v1/checks/heartbeat/${ids['heartbeat']}`, {
    heartbeat: { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours', pingToken: hash },
  });
  const shown = await read(system, ids);
  await system.stop();
  const ping = async (): Promise<number> =>
    (await fetch(`${system.running.url}/ping/${hash}`, { method: 'POST' })).status;
  // As "salvage" leaves it when the page of that table cannot be read.
  const forget = (): void => {
    const db = new DatabaseSync(system.databaseFile);
    db.exec('delete from installation');
    db.close();
  };
  forget();
  await system.restart();
  assert.deepEqual(await read(system, ids), shown);
  assert.equal(await ping(), 200);
});
