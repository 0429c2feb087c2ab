import assert from 'node:assert/strict';
import test from 'node:test';
import type { Role } from '@monitor/shared/contract/route.ts';
import { createApiKey } from '../../control-plane/accounts/keys/store.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';

async function as(cp: TestControlPlane, role: Role): Promise<Record<string, string>> {
  const { rawKey } = await createApiKey(cp.controlPlane.services, cp.accountId, {
    name: role,
    role,
  });
  return { authorization: `Bearer ${rawKey}` };
}

async function everythingStored(cp: TestControlPlane): Promise<string> {
  const { db } = cp.controlPlane.services;
  const tables = ['variables', 'checks', 'check_groups', 'client_certificates'] as const;
  const rows = await Promise.all(tables.map((table) => db.selectFrom(table).selectAll().execute()));
  return JSON.stringify(rows);
}

test('a key is taken once, and stays', async () => {
  await using cp = await startTestControlPlane();
  await cp.api('POST', '/v1/variables', { key: 'HOST', value: 'a' });
  const twice = await cp.api('POST', '/v1/variables', { key: 'HOST', value: 'b' });
  assert.deepEqual([twice.status, twice.body.attributes.keys], [409, ['key']]);
  assert.equal((await cp.api('PUT', '/v1/variables/HOST', { key: 'OTHER' })).status, 400);
});

test('a secret is never given back, never stored readable, and stays a secret', async () => {
  await using cp = await startTestControlPlane();
  const variable = { key: 'TOKEN', value: 's3cr3t-value', secret: true };
  assert.equal((await cp.api('POST', '/v1/variables', variable)).body.value, null);
  const back = await cp.api('PUT', '/v1/variables/TOKEN', { secret: false });
  assert.deepEqual(back.body, { key: 'TOKEN', value: null, locked: false, secret: true });
  const check = {
    name: 'a',
    script: null,
    environmentVariables: [variable, { key: 'PLAIN', value: 'plain-value' }],
  };
  const made = await cp.api('POST', '/v1/checks/browser', check);
  assert.deepEqual(made.body.environmentVariables, [
    { key: 'TOKEN', value: null, locked: false, secret: true },
    { key: 'PLAIN', value: 'plain-value', locked: false, secret: false },
  ]);
  await cp.api('POST', '/v2/check-groups', { name: 'g', environmentVariables: [variable] });
  const stored = await everythingStored(cp);
  assert.equal(stored.includes('s3cr3t'), false);
  assert.equal(stored.includes('plain-value'), true);
});

test('what a client reads back and writes again keeps the secret', async () => {
  await using cp = await startTestControlPlane();
  const { body } = await cp.api('POST', '/v1/checks/browser', {
    name: 'a',
    script: null,
    environmentVariables: [{ key: 'TOKEN', value: 's3cr3t-value', secret: true }],
  });
  const { db, secrets } = cp.controlPlane.services;
  const opened = async () => {
    const row = await db.selectFrom('checks').select('body_json').executeTakeFirstOrThrow();
    const [variable] = (JSON.parse(row.body_json) as { environmentVariables: { value: string }[] })
      .environmentVariables;
    return secrets.decrypt(variable?.value ?? '', cp.accountId);
  };
  assert.equal(await opened(), 's3cr3t-value');
  await cp.api('PUT', `/v1/checks/browser/${body.id}`, {
    name: 'b',
    environmentVariables: body.environmentVariables,
  });
  assert.equal(await opened(), 's3cr3t-value');
  await cp.api('PUT', `/v1/checks/browser/${body.id}`, {
    environmentVariables: [{ key: 'TOKEN', value: 'new', secret: false }],
  });
  assert.equal(await opened(), 'new');
});

test('of a key that is there twice, each entry keeps its own value', async () => {
  await using cp = await startTestControlPlane();
  const { body } = await cp.api('POST', '/v1/checks/browser', {
    name: 'a',
    script: null,
    environmentVariables: [
      { key: 'TOKEN', value: 's3cr3t-value', secret: true },
      { key: 'TOKEN', value: 'plain', locked: true },
    ],
  });
  const { environmentVariables } = body;
  await cp.api('PUT', `/v1/checks/browser/${body.id}`, { environmentVariables });
  const { db, secrets } = cp.controlPlane.services;
  const opened = async (): Promise<string[]> => {
    const row = await db.selectFrom('checks').select('body_json').executeTakeFirstOrThrow();
    const stored = JSON.parse(row.body_json) as { environmentVariables: { value: string }[] };
    return stored.environmentVariables.map(({ value }) => secrets.decrypt(value, cp.accountId));
  };
  assert.deepEqual(await opened(), ['s3cr3t-value', 'plain']);
  // The entries in another order, and one as what it was not: the secret is not revealed.
  const swapped = [
    { key: 'TOKEN', value: null },
    { key: 'TOKEN', value: null, secret: true },
  ];
  await cp.api('PUT', `/v1/checks/browser/${body.id}`, { environmentVariables: swapped });
  const shown = await cp.api('GET', `/v1/checks/${body.id}`);
  assert.doesNotMatch(JSON.stringify(shown.body), /s3cr3t-value/);
  // Without the first entry, the second one keeps the value that runs got.
  const last = [{ key: 'TOKEN', value: null, secret: true }];
  await cp.api('PUT', `/v1/checks/browser/${body.id}`, { environmentVariables: last });
  assert.deepEqual(await opened(), ['plain']);
});

