import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import test from 'node:test';
import { readSources, walNote } from '../../../control-plane/app/commands/import-files.ts';
import {
  fillKumaDatabase,
  insertRow,
  kumaVersions,
  makeKumaDatabase,
  type KumaVersion,
} from '../../support/kuma-database.ts';
import { payloadOf, planOf, textOf } from '../../support/movers.ts';
import { temporaryFolder } from '../../support/system.ts';

async function readDatabase(
  version: KumaVersion,
  change: (db: DatabaseSync) => void = () => undefined,
) {
  using folder = temporaryFolder();
  const path = join(folder.path, 'kuma.db');
  const db = makeKumaDatabase(path, version);
  fillKumaDatabase(db, version);
  change(db);
  db.close();
  return readSources(path);
}

async function planOfDatabase(...given: Parameters<typeof readDatabase>) {
  return planOf(await readDatabase(...given));
}

/** What the source notes for itself, and nobody configured. */
const bookkeeping = new Set([
  ...['id', 'user_id', 'created_date', 'modified_date', 'last_updated_date', 'dns_last_result'],
  ...['password', 'last_start_date'],
]);

/** Fields that have no effect beside what the same row says, with the reason. */
function hasNoEffect(table: string, column: string, row: Record<string, unknown>): boolean {
  const is = (name: string, value: unknown) => row[name] === value;
  const rules: Record<string, boolean> = {
    // Without retries there is nothing to wait for; groups and heartbeats have no tries.
    'monitor.retry_interval': is('maxretries', 0) || is('type', 'group'),
    'monitor.interval': is('type', 'group'),
    'monitor.http_body_encoding': row['body'] === null,
    // Certificates are watched for https only.
    'monitor.expiry_notification': !String(row['url']).startsWith('https'),
    'monitor.dns_resolve_server': row['type'] !== 'dns',
    'maintenance.duration': !is('strategy', 'cron'),
    'maintenance.cron': !is('strategy', 'cron'),
    'maintenance.weekdays': !is('strategy', 'recurring-weekday'),
    'maintenance.days_of_month': !is('strategy', 'recurring-day-of-month'),
    'maintenance.interval_day': !is('strategy', 'recurring-interval'),
    'maintenance.start_time': is('strategy', 'single') || is('strategy', 'cron'),
    'maintenance.end_time': is('strategy', 'single') || is('strategy', 'cron'),
    // Only links to what exists say something.
    'monitor.parent': row['parent'] === null,
    'group.public': true,
    'group.active': true,
    'incident.pin': true,
    'proxy.protocol': true,
  };
  return rules[`${table}.${column}`] === true;
}

function otherValue(column: string, value: unknown): string | number | null {
  if (column === 'ip_family') return value === 'ipv6' ? null : 'ipv6';
  if (column.endsWith('_date')) return '2031-02-03 04:05:06';
  if (column.endsWith('_time')) return '02:30';
  if (column === 'port' && value === null) return 5353;
  if (column.endsWith('_count')) return Number(value) + 2;
  if (value === 0 || value === 1) return 1 - value;
  if (typeof value === 'number') return value + 7;
  if (value === null) return column === 'parent' ? 1 : 'given';
  return `${String(value)}x`;
}

/** Objects of which nothing was created are in the report as a whole. */
const walked = ['monitor', 'notification', 'maintenance', 'status_page', 'monitor_group', 'tag'];

for (const version of kumaVersions) {
  test(`no field of a database of Uptime Kuma ${version} is lost in silence`, async () => {
    const [file] = await readDatabase(version);
    assert.ok(file?.tables);
    const { tables } = file;
    const before = planOf([file]);
    const said = textOf(before);
    const madeBy = ({ resources, variables }: typeof before) =>
      JSON.stringify([resources, variables]);
    const made = madeBy(before);
    let tried = 0;
    const lost: string[] = [];
    for (const table of walked) {
      for (const [index, row] of (tables[table] ?? []).entries()) {
        const kind = table === 'status_page' ? 'status page' : table;
        const own = before.lines.filter(({ object }) => object === `${kind} ${String(row['id'])}`);
        if (own.some(({ text }) => text.includes('Nothing was created'))) continue;
        for (const [column, value] of Object.entries(row)) {
          if (bookkeeping.has(column) || hasNoEffect(table, column, row)) continue;
          if (column.endsWith('_id') && column !== 'proxy_id') continue;
          // It is switched off in any case.
          if (column === 'active' && own.some((line) => line.class === 'DEACTIVATED')) continue;
          tried += 1;
          if (said.includes(`\`${column}\``)) continue;
          const changed = (tables[table] ?? []).with(index, {
            ...row,
            [column]: otherValue(column, value),
          });
          const after = planOf([{ ...file, tables: { ...tables, [table]: changed } }]);
          if (textOf(after) === said && madeBy(after) === made) {
            const type = String(row['type'] ?? row['strategy'] ?? '');
            lost.push(`${table} ${String(row['id'])} ${type}: ${column}`);
          }
        }
      }
    }
    assert.deepEqual(lost, []);
    assert.ok(tried > 500, `only ${tried} fields were tried`);
  });

  test(`a plan for Uptime Kuma ${version} shows no credential`, async () => {
    const plan = await planOfDatabase(version);
    assert.doesNotMatch(textOf(plan), /canary/);
    assert.match(textOf(plan), /credentials are stored as secret variables/);
    const stored = JSON.stringify(plan.resources.filter(({ type }) => type === 'check'));
    assert.doesNotMatch(stored, /canary/);
    assert.deepEqual(plan.missing, []);
  });
}

