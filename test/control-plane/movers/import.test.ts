// PostgreSQL in the long tier: projects.test.ts, resources.test.ts and status-pages/pages.test.ts run on both what it
// asks of the control plane; the database that it imports is a file of SQLite.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import { readSources } from '../../../control-plane/app/commands/import-files.ts';
import type { Plan } from '../../../control-plane/movers/index.ts';
import { Operator } from '../../support/control-plane-command.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { fillKumaDatabase, kumaVersions, makeKumaDatabase } from '../../support/kuma-database.ts';
import { fixture, planOf } from '../../support/movers.ts';
import { temporaryFolder } from '../../support/system.ts';

interface Imported {
  counts: Record<string, number>;
  missing: string[];
  changes: {
    created: number;
    updated: number;
    deleted: number;
    resources: { logicalId: string; physicalId: string | number; type: string; action: string }[];
  } | null;
}

/** Where resources are read, by their type. */
const paths: Readonly<Record<string, string>> = {
  check: '/v1/checks/',
  'check-group': '/v1/check-groups/',
  'alert-channel': '/v1/alert-channels/',
  'maintenance-window': '/v1/maintenance-windows/',
  'status-page': '/v1/status-pages/',
  'status-page-service': '/v1/status-pages/services/',
};

/** Fields that answers show in another form. */
const shownOtherwise = new Set(['v', 'startsAt', 'endsAt', 'repeatEndsAt', 'cards', 'pingToken']);

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What was asked for is what there is; references are the ids of what they refer to. */
function assertHas(
  actual: unknown,
  wanted: unknown,
  ids: ReadonlyMap<string, unknown>,
  place: string,
): void {
  if (Array.isArray(wanted)) {
    assert.ok(
      Array.isArray(actual) && actual.length === wanted.length,
      `${place}: ${JSON.stringify(actual)}`,
    );
    for (const [index, one] of wanted.entries()) {
      assertHas(actual[index], one, ids, `${place}[${index}]`);
    }
  } else if (isFields(wanted)) {
    if (typeof wanted['ref'] === 'string') {
      assert.equal(actual, ids.get(wanted['ref']), place);
      return;
    }
    assert.ok(isFields(actual), `${place}: ${JSON.stringify(actual)}`);
    for (const [name, one] of Object.entries(wanted)) {
      if (!shownOtherwise.has(name)) assertHas(actual[name], one, ids, `${place}.${name}`);
    }
  } else assert.deepEqual(actual, wanted, place);
}

async function assertApplied(
  controlPlane: TestControlPlane,
  plan: Plan,
  imported: Imported,
): Promise<void> {
  const entries = imported.changes?.resources ?? [];
  const ids = new Map<string, unknown>(entries.map((one) => [one.logicalId, one.physicalId]));
  assert.equal(entries.length, plan.resources.length + plan.variables.length);
  for (const { logicalId, type, payload } of plan.resources) {
    const path = paths[type];
    if (path === undefined) continue;
    const { status, body } = await controlPlane.api('GET', `${path}${String(ids.get(logicalId))}`);
    assert.equal(status, 200, `${type} ${logicalId}`);
    assertHas(body, payload, ids, logicalId);
  }
  const subscriptions = plan.resources.filter(({ type }) => type === 'alert-channel-subscription');
  for (const { payload } of subscriptions) {
    const channel = ids.get((payload['alertChannelId'] as { ref: string }).ref);
    const { body } = await controlPlane.api('GET', `/v1/alert-channels/${String(channel)}`);
    const check = ids.get((payload['checkId'] as { ref: string }).ref);
    const found = (body as { subscriptions: { checkId: unknown; activated: boolean }[] })
      .subscriptions;
    assert.ok(
      found.some((one) => one.checkId === check && one.activated === payload['activated']),
      `${String(check)} is not subscribed`,
    );
  }
}

async function isEmpty(controlPlane: TestControlPlane): Promise<void> {
  for (const path of ['/v1/checks', '/v1/check-groups', '/v1/alert-channels', '/v1/variables']) {
    const { body } = await controlPlane.api('GET', path);
    assert.deepEqual(body, [], path);
  }
}

async function start() {
  const folder = temporaryFolder();
  const controlPlane = await startTestControlPlane({ requestsPerMinute: 0 });
  const operator = new Operator(folder.path, { CONTROL_PLANE_API_KEY: controlPlane.apiKey });
  const where = ['--url', controlPlane.url, '--location', 'eu-central-1'];
  return { folder, controlPlane, operator, where };
}