test('locked values are hidden from keys that may not write', async () => {
  await using cp = await startTestControlPlane();
  await cp.api('POST', '/v1/variables', { key: 'LOCKED', value: 'l', locked: true });
  const { body: check } = await cp.api('POST', '/v1/checks/api', {
    name: 'a',
    environmentVariables: [{ key: 'LOCKED', value: 'l', locked: true }],
    request: {
      method: 'GET',
      url: 'https://a.example',
      headers: [
        { key: 'authorization', value: 'hidden', locked: true },
        { key: 'accept', value: 'shown' },
      ],
    },
  });
  for (const [role, seen] of [
    ['READ_ONLY', [null, null, '']],
    ['READ_RUN', [null, null, '']],
    ['READ_WRITE', ['l', 'l', 'hidden']],
  ] as const) {
    const headers = await as(cp, role);
    const variable = await cp.api('GET', '/v1/variables/LOCKED', undefined, headers);
    const read = await cp.api('GET', `/v1/checks/${check.id}`, undefined, headers);
    assert.deepEqual(
      [
        variable.body.value,
        read.body.environmentVariables[0].value,
        read.body.request.headers[0].value,
      ],
      seen,
      role,
    );
    assert.equal(read.body.request.headers[1].value, 'shown');
  }
});

test('credentials are hidden from keys that may not write, wherever they show', async () => {
  await using cp = await startTestControlPlane();
  const secret = 'hunter2-hunter2';
  const header = { key: 'authorization', value: secret, locked: true };
  for (const body of [
    {
      type: 'WEBHOOK',
      config: { name: 'w', url: 'https://a.example', headers: [header], webhookSecret: secret },
    },
    { type: 'PAGERDUTY', config: { serviceKey: secret } },
    { type: 'OPSGENIE', config: { name: 'o', apiKey: secret, region: 'EU', priority: 'P1' } },
  ]) {
    assert.equal((await cp.api('POST', '/v1/alert-channels', body)).status, 201);
  }
  const basicAuth = { username: 'u', password: secret };
  const { body: group } = await cp.api('POST', '/v2/check-groups', {
    name: 'g',
    apiCheckDefaults: { basicAuth, headers: [header] },
  });
  await cp.api('POST', '/v1/checks/api', {
    name: 'a',
    groupId: group.id,
    request: { method: 'GET', url: 'https://a.example', basicAuth },
  });
  await cp.api('POST', '/v1/private-locations', {
    name: 'l',
    slugName: 'l',
    proxyUrl: `http://user:${secret}@proxy.internal:3128`,
  });
  const paths = [
    '/v1/alert-channels',
    '/v1/checks',
    '/v1/checks?applyGroupSettings=true',
    '/v1/check-groups',
    `/v1/check-groups/${group.id}/checks`,
    '/v1/private-locations',
  ];
  const low = await as(cp, 'READ_RUN');
  for (const path of paths) {
    const hidden = await cp.api('GET', path, undefined, low);
    assert.equal(JSON.stringify(hidden.body).includes(secret), false, path);
    const shown = await cp.api('GET', path);
    assert.equal(JSON.stringify(shown.body).includes(secret), true, path);
  }
});

test('limits of variables: 50 for a check, 100 for a group', async () => {
  await using cp = await startTestControlPlane();
  const variables = (count: number) =>
    Array.from({ length: count }, (_variable, index) => ({ key: `V${index}`, value: '' }));
  const check = (count: number) =>
    cp.api('POST', '/v1/checks/browser', {
      name: 'a',
      script: null,
      environmentVariables: variables(count),
    });
  const group = (count: number) =>
    cp.api('POST', '/v2/check-groups', { name: 'a', environmentVariables: variables(count) });
  assert.equal((await check(50)).status, 201);
  assert.equal((await check(51)).status, 400);
  assert.equal((await group(100)).status, 201);
  assert.equal((await group(101)).status, 400);
});

test('what uses a snippet or a service that is deleted goes without, and can be saved again', async () => {
  await using cp = await startTestControlPlane();
  const { body: snippet } = await cp.api('POST', '/v1/snippets', { name: 's', script: 'x' });
  const { body: service } = await cp.api('POST', '/v1/status-pages/services', { name: 's' });
  const { body: check } = await cp.api('POST', '/v1/checks/api', {
    name: 'a',
    setupSnippetId: snippet.id,
    triggerIncident: {
      serviceId: service.id,
      severity: 'MAJOR',
      name: 'down',
      description: '',
      notifySubscribers: false,
    },
    request: { method: 'GET', url: 'https://a.example' },
  });
  const { body: group } = await cp.api('POST', '/v2/check-groups', {
    name: 'g',
    tearDownSnippetId: snippet.id,
  });
  await cp.api('DELETE', `/v1/snippets/${snippet.id}`);
  await cp.api('DELETE', `/v1/status-pages/services/${service.id}`);
  const read = await cp.api('GET', `/v1/checks/${check.id}`);
  assert.deepEqual([read.body.setupSnippetId, read.body.triggerIncident], [null, null]);
  assert.equal((await cp.api('PUT', `/v1/checks/api/${check.id}`, read.body)).status, 200);
  const groups = await cp.api('GET', `/v1/check-groups/${group.id}`);
  assert.equal(groups.body.tearDownSnippetId, null);
  assert.equal((await cp.api('PUT', `/v2/check-groups/${group.id}`, groups.body)).status, 200);
});
