import assert from 'node:assert/strict';
import test from 'node:test';
import { pruneAuditLog } from '../../../control-plane/audit/prune.ts';
import { createApiKey, revokeKey } from '../../../control-plane/accounts/keys/store.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { certificatePair } from '../../support/world.ts';
import { Browser, goodPassword, insertMember } from '../../support/people.ts';
import { TestClock } from '../../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const email = 'anna@shop.example';

interface Entry {
  at: string;
  actor: { kind: string; name: string; id: string | null };
  address: string | null;
  operation: string;
  outcome: string;
  resource: { type: string; id: string | null; name: string | null } | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

async function entries(cp: TestControlPlane, query = ''): Promise<Entry[]> {
  const { status, body } = await cp.api('GET', `/v1/audit-log?limit=100${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return (body as { entries: Entry[] }).entries;
}

async function withAnna(cp: TestControlPlane): Promise<Browser> {
  await insertMember(cp.controlPlane.services, {
    ...{ accountId: cp.accountId, name: 'Anna', role: 'OWNER' as const, email },
  });
  const browser = new Browser(cp);
  await browser.signIn(email);
  return browser;
}

const check = { name: 'Shop', request: { url: 'https://shop.example/' } };

test('a change says who made it, from where, to what, and the fields before and after', async () => {
  await using cp = await startTestControlPlane();
  const browser = await withAnna(cp);
  const made = await browser.send('POST', '/v1/checks/url', check);
  const { id } = made.body as { id: string };
  await browser.send('PUT', `/v1/checks/url/${id}`, {
    ...{ name: 'Front page', tags: ['shop'] },
  });
  await cp.api('DELETE', `/v1/checks/${id}`);
  const [deleted, updated, created, signedIn] = await entries(cp);
  assert.deepEqual(
    [deleted?.operation, deleted?.actor.kind, deleted?.actor.name, deleted?.before?.['name']],
    ['deleteCheck', 'API_KEY', 'test', 'Front page'],
  );
  assert.deepEqual(
    [updated?.operation, updated?.before, updated?.after],
    ['updateURLMonitor', { name: 'Shop', tags: [] }, { name: 'Front page', tags: ['shop'] }],
  );
  assert.deepEqual(created?.resource, { type: 'checks', id, name: 'Shop' });
  assert.deepEqual(
    [created?.actor.kind, created?.actor.name, created?.address?.replace('::ffff:', '')],
    ['PERSON', `Anna <${email}>`, '127.0.0.1'],
  );
  assert.equal(signedIn?.operation, 'signIn');
});

test('sign-ins, sign-outs and refusals are in it, also of nobody, and repeated ones are bounded', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const browser = await withAnna(cp);
  await new Browser(cp).signIn(email, 'wrong');
  await new Browser(cp).signIn('nobody@shop.example', 'wrong');
  await browser.send('DELETE', '/console/session');
  const { services } = cp.controlPlane;
  const reader = await createApiKey(services, cp.accountId, { name: 'ci', role: 'READ_ONLY' });
  const headers = { authorization: `Bearer ${reader.rawKey}` };
  for (let attempt = 0; attempt < 70; attempt += 1) {
    assert.equal((await cp.api('DELETE', '/v1/checks/x', undefined, headers)).status, 403);
  }
  const all = await entries(cp);
  const refused = all.filter(({ outcome }) => outcome === 'REFUSED');
  assert.equal(refused.filter(({ operation }) => operation === 'deleteCheck').length, 60);
  assert.deepEqual(refused.find(({ operation }) => operation === 'deleteCheck')?.resource, {
    ...{ type: 'checks', id: 'x', name: null },
  });
  assert.deepEqual(
    all
      .filter(({ operation }) => operation.startsWith('sign'))
      .map((each) => [each.operation, each.outcome, each.actor.name]),
    [
      ['signOut', 'DONE', `Anna <${email}>`],
      ['signIn', 'REFUSED', 'nobody@shop.example'],
      ['signIn', 'REFUSED', email],
      ['signIn', 'DONE', `Anna <${email}>`],
    ],
  );
});

test('refused keys are in the log of the account that had them, bounded; unknown ones are in none', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  const { services } = cp.controlPlane;
  const foreign = { authorization: `Bearer ${await cp.foreignKey()}` };
  const make = (name: string, expiresAt: number | null = null) =>
    createApiKey(services, cp.accountId, { name, expiresAt });
  const [ci, old] = [await make('ci'), await make('old', start + 1_000)];
  await revokeKey(services, ci.id);
  clock.setWall(start + 2_000);
  const agent = await cp.locationKey('eu-west-1');
  const send = async (key: string, path: string, more: Record<string, string> = {}) => {
    const headers = { authorization: `Bearer ${key}`, ...more };
    return (await cp.api('GET', path, undefined, headers)).status;
  };
  for (let attempt = 0; attempt < 70; attempt += 1) {
    assert.equal(await send(ci.rawKey, '/v1/checks/x'), 401);
  }
  const unknown = `cu_${'0'.repeat(32)}`;
  assert.deepEqual(
    [
      await send(old.rawKey, '/v1/checks'),
      await send(agent, '/v1/checks'),
      await send(cp.apiKey, '/v1/checks', { 'x-service-account': 'another' }),
      await send(unknown, '/v1/checks'),
      (await new Browser(cp).send('POST', '/console/session', { key: old.rawKey, account: '' }))
        .status,
    ],
    [401, 401, 403, 401, 401],
  );
  const all = await entries(cp, '&outcome=REFUSED');
  assert.deepEqual(
    all.slice(0, 4).map(({ actor, operation }) => [actor.kind, actor.name.slice(0, 21), operation]),
    [
      ['API_KEY', 'old (expired)', 'signInWithKey'],
      ['API_KEY', 'test', 'listChecks'],
      ['AGENT', 'an agent of eu-west-1', 'listChecks'],
      ['API_KEY', 'old (expired)', 'listChecks'],
    ],
  );
  const ofCi = all.filter(({ actor }) => actor.id === ci.id);
  assert.deepEqual(
    [ofCi.length, ofCi[0]?.actor.name, ofCi[0]?.operation, ofCi[0]?.resource?.id],
    [60, 'ci (revoked)', 'getCheck', 'x'],
  );
  assert.equal(all.length, 64);
  const text = JSON.stringify(all);
  for (const key of [ci, old].map(({ rawKey }) => rawKey).concat(agent, unknown)) {
    assert.ok(!text.includes(key.slice(3)));
  }
  const theirs = await cp.api('GET', '/v1/audit-log?limit=100', undefined, foreign);
  assert.deepEqual((theirs.body as { entries: Entry[] }).entries, []);
});

test('no secret gets into the log, whatever is made, changed or deleted', async () => {
  await using cp = await startTestControlPlane();
  const secrets: string[] = [];
  const secret = (name: string): string => {
    const text = `${name}-canary-1f8e`;
    secrets.push(text);
    return text;
  };
  const make = async (path: string, body: unknown): Promise<Record<string, string>> => {
    const answer = await cp.api('POST', path, body);
    assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`);
    return answer.body as Record<string, string>;
  };
  const key = await make('/v1/api-keys', { name: 'ci' });
  const location = await make('/v1/private-locations', {
    ...{ name: 'Office', slugName: 'office' },
    proxyUrl: `http://user:${secret('proxy')}@proxy.example:3128`,
  });
  const [locationKey] = location['keys'] as unknown as [Record<string, string>];
  await make('/v1/variables', { key: 'TOKEN', value: secret('variable'), secret: true });
  const channel = await make('/v1/alert-channels', {
    type: 'WEBHOOK',
    config: {
      ...{ name: 'hook', url: `https://hooks.example/${secret('path')}`, method: 'POST' },
      webhookSecret: secret('webhook'),
      headers: [{ key: 'authorization', value: secret('header'), locked: true }],
    },
  });
  await cp.api('PUT', `/v1/alert-channels/${channel['id']}`, {
    type: 'WEBHOOK',
    config: { name: 'hook', url: `https://hooks.example/${secret('other-path')}`, method: 'POST' },
  });
  const api = await make('/v1/checks/api', {
    name: 'API',
    request: {
      ...{ url: 'https://shop.example/', method: 'GET' },
      basicAuth: { username: 'u', password: secret('basic') },
    },
    environmentVariables: [{ key: 'A', value: secret('locked'), locked: true, secret: true }],
  });
  await cp.api('PUT', `/v1/checks/api/${api['id']}`, { name: 'API 2' });
  const heartbeat = await make('/v1/checks/heartbeat', {
    name: 'Backup',
    heartbeat: { period: 1, periodUnit: 'hours', grace: 5, graceUnit: 'minutes' },
  });
  const { pingToken } = heartbeat['heartbeat'] as unknown as { pingToken: string };
  const trigger = await make(`/v1/triggers/checks/${api['id']}`, undefined);
  const pair = await certificatePair();
  await make('/v1/client-certificates', { ...pair, host: 'shop.example' });
  const page = await make('/v1/status-pages', { name: 'Page', url: 'page', cards: [] });
  const password = await make(`/v1/status-pages/${page['id']}/password`, undefined);
  const invitation = await make('/v1/invitations', { email: 'ben@shop.example' });
  await cp.api('DELETE', `/v1/alert-channels/${channel['id']}`);
  await cp.api('DELETE', `/v1/checks/${heartbeat['id']}`);
  await cp.api('DELETE', `/v1/private-locations/${location['id']}`);
  const browser = await withAnna(cp);
  await browser.send('PUT', '/v1/users/me/password', {
    ...{ currentPassword: goodPassword, newPassword: secret('password') },
  });
  const rows = await cp.controlPlane.services.db.selectFrom('audit_log').selectAll().execute();
  const text = JSON.stringify(rows);
  assert.ok(rows.length >= 17, `${rows.length} entries`);
  secrets.push(
    ...[key['rawKey'], locationKey['rawKey'], trigger['token'], pingToken, goodPassword].map(
      String,
    ),
    ...[password['password'], invitation['link']?.split('token=')[1]].map(String),
    pair.key.split('\n')[3] ?? '',
  );
  for (const each of secrets) assert.ok(each.length > 8 && !text.includes(each), each);
});

