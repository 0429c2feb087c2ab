import assert from 'node:assert/strict';
import { substitutions } from '@monitor/shared/contract/runtime-substitutions.ts';
import test from 'node:test';
import { startTestControlPlane } from '../support/control-plane.ts';
import { TestClock } from '../support/test-clock.ts';
import { minute, now, setUp } from '../support/results.ts';

const start = Date.parse('2026-11-21T08:00:00Z');

test('a key tells who it is, and the account what it may use', async () => {
  await using cp = await startTestControlPlane();
  const me = await cp.api('GET', '/v1/users/me');
  assert.deepEqual(
    [me.body.name, me.body.role, me.body.accountId],
    ['test', 'OWNER', cp.accountId],
  );
  const account = await cp.api('GET', '/v1/accounts/me');
  assert.deepEqual((await cp.api('GET', `/v1/accounts/${cp.accountId}`)).body, account.body);
  assert.deepEqual((await cp.api('GET', '/v1/accounts')).body, [account.body]);
  assert.equal((await cp.api('GET', '/v1/accounts/other')).status, 404);
  const { body } = await cp.api('GET', '/v1/accounts/me/entitlements');
  assert.equal(body.locations.all.length, 22);
  assert.ok(
    body.entitlements.every((one: { type: string }) => ['flag', 'metered'].includes(one.type)),
  );
  const own = await cp.api('GET', `/v1/accounts/${cp.accountId}/entitlements`);
  assert.deepEqual(own.body, body);
});

test('administrators change what checks inherit from the account, and the audit log says from what', async () => {
  await using cp = await startTestControlPlane();
  const path = `/v1/accounts/${cp.accountId}`;
  const { headers, body: before } = await cp.api('GET', path);
  const alertSettings = { ...before.alertSettings, reminders: { amount: 2, interval: 10 } };
  const change = { name: 'Shop', runtimeId: '2025.04', alertSettings };
  const ifMatch = { 'if-match': headers.get('etag') ?? '' };
  const { status, body } = await cp.api('PUT', path, change, ifMatch);
  assert.equal(status, 200);
  assert.partialDeepStrictEqual(body, change);
  assert.equal((await cp.api('PUT', path, change, ifMatch)).status, 412);
  const { body: log } = await cp.api('GET', `/v1/audit-log?resourceId=${cp.accountId}`);
  const [entry] = log.entries;
  assert.deepEqual(
    [entry.operation, entry.before.name, entry.after],
    ['updateAccount', before.name, change],
  );

  const escalationPolicyId = '6f1ed002-ab59-4e6f-a9a7-4b3d1a6e1c11';
  const unknown = await cp.api('PUT', path, { alertSettings: { escalationPolicyId } });
  assert.deepEqual(
    [unknown.status, unknown.body.attributes.keys],
    [400, ['alertSettings.escalationPolicyId']],
  );
  const { body: key } = await cp.api('POST', '/v1/api-keys', { name: 'ci', role: 'READ_WRITE' });
  const writer = { authorization: `Bearer ${key.rawKey}` };
  assert.equal((await cp.api('PUT', path, { name: 'x' }, writer)).status, 403);
  assert.equal((await cp.api('PUT', '/v1/accounts/other', { name: 'x' })).status, 404);
  const restored = await cp.api('PUT', path, { alertSettings: {} });
  assert.deepEqual(restored.body.alertSettings, before.alertSettings);
  const other = await cp.api('PUT', path, { runtimeId: before.runtimeId });
  assert.deepEqual([other.body.name, other.body.runtimeId], ['Shop', before.runtimeId]);
});

test('a key is made with a role and an end, shown once, and dies when its time has come', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  const expiresAt = new Date(start + 3_600_000).toISOString();
  const made = await cp.api('POST', '/v1/api-keys', { name: 'ci', role: 'READ_RUN', expiresAt });
  assert.equal(made.status, 201);
  assert.match(made.body.rawKey, /^cu_[0-9a-f]{64}$/);
  const headers = { authorization: `Bearer ${made.body.rawKey}` };
  assert.equal((await cp.api('GET', '/v1/users/me', undefined, headers)).body.role, 'READ_RUN');
  const listed = await cp.api('GET', '/v1/api-keys');
  const [, key] = listed.body;
  assert.deepEqual(
    [key.name, key.role, key.expiresAt, key.lastUsedAt],
    ['ci', 'READ_RUN', expiresAt, new Date(start).toISOString()],
  );
  assert.equal('rawKey' in key, false);
  clock.advance(3_600_000);
  assert.equal((await cp.api('GET', '/v1/users/me', undefined, headers)).status, 401);
  const past = await cp.api('POST', '/v1/api-keys', { name: 'x', expiresAt });
  assert.deepEqual([past.status, past.body.attributes.keys], [400, ['expiresAt']]);
});

test('a revoked key is refused at once; its name and its end can change before that', async () => {
  await using cp = await startTestControlPlane();
  const { body } = await cp.api('POST', '/v1/api-keys', { name: 'ci' });
  const headers = { authorization: `Bearer ${body.rawKey}` };
  assert.equal((await cp.api('GET', '/v1/checks', undefined, headers)).status, 200);
  const renamed = await cp.api('PUT', `/v1/api-keys/${body.id}`, { name: 'deploy' });
  assert.deepEqual([renamed.body.name, renamed.body.role], ['deploy', 'READ_WRITE']);
  assert.equal((await cp.api('DELETE', `/v1/api-keys/${body.id}`)).status, 204);
  assert.equal((await cp.api('GET', '/v1/checks', undefined, headers)).status, 401);
  assert.equal((await cp.api('DELETE', `/v1/api-keys/${body.id}`)).status, 404);
});

