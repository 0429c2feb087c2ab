/**
 * Requests as clients send them that were written for services of this kind, and what such a client
 * needs of the answer. The requests are rebuilt from what those clients do; nothing of them is copied.
 */
import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import { existingClient, zeroDates } from './existing-client.ts';

const { controlPlane, call, lifeCycle } = existingClient();

/** A settings object whose unset parts arrive empty, with a part that is no longer in use. */
const emptySettings = {
  escalationType: 'RUN_BASED',
  runBasedEscalation: { failedRunThreshold: 1 },
  timeBasedEscalation: {},
  reminders: {},
  parallelRunFailureThreshold: {},
  sslCertificates: { enabled: false, alertThreshold: 30 },
};

suite('checks', () => {
  const common = {
    id: '',
    activated: true,
    muted: false,
    shouldFail: false,
    locations: ['eu-west-1', 'us-east-1'],
    privateLocations: [],
    tags: ['auto'],
    frequency: 10,
    alertSettings: emptySettings,
    useGlobalAlertSettings: true,
    alertChannelSubscriptions: [],
    runtimeId: null,
    groupId: null,
    runParallel: false,
    triggerIncident: null,
    ...zeroDates,
  };

  test('no retries are sent as null together with doubleCheck false, and read back so', async () => {
    await lifeCycle(
      '/v1/checks',
      {
        ...common,
        checkType: 'URL',
        name: 'no retries',
        doubleCheck: false,
        retryStrategy: null,
        request: {
          url: 'https://a.example',
          method: 'GET',
          followRedirects: true,
          skipSSL: false,
          ipFamily: 'IPv4',
          assertions: [
            {
              source: 'STATUS_CODE',
              comparison: 'EQUALS',
              property: '',
              target: '200',
              regex: null,
            },
          ],
        },
      },
      { checkType: 'URL', doubleCheck: false, retryStrategy: null, script: null, scriptPath: null },
      { create: '/v1/checks/url', update: '/v1/checks/url' },
    );
  });

  test('lists that were never filled arrive as null, and read as empty', async () => {
    const lists = { headers: null, queryParameters: null, assertions: null };
    const unset = { ...common, environmentVariables: null, privateLocations: null };
    const api = await call(201, 'POST', '/v1/checks', {
      ...unset,
      name: 'api',
      checkType: 'API',
      heartbeat: { period: 0, periodUnit: '', grace: 0, graceUnit: '', pingToken: '' },
      request: { method: 'GET', url: 'https://a.example', body: '', ...lists },
    });
    assert.partialDeepStrictEqual(api.request, {
      headers: [],
      queryParameters: [],
      assertions: [],
    });
    const url = await call(201, 'POST', '/v1/checks/url', {
      ...unset,
      name: 'url',
      request: { url: 'https://a.example', followRedirects: false, skipSSL: false, ...lists },
    });
    assert.deepEqual(url.request.assertions, []);
    const group = await call(201, 'POST', '/v1/check-groups', {
      name: 'group',
      tags: null,
      locations: null,
      environmentVariables: null,
    });
    assert.deepEqual(group.tags, []);
  });

  test('onlyOn may be a bare word, and reads as a list', async () => {
    const retryStrategy = {
      type: 'EXPONENTIAL',
      baseBackoffSeconds: 30,
      maxRetries: 3,
      maxDurationSeconds: 600,
      sameRegion: false,
    };
    for (const onlyOn of ['NETWORK_ERROR', ['NETWORK_ERROR']]) {
      const body = await call(201, 'POST', '/v1/checks/url', {
        ...common,
        name: 'retries',
        retryStrategy: { ...retryStrategy, onlyOn },
        request: { url: 'https://a.example' },
      });
      assert.deepEqual(body.retryStrategy, { ...retryStrategy, onlyOn: ['NETWORK_ERROR'] });
    }
    const single = await call(201, 'POST', '/v1/checks/url', {
      ...common,
      name: 'one retry',
      retryStrategy: { type: 'SINGLE_RETRY', baseBackoffSeconds: 0, sameRegion: false },
      request: { url: 'https://a.example' },
    });
    assert.equal(single.retryStrategy.type, 'SINGLE_RETRY');
  });

  test('a TCP monitor by its older names: url and body', async () => {
    const made = await call(201, 'POST', '/v1/checks/tcp', {
      ...common,
      name: 'tcp',
      checkType: 'TCP',
      request: { url: 'tcp.a.example', port: 443, body: 'PING', ipFamily: 'IPv6', assertions: [] },
    });
    assert.partialDeepStrictEqual(made.request, {
      url: 'tcp.a.example',
      hostname: 'tcp.a.example',
      body: 'PING',
      data: 'PING',
    });
    const read = await call(200, 'GET', `/v1/checks/${made.id}`);
    // What was read is what such a client sends next.
    const again = await call(200, 'PUT', `/v1/checks/tcp/${made.id}`, read);
    assert.deepEqual(again.request, made.request);
  });

  test('a DNS monitor without heartbeat and script, with an empty name server', async () => {
    const made = await call(201, 'POST', '/v1/checks/dns', {
      ...common,
      name: 'dns',
      request: {
        query: 'a.example',
        recordType: 'AAAA',
        nameServer: '',
        protocol: 'UDP',
        assertions: [
          {
            source: 'RESPONSE_CODE',
            comparison: 'EQUALS',
            property: '',
            target: 'NOERROR',
            regex: '',
          },
        ],
      },
    });
    assert.deepEqual([made.degradedResponseTime, made.maxResponseTime], [500, 1000]);
  });

  test('a heartbeat monitor is answered with the address to ping', async () => {
    const made = await call(201, 'POST', '/v1/checks/heartbeat', {
      ...common,
      checkType: 'HEARTBEAT',
      name: 'backup',
      heartbeat: { period: 7, periodUnit: 'days', grace: 1, graceUnit: 'days', pingToken: '' },
    });
    const { heartbeat } = await call(200, 'GET', `/v1/checks/${made.id}`, undefined, 'CLI');
    assert.match(heartbeat.pingToken, /^[\w-]{12,}$/);
    const changed = await call(200, 'PUT', `/v1/checks/heartbeat/${made.id}`, {
      heartbeat: { ...heartbeat, pingToken: '' },
    });
    assert.equal(changed.heartbeat.pingToken, heartbeat.pingToken);
    assert.ok(URL.canParse(heartbeat.pingUrl), heartbeat.pingUrl);
    assert.ok(heartbeat.pingUrl.endsWith(heartbeat.pingToken));
    const ping = await fetch(controlPlane().url + new URL(heartbeat.pingUrl).pathname);
    assert.equal(ping.status, 200);
  });

  test('an API check through the operation of all types, with fields that the server fills', async () => {
    await lifeCycle(
      '/v1/checks',
      {
        ...common,
        name: 'api',
        checkType: 'API',
        sslCheck: true,
        sslCheckDomain: '',
        environmentVariables: [{ key: 'A', value: 'b', locked: false }],
        request: {
          method: 'POST',
          url: 'https://a.example/{{A}}',
          followRedirects: true,
          skipSSL: false,
          body: '{}',
          bodyType: 'JSON',
          headers: [{ key: 'x-a', value: 'b', locked: false }],
          queryParameters: [],
          assertions: [
            {
              edit: false,
              order: 0,
              source: 'JSON_BODY',
              property: '$.a',
              comparison: 'NOT_NULL',
              target: '',
            },
          ],
          basicAuth: {},
        },
      },
      {
        checkType: 'API',
        request: { bodyType: 'JSON', basicAuth: { username: '', password: '' } },
      },
    );
  });

  test('the statuses of all checks come at once, whatever their number', async () => {
    const account = await controlPlane().foreignKey();
    const as = { authorization: `Bearer ${account}` };
    for (let index = 0; index < 12; index += 1) {
      const made = await controlPlane().api(
        'POST',
        '/v1/checks/heartbeat',
        {
          name: `beat ${index}`,
          heartbeat: { period: 1, periodUnit: 'hours', grace: 0, graceUnit: 'minutes' },
        },
        as,
      );
      const ping = await fetch(controlPlane().url + new URL(made.body.heartbeat.pingUrl).pathname);
      assert.equal(ping.status, 200);
    }
    const { body, headers } = await controlPlane().api('GET', '/v1/check-statuses', undefined, as);
    assert.equal(body.length, 12);
    assert.equal(headers.get('content-range'), null);
  });
});

