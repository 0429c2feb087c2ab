import assert from 'node:assert/strict';
import test from 'node:test';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { selfSigned } from '../support/certificates.ts';
import { FakeAgent } from '../support/fake-agent.ts';

const location = 'eu-west-1';
const types = ['URL', 'TCP', 'API', 'BROWSER', 'MULTI_STEP', 'AGENTIC', 'PLAYWRIGHT'];
const runtimes = ['2026.04', '2025.04', '2024.09'];

async function agentOf(cp: TestControlPlane): Promise<FakeAgent> {
  return new FakeAgent(cp, await cp.locationKey(location));
}

async function make(cp: TestControlPlane, path: string, fields: object): Promise<string> {
  const { status, body } = await cp.api('POST', `/v1/checks/${path}`, {
    name: path,
    locations: [location],
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as string;
}

async function assigned(agent: FakeAgent, id: string): Promise<AssignedCheck> {
  agent.snapshot = null;
  const { upserts } = await agent.checkIn(types, runtimes);
  const found = upserts.find((check) => check.id === id);
  assert.ok(found !== undefined, 'the check was not assigned');
  return found;
}

const url = 'https://shop.example/api';
const secret = (key: string, value: string) => ({ key, value, secret: true });

test('variables of account, group and check are merged and opened, the nearest one wins', async () => {
  await using cp = await startTestControlPlane();
  const agent = await agentOf(cp);
  for (const variable of [
    { key: 'A', value: 'account' },
    { key: 'B', value: 'account' },
    secret('C', 'account-secret'),
  ]) {
    await cp.api('POST', '/v1/variables', variable);
  }
  const group = await cp.api('POST', '/v2/check-groups', {
    name: 'g',
    apiCheckDefaults: { url: 'https://base.example' },
    environmentVariables: [{ key: 'B', value: 'group' }, secret('D', 'group-secret')],
  });
  const id = await make(cp, 'browser', {
    script: '1',
    groupId: group.body.id,
    environmentVariables: [secret('D', 'check-secret'), { key: 'SERVICE_SECRET_E', value: 'e' }],
  });
  const { environment } = await assigned(agent, id);
  assert.deepEqual(
    environment.toSorted((left, right) => left.key.localeCompare(right.key)),
    [
      { key: 'A', value: 'account', secret: false },
      { key: 'B', value: 'group', secret: false },
      { key: 'C', value: 'account-secret', secret: true },
      { key: 'D', value: 'check-secret', secret: true },
      { key: 'GROUP_BASE_URL', value: 'https://base.example', secret: false },
      { key: 'SERVICE_SECRET_E', value: 'e', secret: true },
    ],
  );
});

test('a monitor is given secrets alone, so that they can be removed from what it sees', async () => {
  await using cp = await startTestControlPlane();
  const agent = await agentOf(cp);
  await cp.api('POST', '/v1/variables', { key: 'A', value: 'plain' });
  await cp.api('POST', '/v1/variables', secret('B', 'hidden'));
  const id = await make(cp, 'tcp', { request: { hostname: 'db.internal', port: 5432 } });
  assert.deepEqual((await assigned(agent, id)).environment, [
    { key: 'B', value: 'hidden', secret: true },
  ]);
});

test('setup goes from the group in, teardown from the check out, with the snippets they mention', async () => {
  await using cp = await startTestControlPlane();
  const agent = await agentOf(cp);
  const snippet = async (name: string, script: string): Promise<number> =>
    (await cp.api('POST', '/v1/snippets', { name, script })).body.id as number;
  const setup = await snippet('signing', "require('./snippets/keys.js')");
  await snippet('keys', 'module.exports = 1');
  await snippet('unused', 'module.exports = 2');
  const group = await cp.api('POST', '/v2/check-groups', {
    name: 'g',
    setupSnippetId: setup,
    localTearDownScript: '// group after',
  });
  const id = await make(cp, 'api', {
    request: { method: 'GET', url },
    groupId: group.body.id,
    localSetupScript: '// check before',
    localTearDownScript: '// check after',
  });
  const check = await assigned(agent, id);
  assert.deepEqual(
    check.setupScripts.map(({ name, source }) => [name, source]),
    [
      ['group setup script (snippet "signing")', "require('./snippets/keys.js')"],
      ['setup script', '// check before'],
    ],
  );
  assert.deepEqual(
    check.teardownScripts.map(({ source }) => source),
    ['// check after', '// group after'],
  );
  assert.deepEqual(
    check.snippets.map(({ name }) => name),
    ['keys'],
  );
});

test('the runtime is that of the check, else of its group, else of the account, else open', async () => {
  await using cp = await startTestControlPlane();
  const agent = await agentOf(cp);
  const { db } = cp.controlPlane.services;
  const group = await cp.api('POST', '/v2/check-groups', { name: 'g', runtimeId: '2025.04' });
  const own = await make(cp, 'browser', { script: '1', runtimeId: '2024.09' });
  const grouped = await make(cp, 'browser', { script: '1', groupId: group.body.id });
  const plain = await make(cp, 'browser', { script: '1' });
  const withoutScripts = await make(cp, 'api', { request: { method: 'GET', url } });
  const chosen = async () => {
    agent.snapshot = null;
    const { upserts } = await agent.checkIn(types, runtimes);
    const of = new Map(upserts.map(({ id, runtimeId }) => [id, runtimeId]));
    return [own, grouped, plain, withoutScripts].map((id) => of.get(id));
  };
  assert.deepEqual(await chosen(), ['2024.09', '2025.04', null, null]);
  await db.updateTable('accounts').set({ runtime_id: '2026.04' }).execute();
  assert.deepEqual(await chosen(), ['2024.09', '2025.04', '2026.04', null]);
});

test('the certificate of the host is chosen, or all of them where a template names the host', async () => {
  await using cp = await startTestControlPlane();
  const agent = await agentOf(cp);
  const pair = await selfSigned({ host: 'client.example', validForDays: 30 });
  const store = async (host: string) =>
    cp.api('POST', '/v1/client-certificates', { host, ...pair });
  for (const host of ['shop.example', '*.example', 'other.internal']) {
    assert.equal((await store(host)).status, 201);
  }
  const known = await make(cp, 'api', { request: { method: 'GET', url } });
  const open = await make(cp, 'api', { request: { method: 'GET', url: '{{HOST}}/x' } });
  const chosen = (await assigned(agent, known)).clientCertificates;
  assert.deepEqual(
    chosen.map(({ host }) => host),
    ['shop.example'],
  );
  assert.equal(chosen[0]?.key, pair.key);
  assert.equal((await assigned(agent, open)).clientCertificates.length, 3);
  const redirecting = await make(cp, 'api', {
    request: { method: 'GET', url: 'http://shop.example:8080/' },
  });
  assert.equal((await assigned(agent, redirecting)).clientCertificates[0]?.host, 'shop.example');
});

test('scripts that go where they want have all certificates; suites have none', async () => {
  await using cp = await startTestControlPlane();
  const agent = await agentOf(cp);
  const pair = await selfSigned({ host: 'client.example', validForDays: 30 });
  for (const host of ['older.example', '*.newer.example']) {
    await cp.api('POST', '/v1/client-certificates', { host, ...pair });
  }
  for (const [path, fields] of Object.entries({
    browser: { script: '1' },
    multistep: { script: '1' },
    agentic: { prompt: 'look at the shop' },
  })) {
    const { clientCertificates } = await assigned(agent, await make(cp, path, fields));
    const hosts = clientCertificates.map(({ host }) => host);
    assert.deepEqual(hosts.sort(), ['*.newer.example', 'older.example'], path);
  }
  const suite = await make(cp, 'playwright', { codeBundlePath: 'bundles/x.tgz' });
  assert.deepEqual((await assigned(agent, suite)).clientCertificates, []);
});

test('agents get their checks again when inherited settings have changed', async () => {
  await using cp = await startTestControlPlane();
  const agent = await agentOf(cp);
  const id = await make(cp, 'browser', { script: "require('./snippets/keys.js')" });
  await assigned(agent, id);
  const told = async (): Promise<AssignedCheck | undefined> =>
    (await agent.checkIn(types, runtimes)).upserts.find((check) => check.id === id);
  assert.equal(await told(), undefined);
  await cp.api('POST', '/v1/variables', { key: 'A', value: '1' });
  assert.equal((await told())?.environment[0]?.value, '1');
  await cp.api('PUT', '/v1/variables/A', { value: '2' });
  assert.equal((await told())?.environment[0]?.value, '2');
  await cp.api('DELETE', '/v1/variables/A');
  assert.deepEqual((await told())?.environment, []);
  const { body } = await cp.api('POST', '/v1/snippets', { name: 'keys', script: '1' });
  assert.equal((await told())?.snippets[0]?.source, '1');
  await cp.api('PUT', `/v1/snippets/${String(body.id)}`, { name: 'keys', script: '2' });
  assert.equal((await told())?.snippets[0]?.source, '2');
  assert.equal(await told(), undefined);
});

test('suites and agentic checks are not retried, whatever their strategy', async () => {
  await using cp = await startTestControlPlane();
  const agent = await agentOf(cp);
  const retryStrategy = { type: 'FIXED', baseBackoffSeconds: 1, maxRetries: 2 };
  const kinds = {
    playwright: { codeBundlePath: 'bundles/x.tgz' },
    agentic: { prompt: 'look at the shop' },
    browser: { script: '1' },
  };
  const strategies: unknown[] = [];
  for (const [path, fields] of Object.entries(kinds)) {
    const id = await make(cp, path, { ...fields, retryStrategy });
    agent.snapshot = null;
    const { upserts } = await agent.checkIn(['PLAYWRIGHT', 'AGENTIC', 'BROWSER'], runtimes);
    strategies.push(upserts.find((check) => check.id === id)?.retryStrategy?.type ?? null);
  }
  assert.deepEqual(strategies, [null, null, 'FIXED']);
});