for (const version of kumaVersions) {
  test(`a database of Uptime Kuma ${version} is imported, imported again, changed and destroyed`, async () => {
    const { folder, controlPlane, operator, where } = await start();
    using _folder = folder;
    await using _controlPlane = controlPlane;
    const path = join(folder.path, 'kuma.db');
    const db = makeKumaDatabase(path, version);
    fillKumaDatabase(db, version);
    db.close();

    const shown = await operator.json<Imported>('import', path, ...where);
    const { resources, variables: secrets } = planOf(await readSources(path));
    assert.equal(shown.changes?.created, resources.length + secrets.length);
    await isEmpty(controlPlane);

    const plan = planOf(await readSources(path));
    const first = await operator.json<Imported>('import', path, ...where, '--yes');
    await assertApplied(controlPlane, plan, first);
    const variables = await controlPlane.api('GET', '/v1/variables?limit=100');
    assert.deepEqual(
      (variables.body as { key: string; secret: boolean }[]).map(({ key, secret }) => [
        key,
        secret,
      ]),
      plan.variables.map(({ key }) => [key, true]).sort(),
    );

    const again = await operator.json<Imported>('import', path, ...where, '--yes');
    assert.deepEqual(again.changes?.resources, []);

    const changed = new DatabaseSync(path);
    changed.exec(
      `update monitor set name = 'Web shop' where id = 3; delete from monitor where id = 4`,
    );
    changed.close();
    const third = await operator.json<Imported>('import', path, ...where, '--yes');
    const named = third.changes?.resources.filter(({ type }) => type === 'check');
    assert.deepEqual(named?.map(({ logicalId, action }) => [logicalId, action]).sort(), [
      ['monitor-3', 'UPDATE'],
      ['monitor-4', 'DELETE'],
    ]);
    const left = await controlPlane.api('GET', '/v1/variables?limit=100');
    assert.doesNotMatch(JSON.stringify(left.body), /MONITOR_4_/);

    assert.match(
      (await operator.run('destroy', 'import-kuma', '--url', controlPlane.url)).out,
      /^would delete/,
    );
    await operator.run('destroy', 'import-kuma', '--url', controlPlane.url, '--yes');
    await isEmpty(controlPlane);
  });
}

for (const name of [
  'gatus/config.yaml',
  'gatus/kubernetes.yaml',
  'gatus-folder',
  'gatus/every-field.yaml',
  'blackbox',
  'blackbox-rules',
  'openstatus',
  'checks.csv',
]) {
  test(`the sample ${name} becomes what its plan says`, async () => {
    const { folder, controlPlane, operator, where } = await start();
    using _folder = folder;
    await using _controlPlane = controlPlane;
    const plan = planOf(await readSources(fixture(name)));
    assert.deepEqual(plan.missing, []);
    const first = await operator.json<Imported>('import', fixture(name), ...where, '--yes');
    await assertApplied(controlPlane, plan, first);
    const again = await operator.json<Imported>('import', fixture(name), ...where, '--yes');
    assert.deepEqual(again.changes?.resources, []);
  });
}

test('a check that was muted while both products ran alerts again after the next import, as docs/moving.md says', async () => {
  const { folder, controlPlane, operator, where } = await start();
  using _folder = folder;
  await using _controlPlane = controlPlane;
  const sample = fixture('checks.csv');
  const { changes } = await operator.json<Imported>('import', sample, ...where, '--yes');
  const check = changes?.resources.find(({ type }) => type === 'check');
  const path = `/v1/checks/${String(check?.physicalId)}`;
  assert.equal((await controlPlane.api('PUT', path, { muted: true })).status, 200);
  const again = await operator.json<Imported>('import', sample, ...where, '--yes');
  assert.deepEqual(
    again.changes?.resources.map(({ logicalId, action }) => [logicalId, action]),
    [[check?.logicalId, 'UPDATE']],
  );
  assert.equal((await controlPlane.api('GET', path)).body.muted, false);
});

test('a plan needs no control plane and no key, and says what is missing', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  const { code, out, error } = await operator.run('import', fixture('gatus/config.yaml'));
  assert.equal(code, 0, error);
  assert.match(out, /Gatus → project import-gatus: 2 groups, 8 checks\./);
  assert.match(out, /missing, and nothing is written without:\n {4}a location for the checks/);
  assert.match(error, /this is a plan: nothing was changed/);
});

test('a check of files writes nothing and ends with 1 where something is lost', async () => {
  const { folder, controlPlane, operator, where } = await start();
  using _folder = folder;
  await using _controlPlane = controlPlane;
  const path = join(folder.path, 'gatus.yaml');
  const tried = async (conditions: string, ...given: string[]) => {
    const url = 'url: https://a.example/';
    writeFileSync(path, `endpoints:\n  - { name: a, ${url}, conditions: [${conditions}] }\n`);
    return operator.run('import', path, '--check', ...given);
  };
  const whole = await tried("'[STATUS] == 200'", ...where);
  assert.deepEqual(
    [whole.code, whole.error.trim()],
    [0, 'nothing lost, switched off or missing; nothing was changed'],
  );
  assert.match(whole.out, /exact: 1 of 1 objects/);
  const page = await tried("'[STATUS] == 200'", ...where, '--html');
  assert.match(page.out, /^<!doctype html>[^]*<h1>Gatus → project import-gatus: 1 check\.<\/h1>/);
  assert.equal(page.error, whole.error);
  const changed = await tried("'[STATUS] != 500'", ...where);
  assert.equal(changed.code, 0, 'what differs and is said is no finding');
  const off = await tried("'[IP] == 192.0.2.1'", ...where, '--json');
  assert.equal(off.code, 1);
  assert.equal((JSON.parse(off.out) as { findings: number }).findings, 1);
  assert.equal((await tried("'[STATUS] == 200'")).code, 1, 'a location is missing');
  const both = await operator.refused(2, 'import', path, ...where, '--check', '--yes');
  assert.match(both, /--check/);
  await isEmpty(controlPlane);
});