test('checks of Uptime Kuma keep target, interval, codes, keyword, retries, group and tags', async () => {
  const plan = await planOfDatabase('1.23.17');
  const shop = payloadOf(plan, 'monitor-3');
  assert.equal(shop['checkType'], 'URL');
  assert.deepEqual([shop['frequency'], shop['frequencyOffset']], [0, 30]);
  assert.deepEqual(shop['groupId'], { ref: 'group-2' });
  assert.deepEqual(shop['tags'], [
    ...['team:shop', 'public'],
    ...['import-kuma-maintenance-1', 'import-kuma-maintenance-2'],
  ]);
  assert.equal(payloadOf(plan, 'group-2')['name'], 'Production / Shops');
  const login = payloadOf(plan, 'monitor-4');
  assert.deepEqual((login['retryStrategy'] as Record<string, unknown>)['maxRetries'], 2);
  assert.deepEqual((login['request'] as Record<string, unknown>)['basicAuth'], {
    username: 'probe',
    password: '{{IMPORT_KUMA__MONITOR_4_PASSWORD}}',
  });
  const partner = payloadOf(plan, 'monitor-13');
  assert.equal(partner['activated'], false);
  assert.match(textOf(plan), /«Partner»: accepted 200-299 and 401\..* such as 399 now pass\./);
  assert.match(textOf(plan), /«Orders»: type `mysql` has no counterpart.* TCP on db\.example:3306/);
});

test('a certificate warning belongs to the checks that had one', async () => {
  const plan = await planOfDatabase('2.5.3', (db) => {
    db.exec('update monitor set expiry_notification = 0 where id = 3');
  });
  assert.equal(payloadOf(plan, 'notification-1-a-shop.example')['sslExpiry'], undefined);
  const warning = payloadOf(plan, 'notification-1-a-shop.example-certificates');
  assert.equal(warning['sslExpiry'], true);
  assert.equal(warning['sslExpiryThreshold'], 21);
  assert.equal(warning['autoSubscribe'], true);
  assert.equal(payloadOf(plan, 'notification-1-a-shop.example')['autoSubscribe'], false);
});

test('a JSON backup of Uptime Kuma 1 becomes what its database becomes', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'Uptime_Kuma_Backup.json');
  const backup = {
    version: '1.23.17',
    notificationList: [
      {
        ...{ id: 2, name: 'Slack', active: true, userId: 1, isDefault: false },
        config: JSON.stringify({
          ...{ type: 'slack', name: 'Slack', slackwebhookURL: 'https://hooks.example/canary' },
        }),
      },
    ],
    monitorList: [
      { ...{ id: 1, name: 'Group', type: 'group', active: false, interval: 60 }, tags: [] },
      {
        ...{ id: 7, name: 'Shop', type: 'keyword', url: 'https://shop.example/', parent: 1 },
        ...{ active: false, forceInactive: true, interval: 60, maxretries: 1, retryInterval: 20 },
        ...{
          keyword: 'welcome',
          accepted_statuscodes: ['200-299'],
          notificationIDList: { 2: true },
        },
        tags: [{ id: 3, tag_id: 5, monitor_id: 7, name: 'team', value: 'shop', color: '#fff' }],
        ...{ basic_auth_user: 'probe', basic_auth_pass: 'canary', maxredirects: 10, method: 'GET' },
      },
    ],
  };
  writeFileSync(path, JSON.stringify(backup));
  const plan = planOf(await readSources(path));
  const shop = payloadOf(plan, 'monitor-7');
  assert.equal(shop['activated'], true, 'its group switched it off, not the monitor');
  assert.equal(payloadOf(plan, 'group-1')['activated'], false);
  assert.deepEqual(shop['tags'], ['team:shop']);
  assert.deepEqual(payloadOf(plan, 'monitor-7-to-notification-2'), {
    alertChannelId: { ref: 'notification-2' },
    checkId: { ref: 'monitor-7' },
    activated: true,
  });
  assert.doesNotMatch(textOf(plan), /canary/);
});

