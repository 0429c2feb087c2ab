import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane } from '../support/control-plane.ts';
import type { CheckInAnswer } from '@monitor/shared/contract/agent-protocol.ts';
import { checkInOf, FakeAgent } from '../support/fake-agent.ts';

const checkIn = checkInOf({}, ['URL']);

test('a key is shown raw once, kept as a hash, and dead when it is revoked', async () => {
  await using cp = await startTestControlPlane();
  const location = await cp.api('POST', '/v1/private-locations', {
    name: 'Here',
    slugName: 'here',
  });
  assert.equal(location.status, 201);
  assert.equal(location.body.icon, 'location');
  const path = `/v1/private-locations/${location.body.id}`;
  const [first] = location.body.keys;
  const key = await cp.api('POST', `${path}/keys`);
  assert.equal(key.status, 201);
  for (const each of [first, key.body]) {
    assert.match(each.rawKey, /^pl_[0-9a-f]{64}$/);
    assert.equal(each.maskedKey, `pl_…${each.rawKey.slice(-4)}`);
  }
  const read = await cp.api('GET', path);
  assert.deepEqual(
    read.body.keys.map(({ maskedKey }: { maskedKey: string }) => maskedKey),
    [first.maskedKey, key.body.maskedKey],
  );
  assert.equal('rawKey' in read.body.keys[0], false);
  const stored = await cp.controlPlane.services.db
    .selectFrom('location_keys')
    .selectAll()
    .execute();
  assert.equal(JSON.stringify(stored).includes(key.body.rawKey.slice(3)), false);

  const asAgent = { authorization: `Bearer ${key.body.rawKey}` };
  const agent = () => cp.api('POST', '/v1/agent/check-in', checkIn, asAgent);
  assert.equal((await agent()).status, 200);
  const seen = await cp.api('GET', '/v1/private-locations?versions=true');
  assert.equal(seen.body[0].agentCount, 1);
  assert.deepEqual(seen.body[0].runningAgents[0].count, 1);

  assert.equal((await cp.api('POST', `${path}/keys`)).status, 409);
  assert.equal((await cp.api('DELETE', `${path}/keys/${key.body.id}`)).status, 204);
  assert.equal((await agent()).status, 401);
  assert.equal((await cp.api('DELETE', `${path}/keys/${key.body.id}`)).status, 404);
});

test('a slug is unique and must not look like a data-center location', async () => {
  await using cp = await startTestControlPlane();
  const create = (slugName: string) =>
    cp.api('POST', '/v1/private-locations', { name: 'x', slugName });
  assert.equal((await create('office')).status, 201);
  assert.equal((await create('office')).status, 409);
  for (const slug of ['eu-central-1', 'us-gov-west-1', 'with space', '', 'x'.repeat(31)]) {
    const { status, body } = await create(slug);
    assert.equal(status, 400, slug);
    assert.deepEqual(body.attributes.keys, ['slugName']);
  }
});

test('a location in use cannot be deleted; its slug never changes', async () => {
  await using cp = await startTestControlPlane();
  const { body } = await cp.api('POST', '/v1/private-locations', { name: 'x', slugName: 'office' });
  const path = `/v1/private-locations/${body.id}`;
  const check = await cp.api('POST', '/v1/checks/tcp', {
    name: 'a',
    privateLocations: ['office'],
    request: { url: 'a.example', port: 1 },
  });
  assert.equal(check.status, 201);
  assert.equal((await cp.api('DELETE', path)).status, 409);
  const change = { name: 'y', slugName: 'other', icon: 'squirrel', proxyUrl: null };
  const { name, slugName, icon } = (await cp.api('PUT', path, change)).body;
  assert.deepEqual([name, slugName, icon], ['y', 'office', 'squirrel']);
  await cp.api('DELETE', `/v1/checks/${check.body.id}`);
  assert.equal((await cp.api('DELETE', path)).status, 204);
  assert.equal((await cp.api('GET', path)).status, 404);
});

test('the data-center locations are listed for anybody', async () => {
  await using cp = await startTestControlPlane();
  const response = await fetch(`${cp.url}/v1/locations`);
  const locations = (await response.json()) as { region: string; name: string }[];
  assert.equal(locations.length, 22);
  assert.deepEqual(locations[7], { region: 'eu-central-1', name: 'Frankfurt' });
});