test('nothing is written while something is missing, and without a key or a control plane', async () => {
  const { folder, controlPlane, operator, where } = await start();
  using _folder = folder;
  await using _controlPlane = controlPlane;
  const sample = fixture('gatus/config.yaml');
  const url = ['--url', controlPlane.url];
  assert.match(await operator.refused(2, 'import', sample, ...url, '--yes'), /it needs a location/);
  // A file that was written to be imported must not get the key of the account.
  const greedy = join(folder.path, 'greedy.yaml');
  // Nor what else this installation keeps to itself.
  for (const name of ['CONTROL_PLANE_API_KEY', 'SLACK_APP_TOKEN', 'METRICS_TOKEN']) {
    writeFileSync(
      greedy,
      `endpoints:\n  - name: a\n    url: https://a.example/$${name}\n    conditions: ["[STATUS] == 200"]\n`,
    );
    const own = new Operator(folder.path, {
      ...{ CONTROL_PLANE_API_KEY: controlPlane.apiKey, PUBLIC_URL: controlPlane.url },
      ...{ SLACK_APP_TOKEN: 'xapp-of-the-installation', METRICS_TOKEN: 'of-the-installation' },
    });
    assert.match(
      await own.refused(2, 'import', greedy, ...where, '--yes'),
      new RegExp(`it needs the environment variable ${name}`),
    );
  }
  const keyless = new Operator(folder.path);
  assert.match(
    await keyless.refused(2, 'import', sample, ...where, '--yes'),
    /set CONTROL_PLANE_API_KEY to a key of the account/,
  );
  const nobody = ['--url', 'http://127.0.0.1:1', '--location', 'eu-central-1'];
  assert.match(
    await operator.refused(1, 'import', sample, ...nobody, '--yes'),
    /could not reach the control plane at http:\/\/127\.0\.0\.1:1: .*start `serve`/,
  );
  const plan = await operator.run('import', sample, ...nobody);
  assert.equal(plan.code, 0, 'a plan needs none');
  assert.match(plan.out, /project import-gatus/);
  assert.doesNotMatch(plan.out, /with --yes/);
  assert.match(
    plan.error,
    /what would change is not known: could not reach .*\n.*nothing was changed/,
  );
  const refused = await new Operator(folder.path, { CONTROL_PLANE_API_KEY: 'cu_0' }).run(
    ...(['import', sample, ...where] as const),
  );
  assert.equal(refused.code, 1, 'an answer is one, also in a plan');
  await isEmpty(controlPlane);
});

test('a project that the control plane refuses leaves no variable behind', async () => {
  const { folder, controlPlane, operator, where } = await start();
  using _folder = folder;
  await using _controlPlane = controlPlane;
  const path = join(folder.path, 'checks.csv');
  writeFileSync(path, 'name,target,username,password\nShop,https://shop.example/,probe,canary\n');
  const nowhere = ['--url', controlPlane.url, '--location', 'no-such-office'];
  const error = await operator.refused(1, 'import', path, ...nowhere, '--yes');
  assert.match(
    error,
    /could not import .*checks\.csv as project import-csv: check "row-Shop": .*no-such-office/,
  );
  assert.doesNotMatch(error, /canary/);
  await isEmpty(controlPlane);
  const { out } = await operator.run('import', path, ...where, '--yes');
  assert.match(
    out,
    /imported: 2 created, 0 updated, 0 deleted\. Undo it with `control-plane destroy import-csv`/,
  );
  assert.doesNotMatch(out, /canary/);
});

test('files that cannot be used are refused in one sentence that names the place', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path);
  const refused = async (name: string, text: string) => {
    const path = join(folder.path, name);
    writeFileSync(path, text);
    const error = await operator.refused(1, 'import', path);
    assert.equal(error.trim().split('\n').length, 1, error);
    return error;
  };
  assert.match(
    await refused('broken.yaml', 'endpoints:\n  - name: a\n   url: b\n'),
    /broken\.yaml is not valid YAML: .* at line 3, column \d+; nothing was changed/,
  );
  assert.match(await refused('notes.yaml', 'title: Notes\n'), /the format is not known/);
  assert.match(await refused('bad.csv', 'name,target\n"a,b\n'), /bad\.csv is not valid CSV/);
  assert.match(await refused('other.csv', 'name,url\na,b\n'), /has no column `target`/);
  assert.match(await refused('tests.yaml', 'endpoints: 5\n'), /`endpoints` is not a list of maps/);
  assert.match(
    await operator.refused(1, 'import', join(folder.path, 'nowhere')),
    /could not read .*nowhere: .*correct the path/,
  );
});