test('it is searched, filtered and paged, and another account does not see it', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  for (let at = 0; at < 25; at += 1) {
    clock.advance(60_000);
    await cp.api('POST', '/v1/variables', { key: `V_${at}`, value: '100 %' });
  }
  const pages: Entry[][] = [];
  for (let nextId: string | null = ''; nextId !== null;) {
    const { body } = await cp.api('GET', `/v1/audit-log?limit=10${nextId && `&nextId=${nextId}`}`);
    pages.push(body.entries as Entry[]);
    nextId = body.nextId as string | null;
  }
  assert.deepEqual(
    pages.map(({ length }) => length),
    [10, 10, 5],
  );
  assert.deepEqual(
    pages.flat().map(({ resource }) => resource?.name),
    Array.from({ length: 25 }, (_, at) => `V_${24 - at}`),
  );
  assert.equal((await entries(cp, '&search=v_1')).length, 11);
  assert.equal((await entries(cp, '&search=%25')).length, 0);
  assert.equal((await entries(cp, '&operation=createVariable&outcome=DONE')).length, 25);
  assert.equal((await entries(cp, '&resourceType=variables&resourceId=V_3')).length, 1);
  const from = start / 1_000 + 20 * 60;
  assert.equal((await entries(cp, `&from=${from}`)).length, 6);
  assert.equal((await entries(cp, `&to=${from}`)).length, 19);
  const foreign = { authorization: `Bearer ${await cp.foreignKey()}` };
  const theirs = await cp.api('GET', '/v1/audit-log', undefined, foreign);
  assert.deepEqual(theirs.body.entries, []);
  assert.equal((await cp.api('GET', '/v1/audit-log?nextId=x')).status, 400);
});