test('an agent that waits when its key is revoked learns nothing more', async () => {
  await using cp = await startTestControlPlane();
  const { body: location } = await cp.api('POST', '/v1/private-locations', {
    name: 'Here',
    slugName: 'here',
  });
  const path = `/v1/private-locations/${location.id}/keys`;
  const { body: key } = await cp.api('POST', path);
  const asAgent = { authorization: `Bearer ${key.rawKey}` };
  const first = await cp.api('POST', '/v1/agent/check-in', checkIn, asAgent);
  const waiting = cp.api(
    'POST',
    '/v1/agent/check-in',
    { ...checkIn, snapshot: first.body.snapshot, waitMs: 20_000 },
    asAgent,
  );
  while (cp.controlPlane.services.hub.members(cp.accountId, 'here').length === 0) {
    await cp.api('GET', '/v1/locations');
  }
  await cp.api('DELETE', `${path}/${key.id}`);
  await cp.api('POST', '/v1/checks/url', {
    name: 'secret',
    privateLocations: ['here'],
    request: { url: 'https://user:pw@internal.example' },
  });
  assert.equal((await waiting).status, 401);
});

test('an agent with a key that was made since others came hears what changes while it waits', async () => {
  await using cp = await startTestControlPlane();
  const { body: location } = await cp.api('POST', '/v1/private-locations', {
    ...{ name: 'Here', slugName: 'here' },
  });
  for (let index = 0; index < 8; index += 1)
    await cp.api('POST', '/v1/checks/url', {
      ...{ name: `check ${index}`, privateLocations: ['here'] },
      request: { url: 'https://a.example' },
    });
  const old = new FakeAgent(cp, location.keys[0].rawKey as string);
  await old.checkIn(['URL']);
  const { body: key } = await cp.api('POST', `/v1/private-locations/${location.id}/keys`);
  const young = new FakeAgent(cp, key.rawKey as string);
  await young.checkIn(['URL']);
  const waiting = young.call<CheckInAnswer>(
    'check-in',
    checkInOf({ agentId: young.id, snapshot: young.snapshot, waitMs: 20_000 }, ['URL']),
  );
  // What came before these has been looked at, and waits.
  for (let round = 0; round < 3; round += 1) await old.checkIn(['URL']);
  await old.call('goodbye', { agentId: old.id }, 204);
  const { upserts } = await waiting;
  assert.ok(upserts.length > 0, 'it has the checks of the other one');
});

test('a location that a group uses cannot be deleted', async () => {
  await using cp = await startTestControlPlane();
  const { body } = await cp.api('POST', '/v1/private-locations', { name: 'a', slugName: 'a' });
  const group = await cp.api('POST', '/v2/check-groups', { name: 'g', privateLocations: ['a'] });
  const path = `/v1/private-locations/${body.id}`;
  assert.equal((await cp.api('DELETE', path)).status, 409);
  await cp.api('PUT', `/v2/check-groups/${group.body.id}`, { name: 'g', privateLocations: [] });
  assert.equal((await cp.api('DELETE', path)).status, 204);
});

test('a proxy is one of http or https, or none', async () => {
  await using cp = await startTestControlPlane();
  const rows: [string | null, number][] = [
    ...['http://proxy.test:3128', 'https://u:p%40@proxy.test', '', null].map(
      (url): [string | null, number] => [url, 201],
    ),
    ...['socks5://proxy.test:1080', 'socks5h://p', 'proxy.test:3128', 'ftp://p', 'http://'].map(
      (url): [string | null, number] => [url, 400],
    ),
  ];
  for (const [index, [proxyUrl, expected]] of rows.entries()) {
    const location = { name: 'x', slugName: `l-${index}`, proxyUrl };
    const created = await cp.api('POST', '/v1/private-locations', location);
    assert.equal(created.status, expected, String(proxyUrl));
    if (expected === 400) assert.deepEqual(created.body.attributes.keys, ['proxyUrl']);
    const path = `/v1/private-locations/${created.body.id}`;
    if (expected === 201)
      assert.equal((await cp.api('PUT', path, { name: 'y', proxyUrl })).status, 200);
  }
});
