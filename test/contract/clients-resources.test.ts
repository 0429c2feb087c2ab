/** The rest of what existing clients manage; see `clients.test.ts`. */
import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import { existingClient, zeroDates } from './existing-client.ts';

const { call, lifeCycle } = existingClient();

suite('alert channels', () => {
  const flags = { sendRecovery: true, sendFailure: true, sendDegraded: false };
  const configs: Record<string, Record<string, unknown>> = {
    EMAIL: { address: 'a@a.example' },
    SLACK: { url: 'https://hooks.a.example/x', channel: '#ops' },
    SMS: { name: 'on call', number: '+15550100' },
    CALL: { name: 'on call', number: '+15550100' },
    PAGERDUTY: { serviceKey: 'abc', serviceName: 'shop', account: 'acme' },
    OPSGENIE: { name: 'ops', apiKey: 'abc', region: 'EU', priority: 'P1' },
    WEBHOOK: {
      name: 'hook',
      url: 'https://a.example/{{CHECK_ID}}',
      method: 'post'.toUpperCase(),
      webhookType: 'WEBHOOK_DISCORD',
      template: '{"title": "{{ALERT_TITLE}}"}',
      webhookSecret: 'abc',
      headers: [{ key: 'x-a', value: 'b', locked: false }],
      queryParameters: [],
    },
  };
  for (const [type, config] of Object.entries(configs)) {
    test(`${type}: what was sent is read back`, async () => {
      await lifeCycle(
        '/v1/alert-channels',
        { id: 0, type, config, ...flags, ...zeroDates },
        {
          type,
          config,
          ...flags,
          sslExpiry: false,
          sslExpiryThreshold: 30,
          subscriptions: [],
        },
      );
    });
  }

  test('subscriptions come with the channel, and one at a time', async () => {
    const check = await call(201, 'POST', '/v1/checks/url', {
      name: 'a',
      request: { url: 'https://a.example' },
    });
    const channel = await call(201, 'POST', '/v1/alert-channels', {
      type: 'EMAIL',
      config: configs['EMAIL'],
      subscriptions: [{ checkId: check.id, groupId: null, activated: true }],
    });
    assert.partialDeepStrictEqual(channel.subscriptions, [{ checkId: check.id, activated: true }]);
    const path = `/v1/alert-channels/${channel.id}/subscriptions`;
    await call(200, 'PUT', path, { checkId: check.id, groupId: null, activated: false });
    const read = await call(200, 'GET', `/v1/alert-channels/${channel.id}`);
    assert.equal(read.subscriptions[0].activated, false);
    const { alertChannelSubscriptions } = await call(200, 'GET', `/v1/checks/${check.id}`);
    assert.deepEqual(alertChannelSubscriptions, [{ alertChannelId: channel.id, activated: false }]);
  });
});

test('snippets', () =>
  lifeCycle(
    '/v1/snippets',
    { id: 0, name: 'token', script: 'let a', ...zeroDates },
    { name: 'token', script: 'let a' },
  ));

test('variables go by their keys', async () => {
  const variable = { key: 'API_URL', value: 'https://a.example', locked: false };
  await lifeCycle('/v1/variables', variable, { ...variable, secret: false }, { key: 'key' });
});

test('maintenance windows, with fields of later versions', async () => {
  const window = {
    id: 0,
    name: 'nightly',
    startsAt: '2030-08-24T00:00:00.000Z',
    endsAt: '2030-08-25T00:00:00.000Z',
    repeatUnit: 'MONTH',
    repeatEndsAt: '2031-08-24T00:00:00.000Z',
    repeatInterval: 1,
    tags: ['auto'],
    created_at: '',
    updated_at: '',
  };
  const { id: _id, created_at: _created, updated_at: _updated, ...expected } = window;
  await lifeCycle('/v1/maintenance-windows', { ...window, pauseAllChecks: false }, expected);
});

test('dashboards: the path takes the text id, the body has the number', () =>
  lifeCycle(
    '/v1/dashboards',
    {
      customUrl: 'acme-status',
      logo: 'https://a.example/logo.svg',
      favicon: 'https://a.example/logo.svg',
      link: 'https://a.example',
      description: 'of the shop',
      header: 'Status',
      width: 'FULL',
      checksPerPage: 15,
      useTagsAndOperator: true,
      refreshRate: 60,
      paginate: true,
      paginationRate: 30,
      hideTags: false,
      enableIncidents: false,
      tags: ['api'],
      ...zeroDates,
    },
    { customUrl: 'acme-status', width: 'FULL', paginationRate: 30 },
    { key: 'dashboardId' },
  ));

test('dashboards: a domain alone comes with an empty address', () =>
  lifeCycle(
    '/v1/dashboards',
    { customUrl: '', customDomain: 'board.example.com', refreshRate: 60, paginationRate: 60 },
    { customUrl: null, customDomain: 'board.example.com' },
    { key: 'dashboardId' },
  ));

test('status pages: services are created with 201, cards have neither id nor page', async () => {
  const service = await call(201, 'POST', '/v1/status-pages/services', { name: 'Foo service' });
  const body = {
    name: 'Foo status page',
    url: 'foo-status-page',
    defaultTheme: 'AUTO',
    cards: [{ name: 'Foo card', services: [{ id: service.id, name: 'Foo service' }] }],
  };
  const page = await call(201, 'POST', '/v1/status-pages', body);
  const path = `/v1/status-pages/${page.id}`;
  const read = await call(200, 'GET', path);
  assert.partialDeepStrictEqual(read, body);
  // The cards that were read are what such a client sends next.
  const replaced = await call(200, 'PUT', path, read);
  assert.deepEqual(replaced.cards[0].id, read.cards[0].id);
  const listed = await call(200, 'GET', '/v1/status-pages?limit=100', undefined, 'CLI');
  assert.deepEqual([listed.length, listed.nextId, listed.entries[0].id], [1, null, page.id]);
  const all = await call(200, 'GET', '/v1/status-pages/services?paginated=false', undefined, 'CLI');
  assert.ok(JSON.stringify(all).includes(service.id));
  await call(204, 'DELETE', path);
});