suite('groups', () => {
  const body = {
    name: 'group',
    activated: true,
    muted: false,
    tags: ['auto'],
    locations: ['eu-west-1'],
    concurrency: 3,
    apiCheckDefaults: {
      url: 'a.example/api',
      headers: [{ key: 'X-Test', value: 'foo', locked: false }],
      queryParameters: [{ key: 'query', value: 'foo', locked: false }],
      assertions: [{ source: 'STATUS_CODE', property: '', comparison: 'EQUALS', target: '200' }],
      basicAuth: { username: 'user', password: 'pass' },
    },
    environmentVariables: [{ key: 'ENVTEST', value: 'Hello world', locked: false }],
    privateLocations: null,
    runtimeId: null,
    ...zeroDates,
  };

  test('of version 1: defaults that decide for the checks', async () => {
    const group = {
      ...body,
      alertSettings: emptySettings,
      useGlobalAlertSettings: false,
      retryStrategy: { type: 'FIXED', maxRetries: 1, maxDurationSeconds: 600 },
      runParallel: true,
      doubleCheck: true,
    };
    const expected = { runParallel: true, useGlobalAlertSettings: false, doubleCheck: true };
    await lifeCycle('/v1/check-groups', group, expected);
  });

  test('of version 2: a folder that overrides nothing', async () => {
    const routes = { create: '/v2/check-groups', update: '/v2/check-groups' };
    const group = { name: 'folder', tags: [], locations: [], retryStrategy: 'FALLBACK' };
    const expected = {
      retryStrategy: 'FALLBACK',
      alertSettings: null,
      useGlobalAlertSettings: null,
      runParallel: false,
      doubleCheck: false,
    };
    await lifeCycle('/v1/check-groups', group, expected, routes);
    const none = { ...group, retryStrategy: null };
    await lifeCycle('/v1/check-groups', none, { retryStrategy: null }, routes);
  });
});