test('it is exported as lines of JSON and as CSV, oldest first, in any length', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const { db, newId, clock } = cp.controlPlane.services;
  await db
    .insertInto('audit_log')
    .values(
      Array.from({ length: 1_203 }, (_, at) => ({
        ...{ id: newId(), account_id: cp.accountId, at: clock.now(), actor_id: null },
        ...{ actor_kind: 'OPERATOR' as const, actor_name: `=cmd|${at}`, address: null },
        ...{ operation: 'x', outcome: 'DONE' as const, resource_type: null, resource_id: null },
        ...{ resource_name: null, before_json: null, after_json: '{"a":"b, c"}' },
      })),
    )
    .execute();
  const read = async (format: string) => {
    const response = await fetch(`${cp.url}/v1/audit-log/export?format=${format}`, {
      headers: { authorization: `Bearer ${cp.apiKey}` },
    });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-disposition') ?? '', /audit-log\./);
    return (await response.text()).trimEnd().split(/\r?\n/);
  };
  const lines = (await read('ndjson')).map((line) => JSON.parse(line) as Entry);
  assert.deepEqual(
    lines.map(({ actor }) => actor.name),
    Array.from({ length: 1_203 }, (_, at) => `=cmd|${at}`),
  );
  const csv = await read('csv');
  assert.equal(csv.length, 1_204);
  assert.match(csv[0] ?? '', /^at,actorKind,/);
  // Not a formula, whoever chose the name.
  assert.match(csv[1] ?? '', /,'=cmd\|0,.*,"\{""a"":""b, c""\}"$/);
});

test('old entries are deleted, a batch at a time', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock });
  await cp.api('POST', '/v1/variables', { key: 'OLD', value: 'x' });
  clock.advance(60_000);
  await cp.api('POST', '/v1/variables', { key: 'NEW', value: 'x' });
  assert.equal(await pruneAuditLog(cp.controlPlane.services, 30_000), false);
  assert.deepEqual(
    (await entries(cp)).map(({ resource }) => resource?.id),
    ['NEW'],
  );
});