test('nobody can grant or change a role above their own', async () => {
  await using cp = await startTestControlPlane();
  const admin = await cp.api('POST', '/v1/api-keys', { name: 'admin', role: 'ADMIN' });
  const headers = { authorization: `Bearer ${admin.body.rawKey}` };
  const owner = await cp.api('POST', '/v1/api-keys', { name: 'x', role: 'OWNER' }, headers);
  assert.equal(owner.status, 403);
  const [first] = (await cp.api('GET', '/v1/api-keys')).body;
  assert.equal(first.role, 'OWNER');
  assert.equal(
    (await cp.api('DELETE', `/v1/api-keys/${first.id}`, undefined, headers)).status,
    403,
  );
  assert.equal(
    (await cp.api('PUT', `/v1/api-keys/${first.id}`, { name: 'x' }, headers)).status,
    403,
  );
  const peer = await cp.api('POST', '/v1/api-keys', { name: 'y', role: 'ADMIN' }, headers);
  assert.equal(peer.status, 201);
});

test('badges are pictures, once the account has switched them on', async () => {
  await using cp = await startTestControlPlane();
  const { body: group } = await cp.api('POST', '/v2/check-groups', { name: 'Shop <b>' });
  const { body: check } = await cp.api('POST', '/v1/checks/url', {
    name: 'Home & cart',
    groupId: group.id,
    request: { url: 'https://a.example' },
  });
  const paths = [`/v1/badges/checks/${check.id}`, `/v1/badges/groups/${group.badgeToken}`];
  for (const path of paths) assert.equal((await fetch(cp.url + path)).status, 404);
  await cp.controlPlane.services.db
    .updateTable('accounts')
    .set({ settings_json: '{"badges":true}' })
    .execute();
  for (const path of paths) {
    const answer = await fetch(`${cp.url}${path}?style=flat-square&theme=dark&responseTime=true`);
    assert.equal(answer.headers.get('content-type'), 'image/svg+xml; charset=utf-8');
    const svg = await answer.text();
    assert.match(svg, /^<svg /);
    assert.match(svg, /unknown/);
    assert.equal(svg.includes('<b>'), false);
  }
  assert.equal((await fetch(`${cp.url}${paths[0]}?style=round`)).status, 400);
});

test('a badge is unknown until a conclusive run, and shows the time of such a run', async () => {
  await using bench = await setUp();
  const { db } = bench.cp.controlPlane.services;
  await db.updateTable('accounts').set({ settings_json: '{"badges":true}' }).execute();
  const id = await bench.check('url');
  const badge = async () => {
    const path = `/v1/badges/checks/${id}?responseTime=true`;
    const svg = await (await fetch(bench.cp.url + path)).text();
    return /<title>url: (.*?)<\/title>/.exec(svg)?.[1];
  };
  await bench.submit(id, 'URL', now - 5 * minute, { hasErrors: true, responseTime: 7 });
  assert.equal(await badge(), 'unknown');
  await bench.submit(id, 'URL', now - 4 * minute, { isCancelled: true, responseTime: 8 });
  assert.equal(await badge(), 'unknown');
  await bench.submit(id, 'URL', now - 3 * minute, { responseTime: 90 });
  assert.equal(await badge(), 'passing | 90 ms');
  await bench.submit(id, 'URL', now - 2 * minute, { hasErrors: true, responseTime: 7 });
  await bench.submit(id, 'URL', now - minute, { isCancelled: true, responseTime: 8 });
  assert.equal(await badge(), 'passing | 90 ms');
});

test('runtimes are listed newest first, and each by its name', async () => {
  await using cp = await startTestControlPlane();
  const { body } = await cp.api('GET', '/v1/runtimes', undefined, { authorization: '' });
  assert.deepEqual(
    body.map((one: { name: string }) => one.name),
    ['2026.04', '2025.04', '2024.09', '2024.02', '2023.09', '2023.02', '2022.10'],
  );
  assert.equal(body[0].stage, 'CURRENT');
  assert.equal(body.at(-1).multiStepSupport, false);
  const one = await cp.api('GET', '/v1/runtimes/2025.04');
  assert.equal(one.body.dependencies['playwright'], '1.51.1');
  assert.equal((await cp.api('GET', '/v1/runtimes/1999.01')).status, 404);
  for (const { name, dependencies } of body as { name: string; dependencies: object }[]) {
    for (const each of substitutions[name] ?? []) {
      const shown = (dependencies as Record<string, string>)[each.package] ?? null;
      assert.equal(shown, each.instead, `${name} ${each.package}`);
    }
  }
});

test('static addresses are those the operator has published', async () => {
  await using none = await startTestControlPlane();
  assert.deepEqual((await none.api('GET', '/v1/static-ips')).body, []);
  await using cp = await startTestControlPlane({
    settings: { STATIC_IPS: 'eu-west-1=192.0.2.1, eu-west-1=192.0.2.2,us-east-1=2001:db8::1' },
  });
  const read = async (path: string) => (await cp.api('GET', path)).body as unknown;
  assert.deepEqual(await read('/v1/static-ips'), ['192.0.2.1', '192.0.2.2']);
  assert.deepEqual(await read('/v1/static-ipv6s'), ['2001:db8::1']);
  assert.deepEqual(await read('/v1/static-ips-by-region'), {
    'eu-west-1': ['192.0.2.1', '192.0.2.2'],
  });
  assert.deepEqual(await read('/v1/static-ipv6s-by-region'), { 'us-east-1': ['2001:db8::1'] });
  const text = await fetch(`${cp.url}/v1/static-ips.txt`);
  assert.equal(text.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.equal(await text.text(), '192.0.2.1\n192.0.2.2\n');
  assert.equal(await (await fetch(`${cp.url}/v1/static-ipv6s.txt`)).text(), '2001:db8::1\n');
});
