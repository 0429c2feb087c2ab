// PostgreSQL in the long tier: projects.test.ts, result-fields.test.ts, status-pages/pages.test.ts, variables.test.ts
// and read-only-keys.test.ts run its statements on both.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Operator } from '../../support/control-plane-command.ts';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import {
  recordAccount,
  recordedKey,
  serveAccount,
  type RecordedAccount,
} from '../../support/recorded-account.ts';
import { deployed, everything } from '../../support/projects.ts';
import { httpReceiver } from '../../support/http-receiver.ts';
import { certificatePair } from '../../support/world.ts';
import { temporaryFolder } from '../../support/system.ts';
import { testSeed } from '../../support/random.ts';

type Fields = Record<string, unknown>;

interface Moved {
  report: { class: string; object: string | null; name: string | null; text: string }[];
  missing: string[];
  changes: {
    created: number;
    updated: number;
    deleted: number;
    resources: { logicalId: string; physicalId: string | number; type: string }[];
  };
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const says = (value: unknown): boolean =>
  !(value === null || value === undefined || value === '' || value === false || value === 0) &&
  (typeof value !== 'object' || Object.keys(value).length > 0);

/** Every value of an answer that says something, by its path. */
function* leavesOf(value: unknown, path: readonly string[] = []): Generator<[string[], unknown]> {
  if (!says(value)) return;
  if (typeof value !== 'object' || value === null) yield [[...path], value];
  else {
    for (const [name, inner] of Object.entries(value)) yield* leavesOf(inner, [...path, name]);
  }
}

const at = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((found, step) => (found as Fields | null | undefined)?.[step], value);

const isSame = (one: unknown, other: unknown): boolean =>
  one === other ||
  (typeof one === 'string' &&
    typeof other === 'string' &&
    /^\d{4}-\d\d-\d\dT/.test(one) &&
    Date.parse(one) === Date.parse(other));

const paths: Readonly<Record<string, string>> = {
  ...{ check: '/v1/checks/', 'check-group': '/v1/check-groups/', snippet: '/v1/snippets/' },
  ...{ 'alert-channel': '/v1/alert-channels/', variable: '/v1/variables/' },
  ...{ 'private-location': '/v1/private-locations/', 'status-page': '/v1/status-pages/' },
  ...{ 'status-page-service': '/v1/status-pages/services/' },
  'maintenance-window': '/v1/maintenance-windows/',
};

/** What is neither here as it was there nor named. */
async function lossesOf(cp: TestControlPlane, recorded: RecordedAccount, moved: Moved) {
  const ids = new Map(
    moved.changes.resources.map(({ type, logicalId, physicalId }) => [
      type === 'variable' ? `variable-${logicalId}` : logicalId,
      physicalId,
    ]),
  );
  const refers = (found: unknown, value: unknown) =>
    [...ids].some(([logicalId, id]) => id === found && logicalId.endsWith(`-${String(value)}`));
  const dashboards = (await cp.api('GET', '/v1/dashboards?limit=100')).body as Fields[];
  const losses: string[] = [];
  for (const [type, list] of Object.entries(recorded.lists)) {
    for (const given of list) {
      const id = String(given['key'] ?? given['id']);
      const lines = moved.report.filter(
        ({ object }) => object === null || object === `${type} ${id}`,
      );
      const own = lines.filter(({ object }) => object !== null);
      if (own.some(({ text }) => text.includes('Nothing was created'))) continue;
      const here = ids.get(`${type}-${id}`);
      const path = paths[type];
      const key = type === 'variable' ? id : String(here);
      const stored =
        type === 'dashboard'
          ? dashboards.find((each) => each['id'] === here)
          : path === undefined
            ? undefined
            : (await cp.api('GET', path + key)).body;
      if (type === 'incident') continue;
      assert.ok(here !== undefined && isFields(stored), `${type} ${id} is not here`);
      for (const [steps, value] of leavesOf(given)) {
        const names = steps.filter((step) => !/^\d+$/.test(step));
        const found = at(stored, steps);
        // What is left out of a list moves the others.
        const list = /^\d+$/.test(steps.at(-1) ?? '') ? at(stored, steps.slice(0, -1)) : [found];
        const some = Array.isArray(list) ? (list as unknown[]) : [found];
        if (some.some((each) => isSame(each, value) || refers(each, value))) continue;
        const isNamed = lines.some(
          ({ text }) =>
            names.some((_, end) => text.includes(`\`${names.slice(0, end + 1).join('.')}`)) ||
            text.includes(`\`${steps.join('.')}\``) ||
            text.includes(`\`${names.at(-1)}\``),
        );
        if (!isNamed)
          losses.push(`${type} ${id}: ${steps.join('.')} = ${String(value)} → ${String(found)}`);
      }
    }
  }
  return losses;
}

/** The command, on a control plane and with a key for the other side. */
async function mover(sourceUrl: string, key: string) {
  await using stack = new AsyncDisposableStack();
  const cp = stack.use(await startTestControlPlane({ requestsPerMinute: 0 }));
  const folder = stack.use(temporaryFolder());
  const keyFile = join(folder.path, 'key');
  writeFileSync(keyFile, `${key}\n`, { mode: 0o600 });
  const operator = new Operator(folder.path, { CONTROL_PLANE_API_KEY: cp.apiKey });
  const command = [
    ...['import', 'checkly', '--api-key-file', keyFile],
    ...['--base-url', sourceUrl, '--url', cp.url],
  ];
  const owned = stack.move();
  return {
    ...{ cp, folder },
    run: (...more: string[]) => operator.run(...command, ...more),
    spawn: (...more: string[]) => operator.spawn(...command, ...more),
    json: (...more: string[]) => operator.json<Moved>(...command, ...more),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const entriesOf = async (cp: TestControlPlane, path: string): Promise<Fields[]> =>
  (await cp.api('GET', path)).body.entries;

test('an account of 300 resources moves without a silent loss, and a second plan is empty', async (t) => {
  const seed = testSeed();
  t.diagnostic(`TEST_SEED=${seed}`);
  const recorded = recordAccount(seed);
  const total = Object.values(recorded.lists).flat().length;
  assert.ok(total >= 300, `${total} resources`);
  await using source = await serveAccount(recorded);
  await using to = await mover(source.url, recordedKey);
  const { cp } = to;
  const plan = await to.spawn();
  assert.equal(plan.code, 0, plan.error);
  assert.equal((plan.out + plan.error).includes(recordedKey), false);
  assert.match(plan.error, /nothing was changed; --yes applies it/);
  assert.deepEqual((await cp.api('GET', '/v1/checks')).body, []);
  const moved = await to.json('--yes');
  assert.deepEqual(moved.missing, []);
  assert.deepEqual(await lossesOf(cp, recorded, moved), []);
  assert.deepEqual((await to.json()).changes.resources, []);
  // Incidents and subscribers as well.
  const { error } = await to.run('--yes');
  assert.match(error, /\n0 incidents and 0 subscribers of status pages were added/);
  const incidents = await entriesOf(cp, '/v1/status-pages/incidents?limit=100');
  assert.equal(incidents.length, recorded.lists.incident.length);
  for (const { name, incidentUpdates } of incidents) {
    const there = recorded.lists.incident.find((each) => each['name'] === name);
    const shown = (updates: unknown) =>
      (updates as Fields[]).map(({ description, status, publicIncidentUpdateDate: date }) => [
        ...[description, status, date],
      ]);
    assert.deepEqual(shown(incidentUpdates), shown(there?.['incidentUpdates']));
  }
  assert.ok(source.received.every(({ method }) => method === 'GET'));
});

async function addService(cp: TestControlPlane): Promise<{ id: string }> {
  return (await cp.api('POST', '/v1/status-pages/services', { name: 'Search' })).body;
}

async function addIncident(cp: TestControlPlane, name: string, { id }: { id: string }) {
  const incidentUpdates = [{ description: 'We are looking into it.', status: 'INVESTIGATING' }];
  const incident = { name, severity: 'MINOR', services: [{ id }], incidentUpdates };
  assert.equal((await cp.api('POST', '/v1/status-pages/incidents', incident)).status, 201);
}

test('one installation moves to another, and what people set there stays', async () => {
  await using from = await startTestControlPlane({ requestsPerMinute: 0 });
  await deployed(from, everything());
  await addIncident(from, 'Old outage', await addService(from));
  const certificate = { ...(await certificatePair()), host: 'inner.a.example' };
  await from.api('POST', '/v1/client-certificates', certificate);
  const secret = { key: 'API_TOKEN', value: 'hidden', secret: true };
  await from.api('POST', '/v1/variables', secret);
  await using to = await mover(from.url, from.apiKey);
  const { report, changes } = await to.json('--yes');
  const types = Map.groupBy(changes.resources, ({ type }) => type);
  assert.equal(types.get('check')?.length, Object.keys(checkTypes).length + 1);
  const named = report.map(({ object, text }) => `${object?.split(' ')[0]}: ${text}`).join('\n');
  assert.match(named, /variable: the secret variable cannot be read there/);
  assert.match(named, /client-certificate: its private key cannot be read there/);
  assert.match(named, /check: its code bundle cannot be read there/);
  assert.match(named, /check: its ping address changes/);
  assert.equal((await entriesOf(to.cp, '/v1/status-pages/incidents')).length, 1);
  // What a person sets is not overwritten, and a value that is given is stored.
  const variable = { secret: true, value: 'known here' };
  await to.cp.api('PUT', '/v1/variables/API_TOKEN', variable);
  assert.deepEqual((await to.json('--yes')).changes.resources, []);
  const env = join(to.folder.path, 'env');
  writeFileSync(env, 'API_TOKEN=known here\n');
  assert.deepEqual((await to.json('--env-file', env)).changes.resources, []);
  writeFileSync(env, 'API_TOKEN=another\n');
  assert.equal((await to.json('--env-file', env)).changes.updated, 1);
});

test('incidents with equal texts are two, and what is said later there is said here, once', async () => {
  await using from = await startTestControlPlane({ requestsPerMinute: 0 });
  const service = await addService(from);
  const path = '/v1/status-pages/incidents';
  const open = async (day: string): Promise<string> => {
    const publicIncidentUpdateDate = `2026-06-0${day}T10:00:00.000Z`;
    const body = {
      ...{ name: 'Slow', severity: 'MINOR', services: [{ id: service.id }] },
      incidentUpdates: [{ description: 'We look into it.', publicIncidentUpdateDate }],
    };
    return (await from.api('POST', path, body)).body.id;
  };
  const ids = [await open('1'), await open('2')];
  await using to = await mover(from.url, from.apiKey);
  await to.json('--yes');
  const statuses = async () =>
    (await entriesOf(to.cp, path)).map(({ lastUpdateStatus, incidentUpdates }) => [
      ...[lastUpdateStatus, (incidentUpdates as Fields[]).length],
    ]);
  assert.deepEqual(await statuses(), [
    ['INVESTIGATING', 1],
    ['INVESTIGATING', 1],
  ]);
  // A person here says something of both, later than the other side says that one is over.
  for (const { id } of await entriesOf(to.cp, path)) {
    await to.cp.api('POST', `${path}/${String(id)}/incident-updates`, {
      ...{ description: 'It was the cache.', status: 'IDENTIFIED' },
    });
  }
  await from.api('POST', `${path}/${ids[0]}/incident-updates`, {
    ...{ description: 'It is over.', status: 'RESOLVED' },
    publicIncidentUpdateDate: '2026-06-01T11:00:00.000Z',
  });
  for (let imports = 0; imports < 2; imports += 1) {
    await to.json('--yes');
    assert.deepEqual((await statuses()).toSorted(), [
      ['IDENTIFIED', 2],
      ['IDENTIFIED', 3],
    ]);
  }
  await from.api('POST', `${path}/${ids[1]}/incident-updates`, {
    ...{ description: 'This one, too.', status: 'RESOLVED' },
  });
  assert.match(
    (await to.run('--yes')).error,
    /0 subscribers of status pages were added; updates of other incidents: 1/,
  );
  assert.deepEqual((await statuses()).toSorted(), [
    ['IDENTIFIED', 3],
    ['RESOLVED', 3],
  ]);
});

test('an incident that is refused is named, and keeps no other from being moved', async () => {
  await using from = await startTestControlPlane({ requestsPerMinute: 0 });
  const service = await addService(from);
  for (const name of ['First', 'Refused', 'Last']) {
    await addIncident(from, name, service);
  }
  await using to = await mover(from.url, from.apiKey);
  await using between = await httpReceiver(async ({ method, path, query, headers, body }) => {
    if (path.endsWith('/incidents') && body.includes('"Refused"')) {
      return { status: 409, body: '{"message":"no room for it"}' };
    }
    const search = query.size === 0 ? '' : `?${query.toString()}`;
    const answer = await fetch(`${to.cp.url}${path}${search}`, {
      method,
      headers: { authorization: String(headers.authorization), 'content-type': 'application/json' },
      ...(body === '' ? {} : { body }),
    });
    const { status } = answer;
    const type = answer.headers.get('content-type') ?? 'application/json';
    return { status, headers: { 'content-type': type }, body: await answer.text() };
  });
  const moved = await to.run('--yes', '--url', between.url, '--history', '3d');
  assert.equal(moved.code, 1);
  assert.match(moved.error, /history before the move: 3 days/);
  assert.match(moved.error, /could not import the incident «Refused»: no room for it/);
  assert.match(moved.error, /2 incidents and 0 subscribers of status pages were added/);
  const names = (await entriesOf(to.cp, '/v1/status-pages/incidents')).map(({ name }) => name);
  assert.deepEqual(names.toSorted(), ['First', 'Last']);
});

test('a private page is not made public, and another account deletes nothing unless it is said', async () => {
  const recorded = recordAccount(7, 1);
  Object.assign(recorded.lists.snippet[0] ?? {}, { 'odd.name': 'x' });
  await using source = await serveAccount(recorded);
  await using to = await mover(source.url, recordedKey);
  const { report } = await to.json('--yes');
  const pages = recorded.lists['status-page'];
  const made = (await entriesOf(to.cp, '/v1/status-pages')).map(({ name }) => String(name));
  const isPublic = ({ isPrivate }: Fields) => isPrivate !== true;
  assert.deepEqual(
    made.sort(),
    pages
      .filter(isPublic)
      .map((page) => page['name'])
      .sort(),
  );
  assert.ok(report.some(({ text }) => text.includes('field `odd.name` has no counterpart')));
  const refused = report.filter(({ text }) => text.includes('`isPrivate`'));
  const hidden = pages.filter((page) => !isPublic(page)).map((page) => page['name']);
  assert.ok(hidden.length > 0);
  assert.deepEqual(
    refused.map(({ name }) => name),
    hidden,
  );
  const checks = (await to.cp.api('GET', '/v1/checks?limit=100')).body.length;
  const [kept, lost] = recorded.lists.snippet;
  recorded.lists.snippet.splice(1, 1);
  const plan = await to.run();
  assert.match(plan.error, /--name if it is another account, or delete them with --delete/);
  const again = await to.run('--yes');
  assert.equal(again.code, 2);
  assert.match(
    again.error,
    new RegExp(`snippet-${String(lost?.['id'])}.*Nothing was changed`, 's'),
  );
  assert.equal((await to.cp.api('GET', '/v1/checks?limit=100')).body.length, checks);
  assert.ok((await to.json('--yes', '--delete')).changes.deleted > 0);
  const left = (await to.cp.api('GET', '/v1/snippets?limit=100')).body.map(
    (each: Fields) => each['name'],
  );
  assert.deepEqual([left.includes(lost?.['name']), left.includes(kept?.['name'])], [false, true]);
});

test('nothing is changed when the other side fails, or the key does not see everything', async () => {
  await using source = await serveAccount(recordAccount(5, 1));
  await using to = await mover(source.url, recordedKey);
  source.first.push({ path: /check-groups/, answer: { status: 200, body: '<html>' } });
  const broken = await to.run('--yes');
  assert.equal(broken.code, 1);
  assert.match(
    broken.error,
    /check-groups at .*: status 200 without JSON.*nothing was changed\n$/s,
  );
  const hidden = JSON.stringify([{ key: 'A', value: null, locked: true, secret: false }]);
  source.first.push({ path: /variables/, answer: { body: hidden } });
  const blind = await to.run('--yes');
  assert.equal(blind.code, 2);
  assert.match(blind.error, /it needs a key that may write there/);
  assert.deepEqual((await to.cp.api('GET', '/v1/checks')).body, []);
});

test('the plan says how many results a history has, and what of it stays there', async () => {
  const recorded = recordAccount(7, 1);
  await using other = await serveAccount(recorded);
  await using moving = await mover(other.url, recordedKey);
  const wrong = await moving.run('--history', '30h');
  assert.deepEqual([wrong.code, /must be days, such as 30d/.test(wrong.error)], [2, true]);
  const plain = await moving.run();
  assert.match(plain.out, /begins with the first run, unless --history says for how many days/);
  const plan = await moving.run('--history', '30d');
  const found = /History: about (\d+) results of (\d+) checks in 30 days/.exec(plan.out) ?? [];
  const pinged = recorded.lists.check.filter(({ checkType }) => checkType === 'HEARTBEAT');
  assert.ok(Number(found[1]) > Number(found[2]), plan.out);
  assert.ok(
    Number(found[2]) > 0 && Number(found[2]) <= recorded.lists.check.length - pinged.length,
  );
  assert.match(plan.out, /Single results, .* and pings of heartbeat monitors stay there/);
  assert.match(plan.out, /Shadow mode is turned on: .* each day a message .* by mail/);
  assert.doesNotMatch(plain.out, /Shadow mode is turned on/);
  const off = (await moving.cp.api('GET', '/v1/shadow')).body;
  assert.deepEqual([off.isOn, off.history], [false, null]);
  const { cp } = moving;
  const running = (baseUrl: string) => ({ baseUrl, apiKey: recordedKey, project: 'import-first' });
  await cp.api('PUT', '/v1/shadow', running('https://first.example'));
  const warned = await moving.run('--history', '30d');
  assert.match(warned.error, /verdicts are compared with https:\/\/first\.example: end that first/);
  const refused = await moving.run('--history', '30d', '--yes');
  assert.equal(refused.code, 2);
  assert.match(refused.error, /first\.example: end that first .*Nothing was changed/);
  assert.deepEqual((await cp.api('GET', '/v1/checks')).body, []);
  await cp.api('DELETE', '/v1/shadow');
  await cp.api('PUT', '/v1/shadow', running(other.url));
  const most = await moving.run('--history', '401d', '--yes');
  assert.deepEqual([most.code, /sums are kept for 400 days/.test(most.error)], [2, true]);
  const applied = await moving.run('--history', '30d', '--yes');
  assert.match(applied.out, /The comparison of the project import-first ends/);
  assert.match(applied.error, /history before the move: 30 days of 0 of \d+ checks, 0 results/);
});
