import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { FakeAgent } from '../support/fake-agent.ts';

async function makeGroup(cp: TestControlPlane, fields: Record<string, unknown> = {}) {
  const { status, body } = await cp.api('POST', '/v2/check-groups', { name: 'shop', ...fields });
  assert.equal(status, 201, JSON.stringify(body));
  return body as { id: number };
}

async function makeCheck(cp: TestControlPlane, path: string, fields: Record<string, unknown>) {
  const { status, body } = await cp.api('POST', `/v1/checks/${path}`, {
    name: 'check',
    locations: ['eu-west-1'],
    request: { method: 'GET', url: 'https://a.example' },
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body as { id: string };
}

test('a group has the defaults of its version', async () => {
  await using cp = await startTestControlPlane();
  const v2 = await cp.api('POST', '/v2/check-groups', { name: 'a' });
  const { id, badgeToken, created_at: created, ...rest } = v2.body;
  assert.match(badgeToken, /^[0-9a-f-]{36}$/);
  assert.equal(typeof id, 'number');
  assert.ok(Date.parse(created as string) > 0);
  assert.deepEqual(rest, {
    name: 'a',
    activated: true,
    muted: false,
    tags: [],
    locations: [],
    concurrency: 3,
    apiCheckDefaults: {
      url: '',
      headers: [],
      queryParameters: [],
      assertions: [],
      basicAuth: { username: '', password: '' },
    },
    browserCheckDefaults: null,
    runtimeId: null,
    environmentVariables: [],
    alertChannelSubscriptions: [],
    setupSnippetId: null,
    tearDownSnippetId: null,
    localSetupScript: null,
    localTearDownScript: null,
    privateLocations: [],
    runParallel: false,
    alertSettings: null,
    retryStrategy: 'FALLBACK',
    useGlobalAlertSettings: null,
    doubleCheck: false,
    projectBindings: { owner: null, references: [] },
    updated_at: null,
  });
  const v1 = await cp.api('POST', '/v1/check-groups', { name: 'b' });
  assert.deepEqual(
    [v1.body.doubleCheck, v1.body.useGlobalAlertSettings, v1.body.runParallel],
    [true, true, false],
  );
});

test('a group is found by exact names and by any of several tags', async () => {
  await using cp = await startTestControlPlane();
  await makeGroup(cp, { name: 'one', tags: ['x'] });
  await makeGroup(cp, { name: 'two', tags: ['y', 'z'] });
  await makeGroup(cp, { name: 'three' });
  const names = async (query: string) =>
    (await cp.api('GET', `/v1/check-groups${query}`)).body.map((one: { name: string }) => one.name);
  assert.deepEqual(await names('?name=one&name=three'), ['one', 'three']);
  assert.deepEqual(await names('?name=on'), []);
  assert.deepEqual(await names('?tag=x&tag=z'), ['one', 'two']);
  const page = await cp.api('GET', '/v1/check-groups?limit=2&page=2');
  assert.equal(page.headers.get('content-range'), 'items 2-2/3');
});

test('a change keeps what it does not name, and needs the name', async () => {
  await using cp = await startTestControlPlane();
  const { id } = await makeGroup(cp, { concurrency: 7, tags: ['x'] });
  const changed = await cp.api('PUT', `/v2/check-groups/${id}`, { name: 'new', muted: true });
  assert.equal(changed.status, 200);
  assert.deepEqual(
    [changed.body.name, changed.body.muted, changed.body.concurrency, changed.body.tags],
    ['new', true, 7, ['x']],
  );
  const nameless = await cp.api('PUT', `/v2/check-groups/${id}`, { muted: false });
  assert.deepEqual(nameless.body.attributes.keys, ['name']);
  assert.equal((await cp.api('PUT', '/v2/check-groups/999', { name: 'x' })).status, 404);
});

test('a group with checks cannot be deleted, and the answer names them', async () => {
  await using cp = await startTestControlPlane();
  const group = await makeGroup(cp);
  const check = await makeCheck(cp, 'url', { groupId: group.id });
  const refused = await cp.api('DELETE', `/v1/check-groups/${group.id}`);
  assert.equal(refused.status, 409);
  assert.deepEqual(refused.body.attributes.checkIds, [check.id]);
  await cp.api('PUT', `/v1/checks/url/${check.id}`, { groupId: null });
  assert.equal((await cp.api('DELETE', `/v1/check-groups/${group.id}`)).status, 204);
  assert.equal((await cp.api('GET', `/v1/check-groups/${group.id}`)).status, 404);
});

test('the checks of a group come in its order, with its settings applied', async () => {
  await using cp = await startTestControlPlane();
  const group = await makeGroup(cp, {
    locations: ['us-east-1'],
    runParallel: true,
    retryStrategy: null,
    environmentVariables: [
      { key: 'A', value: 'group' },
      { key: 'B', value: 'group' },
    ],
    apiCheckDefaults: {
      headers: [
        { key: 'X-One', value: 'group' },
        { key: 'X-Two', value: 'group' },
      ],
      assertions: [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' }],
      basicAuth: { username: 'u', password: 'p' },
    },
  });
  const last = await makeCheck(cp, 'url', { name: 'last', groupId: group.id });
  const first = await makeCheck(cp, 'api', {
    name: 'first',
    groupId: group.id,
    groupOrder: 0,
    environmentVariables: [{ key: 'B', value: 'check' }],
    request: {
      method: 'GET',
      url: 'https://a.example',
      headers: [{ key: 'x-two', value: 'check' }],
      assertions: [{ source: 'RESPONSE_TIME', comparison: 'LESS_THAN', target: '9' }],
    },
  });
  const list = await cp.api('GET', `/v2/check-groups/${group.id}/checks`);
  assert.deepEqual(
    list.body.map((check: { id: string }) => check.id),
    [first.id, last.id],
  );
  const [merged] = list.body;
  assert.deepEqual(merged.locations, ['us-east-1']);
  assert.deepEqual(
    [merged.runParallel, merged.retryStrategy, merged.doubleCheck],
    [true, null, false],
  );
  assert.deepEqual(
    merged.environmentVariables.map(({ key, value }: { key: string; value: string }) => [
      key,
      value,
    ]),
    [
      ['A', 'group'],
      ['B', 'check'],
    ],
  );
  assert.deepEqual(
    merged.request.headers.map(({ key, value }: { key: string; value: string }) => [key, value]),
    [
      ['X-One', 'group'],
      ['x-two', 'check'],
    ],
  );
  assert.deepEqual(
    merged.request.assertions.map(({ source }: { source: string }) => source),
    ['RESPONSE_TIME', 'STATUS_CODE'],
  );
  assert.deepEqual(merged.request.basicAuth, { username: 'u', password: 'p' });

  const plain = await cp.api('GET', `/v1/checks/${first.id}`);
  assert.deepEqual(plain.body.locations, ['eu-west-1']);
  const applied = await cp.api('GET', `/v2/checks/${first.id}?applyGroupSettings=true`);
  assert.deepEqual(applied.body, merged);
  const one = await cp.api('GET', `/v2/check-groups/${group.id}/checks/${first.id}`);
  assert.deepEqual(one.body, merged);
  const other = await makeCheck(cp, 'url', {});
  assert.equal(
    (await cp.api('GET', `/v1/check-groups/${group.id}/checks/${other.id}`)).status,
    404,
  );
});

test('a check of a group that has alert settings shows them as those that apply', async () => {
  await using cp = await startTestControlPlane();
  const shown = async (settings: Record<string, unknown>) => {
    const group = await makeGroup(cp, settings);
    const check = await makeCheck(cp, 'url', { groupId: group.id });
    const { body } = await cp.api('GET', `/v1/check-groups/${group.id}/checks/${check.id}`);
    return [body.useGlobalAlertSettings, body.alertSettings.reminders.amount];
  };
  const alertSettings = { reminders: { amount: 3 } };
  assert.deepEqual(await shown({}), [true, 0]);
  assert.deepEqual(await shown({ alertSettings }), [false, 3]);
  assert.deepEqual(await shown({ alertSettings, useGlobalAlertSettings: true }), [true, 3]);
  assert.deepEqual(await shown({ useGlobalAlertSettings: false }), [false, 0]);
});

test('agents run what the group says, and follow when it changes', async () => {
  await using cp = await startTestControlPlane();
  const group = await makeGroup(cp);
  const { id } = await makeCheck(cp, 'url', { groupId: group.id });
  const ireland = new FakeAgent(cp, await cp.locationKey('eu-west-1'));
  const ohio = new FakeAgent(cp, await cp.locationKey('us-east-2'));
  const before = await ireland.checkIn();
  assert.deepEqual(
    before.upserts.map((check) => [check.id, check.locations]),
    [[id, ['eu-west-1']]],
  );
  assert.equal((await ohio.checkIn()).upserts.length, 0);

  await cp.api('PUT', `/v2/check-groups/${group.id}`, { name: 'x', locations: ['us-east-2'] });
  assert.deepEqual((await ireland.checkIn()).removals, [id]);
  const [moved] = (await ohio.checkIn()).upserts;
  assert.deepEqual(moved?.locations, ['us-east-2']);

  await cp.api('PUT', `/v2/check-groups/${group.id}`, { name: 'x', activated: false });
  assert.deepEqual((await ohio.checkIn()).removals, [id]);
  const check = await cp.api('GET', `/v1/checks/${id}`);
  assert.equal(check.body.activated, true);

  await cp.api('PUT', `/v2/check-groups/${group.id}`, { name: 'x', activated: true });
  const again = await ohio.checkIn();
  assert.deepEqual(
    again.upserts.map((one) => one.id),
    [id],
  );
  assert.deepEqual(
    again.jobs.map((job) => job.source),
    ['SCHEDULE_NOW'],
  );
});

test('references of a group are checked', async () => {
  await using cp = await startTestControlPlane();
  for (const [field, value] of [
    ['privateLocations', ['nowhere']],
    ['setupSnippetId', 1],
    ['alertChannelSubscriptions', [{ alertChannelId: 1, activated: true }]],
  ] as const) {
    const { status, body } = await cp.api('POST', '/v2/check-groups', {
      name: 'a',
      [field]: value,
    });
    assert.equal(status, 400, field);
    assert.deepEqual(body.attributes.keys, [field]);
  }
  const { body } = await cp.api('POST', '/v1/checks/url', {
    name: 'a',
    groupId: 7,
    request: { url: 'https://a.example' },
  });
  assert.deepEqual(body.attributes.keys, ['groupId']);
});