/** The plan of a backup with one monitor. */
const planOfMonitor = (monitor: object, more: object = {}) =>
  planOf([
    {
      ...{ path: 'backup.json', tables: null },
      text: JSON.stringify({
        version: '1.23.17',
        monitorList: [{ id: 1, name: 'tried', active: true, interval: 60, ...monitor }],
        ...more,
      }),
    },
  ]);

test('a backup without notifications, or with them alone, is one', () => {
  const ping = { type: 'ping', hostname: 'a.example' };
  assert.equal(payloadOf(planOfMonitor(ping), 'monitor-1')['checkType'], 'ICMP');
  const notificationList = [
    {
      id: 2,
      name: 'Slack',
      config: '{"type":"slack","slackwebhookURL":"https://hooks.example/x"}',
    },
  ];
  const alone = { path: 'b.json', text: JSON.stringify({ notificationList }), tables: null };
  assert.equal(payloadOf(planOf([alone]), 'notification-2')['type'], 'SLACK');
  assert.match(
    textOf(planOf([alone, { path: 'notes.yaml', text: 'a: 1', tables: null }])),
    /notes\.yaml is not read/,
  );
});

test('limits of JSON queries hold for decimals too', () => {
  for (const [operator, target, comparison, limit] of [
    ['>=', '5', 'GREATER_THAN', '4.999999999999999'],
    ['>=', '1.5', 'GREATER_THAN', '1.4999999999999998'],
    ['<=', '5', 'LESS_THAN', '5.000000000000001'],
    ['<=', '-1', 'LESS_THAN', '-0.9999999999999999'],
    ['>=', '0', 'GREATER_THAN', '-5e-324'],
    ['>', '5', 'GREATER_THAN', '5'],
  ] as const) {
    const query = { json_path: 'a', json_path_operator: operator, expected_value: target };
    const plan = planOfMonitor({ type: 'json-query', url: 'https://a.example/', ...query });
    const { assertions } = payloadOf(plan, 'monitor-1')['request'] as { assertions: object[] };
    const made = assertions.find((one) => 'property' in one) as Record<string, string>;
    assert.deepEqual(
      [made['comparison'], made['target']],
      [comparison, limit],
      `${operator} ${target}`,
    );
    assert.doesNotMatch(textOf(plan), /switched off/);
  }
  const query = { json_path: 'a', json_path_operator: '>=', expected_value: 'x' };
  const plan = planOfMonitor({ type: 'json-query', url: 'https://a.example/', ...query });
  assert.equal(payloadOf(plan, 'monitor-1')['activated'], false);
});

test('a gRPC monitor calls its method, and looks for its keyword', () => {
  const proto = (name: string) =>
    `syntax = "proto3";\n${name}\nservice Health { rpc Check (Ask) returns (Answer); }\nmessage Ask { string service = 1; }\nmessage Answer { int32 status = 1; }\n`;
  const tried = (changes: object) => {
    const plan = planOfMonitor({
      ...{ type: 'grpc-keyword', grpcUrl: 'a.example:50051', grpcEnableTls: true },
      ...{ grpcServiceName: 'Health', grpcMethod: 'Check', grpcBody: '{"service":"x"}' },
      ...{ grpcProtobuf: proto('package grpc.health.v1;'), keyword: 'SERVING', ...changes },
    });
    return { plan, payload: plan.resources[0]?.payload };
  };
  for (const [changes, method, comparison] of [
    [{}, 'grpc.health.v1.Health/Check', 'CONTAINS'],
    [{ grpcServiceName: 'grpc.health.v1.Health' }, 'grpc.health.v1.Health/Check', 'CONTAINS'],
    [{ grpcProtobuf: proto(''), invertKeyword: true }, 'Health/Check', 'NOT_CONTAINS'],
  ] as const) {
    const { payload } = tried(changes);
    const { grpcConfig, assertions, port } = payload?.['request'] as {
      grpcConfig: Record<string, unknown>;
      assertions: { comparison: string }[];
      port: number;
    };
    assert.deepEqual(
      [payload?.['checkType'], payload?.['activated'], port],
      ['GRPC', true, 50_051],
    );
    assert.deepEqual([grpcConfig['method'], grpcConfig['tls']], [method, true]);
    assert.equal(assertions[0]?.comparison, comparison);
  }
  const { plan } = tried({ grpcUrl: 'nowhere' });
  assert.equal(plan.resources.length, 0);
  assert.match(textOf(plan), /`nowhere` is not a host with a port\. Nothing was created/);
});

test('addresses that are written alike keep a channel each', () => {
  const config = JSON.stringify({ type: 'smtp', smtpTo: 'a+b@x.example, a-b@x.example' });
  const plan = planOfMonitor(
    { type: 'ping', hostname: 'a.example', notificationIDList: { 2: true } },
    { notificationList: [{ id: 2, name: 'Mail', config }] },
  );
  const to = plan.resources.flatMap(({ type, payload }) =>
    type === 'alert-channel' ? [(payload['config'] as { address: string }).address] : [],
  );
  assert.deepEqual(to, ['a+b@x.example', 'a-b@x.example']);
});

test('what is no whole database or backup is refused in one sentence that names the place', async () => {
  using folder = temporaryFolder();
  const cut = join(folder.path, 'backup.json');
  writeFileSync(cut, '{"version":"1.23.0","notificationList":[],"monitorList":[{"id":1,');
  assert.throws(() => planOf([{ path: 'backup.json', text: '{"monitorList": [', tables: null }]), {
    message: /^backup\.json is cut off or damaged/,
  });
  const files = await readSources(cut);
  assert.throws(() => planOf(files), { message: /^backup\.json is cut off or damaged/ });

  const half = join(folder.path, 'half.db');
  const db = makeKumaDatabase(join(folder.path, 'whole.db'), '2.5.3');
  fillKumaDatabase(db, '2.5.3');
  insertRow(db, 'setting', { key: 'filler', value: 'x'.repeat(100_000) });
  db.close();
  const whole = readFileSync(join(folder.path, 'whole.db'));
  writeFileSync(half, whole.subarray(0, Math.floor(whole.length / 2)));
  await assert.rejects(readSources(half), {
    message: /^could not read the database .*half\.db: .*copy it again/,
  });

  const other = new DatabaseSync(join(folder.path, 'other.db'));
  other.exec('create table songs (id integer)');
  other.close();
  const songs = await readSources(join(folder.path, 'other.db'));
  assert.throws(() => planOf(songs), { message: /^the format is not known/ });
});

test('the newest changes are read from the log beside a database, and nothing is left there', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'kuma.db');
  const db = makeKumaDatabase(path, '1.23.17');
  db.exec('pragma journal_mode = wal');
  insertRow(db, 'monitor', { id: 1, name: 'Newest', type: 'ping', hostname: 'a.example' });
  const copy = join(folder.path, 'copy', 'kuma.db');
  mkdirSync(join(folder.path, 'copy'));
  copyFileSync(path, copy);
  copyFileSync(`${path}-wal`, `${copy}-wal`);
  db.close();
  assert.equal(walNote(copy), null);
  assert.equal(payloadOf(planOf(await readSources(copy)), 'monitor-1')['name'], 'Newest');
  assert.deepEqual(readdirSync(join(folder.path, 'copy')), ['kuma.db', 'kuma.db-wal']);
  rmSync(`${copy}-wal`);
  assert.match(walNote(copy) ?? '', /has no kuma\.db-wal beside it/);
  assert.match(walNote(copy) ?? '', /its newest changes are missing/);
  await readSources(copy);
  assert.deepEqual(readdirSync(join(folder.path, 'copy')), ['kuma.db']);
});

test('columns that an old version does not have are their defaults', () => {
  const tables = {
    setting: [{ key: 'database_version', value: '1' }],
    monitor: [
      { id: 1, name: 'Old', type: 'http', url: 'http://[2001:db8::1]/', interval: 60, active: 1 },
    ],
  };
  const plan = planOf([{ path: 'kuma.db', text: '', tables }]);
  const { request, ...check } = payloadOf(plan, 'monitor-1');
  assert.equal(check['checkType'], 'URL');
  assert.equal(check['maxResponseTime'], 30_000);
  assert.equal((request as Record<string, unknown>)['ipFamily'], 'IPv6');
  assert.equal((request as Record<string, unknown>)['followRedirects'], true);
});

test('a dump of MariaDB is refused by name', () => {
  const text = '-- dump\nCREATE TABLE `monitor` (\n  `id` int\n);\n';
  assert.throws(() => planOf([{ path: 'kuma.sql', text, tables: null }]), {
    message: /^kuma\.sql is a dump of MariaDB, which is not read/,
  });
});

test('a text with the beginning of a template switches the check off', async () => {
  const plan = await planOfDatabase('1.23.17', (db) => {
    db.exec(`update monitor set body = '{"a":"{{b}}"}' where id = 4`);
  });
  assert.equal(payloadOf(plan, 'monitor-4')['activated'], false);
  assert.match(textOf(plan), /«Login»: the body contains \{\{, which begins a template here\./);
});
