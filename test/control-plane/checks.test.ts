import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import test, { after, before, suite } from 'node:test';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';

let cp: TestControlPlane;
before(async () => {
  cp = await startTestControlPlane();
});
after(() => cp[Symbol.asyncDispose]());

const bodies: Record<string, Record<string, unknown>> = {
  url: { name: 'a', request: { url: 'https://a.example' } },
  tcp: { name: 'a', request: { hostname: 'a.example', port: 443 } },
  dns: { name: 'a', heartbeat: {}, script: '', request: { query: 'a.example', recordType: 'A' } },
  icmp: { name: 'a', request: { hostname: 'a.example' } },
  heartbeat: {
    name: 'a',
    heartbeat: { period: 5, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' },
  },
};

/** A body with one field changed; a path such as `request.url`; undefined removes it. */
function withField(type: string, path: string, value: unknown): Record<string, unknown> {
  const body = structuredClone(bodies[type] ?? {});
  const parts = path.split('.');
  const last = parts.pop() ?? '';
  let at: Record<string, unknown> = body;
  for (const part of parts) at = at[part] as Record<string, unknown>;
  if (value === undefined) Reflect.deleteProperty(at, last);
  else at[last] = value;
  return body;
}

test('a creation applies the defaults of the specification', async () => {
  const { status, body } = await cp.api('POST', '/v1/checks/url', bodies['url']);
  assert.equal(status, 201);
  const expected = {
    checkType: 'URL',
    activated: true,
    muted: false,
    doubleCheck: true,
    shouldFail: false,
    useGlobalAlertSettings: true,
    runParallel: false,
    frequency: 10,
    degradedResponseTime: 3000,
    maxResponseTime: 5000,
    updated_at: null,
  };
  for (const [field, value] of Object.entries(expected)) assert.equal(body[field], value, field);
  assert.ok(body.frequencyOffset >= 1 && body.frequencyOffset <= 100);
  const dns = await cp.api('POST', '/v1/checks/dns', bodies['dns']);
  assert.equal(dns.body.degradedResponseTime, 500);
  assert.equal(dns.body.maxResponseTime, 1000);
  assert.equal(dns.body.request.protocol, 'UDP');
});

const refused: [type: string, path: string, value: unknown, key?: string][] = [
  ['url', 'name', undefined],
  ['url', 'name', ''],
  ['url', 'request', undefined],
  ['url', 'request.url', 'ftp://a.example'],
  ['url', 'request.url', `https://a.example/${'x'.repeat(2048)}`],
  ['url', 'request.method', 'POST'],
  ['url', 'request.ipFamily', 'IPv5'],
  ['url', 'request.skipSSL', 'yes'],
  [
    'url',
    'request.assertions',
    [{ source: 'BODY', comparison: 'EQUALS', target: '1' }],
    'request.assertions.0.source',
  ],
  [
    'url',
    'request.assertions',
    [{ source: 'STATUS_CODE', comparison: 'IS_NULL', target: '1' }],
    'request.assertions.0.comparison',
  ],
  [
    'url',
    'request.assertions',
    [{ source: 'STATUS_CODE', comparison: 'EQUALS', target: 200 }],
    'request.assertions.0.target',
  ],
  ['url', 'description', 'x'.repeat(501)],
  ['url', 'degradedResponseTime', -1],
  ['url', 'degradedResponseTime', 30_001],
  ['url', 'maxResponseTime', 30_001],
  ['url', 'maxResponseTime', '5000'],
  ['url', 'frequency', 3],
  ['url', 'frequency', 7.5],
  ['url', 'frequencyOffset', 0],
  ['url', 'frequencyOffset', 101],
  ['url', 'groupOrder', -1],
  ['url', 'groupId', 99],
  ['url', 'locations', ['mars-north-1'], 'locations.0'],
  ['url', 'privateLocations', ['nowhere']],
  ['url', 'runtimeId', '2020.01'],
  ['url', 'tags', [''], 'tags.0'],
  ['url', 'alertChannelSubscriptions', [{ alertChannelId: 1, activated: true }]],
  ['url', 'alertSettings', { escalationType: 'NEVER' }, 'alertSettings.escalationType'],
  ['url', 'alertSettings', { reminders: { amount: 6 } }, 'alertSettings.reminders.amount'],
  ['url', 'retryStrategy', { type: 'SOMETIMES' }, 'retryStrategy.type'],
  ['url', 'retryStrategy', { type: 'FIXED', maxRetries: 11 }, 'retryStrategy.maxRetries'],
  [
    'url',
    'retryStrategy',
    { type: 'FIXED', maxDurationSeconds: 601 },
    'retryStrategy.maxDurationSeconds',
  ],
  ['url', 'triggerIncident', { name: 'x' }, 'triggerIncident.serviceId'],
  [
    'url',
    'environmentVariables',
    Array.from({ length: 51 }, (_v, i) => ({ key: `k${i}`, value: '' })),
  ],
  ['tcp', 'request.hostname', undefined],
  ...['a:443', 'a.example:443', '192.0.2.1:443', 'tcp://a', 'a/b', 'a b', '[::1]:443'].flatMap(
    (host): (typeof refused)[number][] => [
      ['tcp', 'request.hostname', host],
      ['icmp', 'request.hostname', host],
    ],
  ),
  ['tcp', 'request.port', undefined],
  ['tcp', 'request.port', 65_536],
  ['tcp', 'maxResponseTime', 5001],
  ['dns', 'request.query', ''],
  ['dns', 'request.recordType', 'ANY'],
  ['dns', 'request.protocol', 'TLS'],
  ['dns', 'degradedResponseTime', 5001],
  ['icmp', 'request.hostname', undefined],
  ['icmp', 'request.pingCount', 51],
  ['icmp', 'maxPacketLossThreshold', 0],
  ['icmp', 'maxPacketLossThreshold', 101],
  [
    'icmp',
    'request.assertions',
    [{ source: 'LATENCY', comparison: 'LESS_THAN', property: 'mode', target: '1' }],
    'request.assertions.0.property',
  ],
  ['heartbeat', 'heartbeat', undefined],
  ['heartbeat', 'heartbeat.period', 0.1],
  ['heartbeat', 'heartbeat.periodUnit', 'weeks'],
];

suite('a creation is refused with 400 that names the field:', () => {
  for (const [type, path, value, key = path] of refused) {
    const shown = value === undefined ? 'absent' : JSON.stringify(value).slice(0, 60);
    test(`${type} ${key} = ${shown}`, async () => {
      const { status, body } = await cp.api(
        'POST',
        `/v1/checks/${type}`,
        withField(type, path, value),
      );
      assert.equal(status, 400);
      assert.ok(body.attributes.keys.includes(key), `${key} not in ${body.attributes.keys}`);
      assert.ok(body.message.includes(`"${body.attributes.keys[0]}"`), body.message);
    });
  }
});

const hosts = ['a.example', 'a_b', '::1', '[2001:db8::1]', 'fe80::1%eth0', '{{HOST}}', 'a-{{B}}.c'];

test('a host is a name or an address; what an earlier version stored with a port stays', async () => {
  for (const host of hosts) {
    const body = withField('tcp', 'request.hostname', host);
    assert.equal((await cp.api('POST', '/v1/checks/tcp', body)).status, 201, host);
  }
  const { body: check } = await cp.api('POST', '/v1/checks/tcp', bodies['tcp']);
  const stored = { ...check.request, hostname: 'a:443', url: 'a:443' };
  await cp.controlPlane.services.db
    .updateTable('checks')
    .set({ body_json: JSON.stringify({ ...check, request: stored }) })
    .where('id', '=', check.id)
    .execute();
  const path = `/v1/checks/tcp/${check.id}`;
  const read = (await cp.api('GET', `/v1/checks/${check.id}`)).body;
  assert.equal(read.request.hostname, 'a:443');
  for (const change of [{ name: 'b' }, { request: { ...read.request, port: 80 } }]) {
    assert.equal((await cp.api('PUT', path, change)).status, 200);
  }
  const other = { request: { ...read.request, hostname: 'b:443', url: 'b:443' } };
  const refusal = await cp.api('PUT', path, other);
  assert.equal(refusal.status, 400);
  assert.match(refusal.body.message, /"request.hostname" must be a host name .* without a port/);
});

test('frequency 0 needs an offset of 10, 20 or 30 seconds', async () => {
  const create = (fields: object) =>
    cp.api('POST', '/v1/checks/url', { ...bodies['url'], ...fields });
  assert.equal((await create({ frequency: 0 })).status, 400);
  assert.equal((await create({ frequency: 0, frequencyOffset: 15 })).status, 400);
  assert.equal((await create({ frequency: 0, frequencyOffset: 20 })).status, 201);
  assert.equal((await create({ frequency: 120, frequencyOffset: 2 })).status, 201);
  assert.equal((await create({ frequency: 120, frequencyOffset: 3 })).status, 400);
});

test('an update changes what it names and keeps the rest; null is a value', async () => {
  const created = await cp.api('POST', '/v1/checks/url', {
    ...bodies['url'],
    description: 'before',
    tags: ['a'],
    frequency: 5,
    frequencyOffset: 7,
  });
  const path = `/v1/checks/url/${created.body.id}`;
  const nothing = await cp.api('PUT', path, {});
  assert.equal(nothing.status, 200);
  assert.deepEqual({ ...nothing.body, updated_at: null }, created.body);
  const changed = await cp.api('PUT', path, { description: null, muted: true });
  assert.equal(changed.body.description, null);
  assert.equal(changed.body.muted, true);
  assert.deepEqual(changed.body.tags, ['a']);
  assert.equal(changed.body.frequency, 5);
  assert.equal((await cp.api('PUT', path, { frequency: 4 })).status, 400);
  assert.equal((await cp.api('PUT', path, { frequency: 0 })).status, 400);
  assert.equal((await cp.api('PUT', path, { frequency: 1 })).status, 200);
  assert.equal((await cp.api('PUT', path.replace('url', 'tcp'), {})).status, 404);
});

test('a check can be read, listed and deleted', async () => {
  const { body: created } = await cp.api('POST', '/v1/checks/icmp', {
    ...bodies['icmp'],
    tags: ['only-here'],
  });
  const { warnings, ...body } = created;
  assert.deepEqual(warnings, ['the check has no location, so it never runs']);
  assert.deepEqual((await cp.api('GET', `/v1/checks/${body.id}`)).body, body);
  const listed = await cp.api('GET', '/v1/checks?tag=only-here&tag=other&checkType=ICMP&search=A');
  assert.deepEqual(listed.body, [body]);
  assert.equal(listed.headers.get('content-range'), 'items 0-0/1');
  assert.equal((await cp.api('DELETE', `/v1/checks/${body.id}`)).status, 204);
  assert.equal((await cp.api('GET', `/v1/checks/${body.id}`)).status, 404);
  assert.equal((await cp.api('DELETE', `/v1/checks/${body.id}`)).status, 404);
});

test('a search heeds no case, in any script, and takes no character for a wildcard', async () => {
  await using fresh = await startTestControlPlane();
  for (const name of ['ÜBERSICHT Kasse', 'übersicht Lager', 'ΣΙΓΜΑ 100%']) {
    await fresh.api('POST', '/v1/checks/url', { ...bodies['url'], name });
  }
  const found = async (search: string) =>
    (await fresh.api('GET', `/v1/checks?search=${encodeURIComponent(search)}`)).body.length;
  assert.equal(await found('Übersicht'), 2);
  assert.equal(await found('σιγμα'), 1);
  assert.equal(await found('%'), 1);
  assert.equal(await found('_'), 0);
});

test('lists are paged, and say how many there are', async () => {
  await using fresh = await startTestControlPlane();
  for (let index = 0; index < 12; index += 1) {
    await fresh.api('POST', '/v1/checks/url', { ...bodies['url'], name: `check ${index}` });
  }
  const second = await fresh.api('GET', '/v1/checks?limit=5&page=3');
  assert.equal(second.body.length, 2);
  assert.equal(second.headers.get('content-range'), 'items 10-11/12');
  const beyond = await fresh.api('GET', '/v1/checks?page=9');
  assert.equal(beyond.headers.get('content-range'), 'items */12');
  for (const query of [
    'limit=0',
    'limit=101',
    'limit=ten',
    'page=0',
    'limit=1&limit=2',
    'checkType=FTP',
  ]) {
    const { status, body } = await fresh.api('GET', `/v1/checks?${query}`);
    assert.equal(status, 400, query);
    assert.deepEqual(body.attributes.keys, [query.split('=')[0]]);
  }
});

test('STRICT_DNS_BODY requires what existing clients leave out', async () => {
  await using strict = await startTestControlPlane({ settings: { STRICT_DNS_BODY: 'true' } });
  const body = { name: 'a', request: { query: 'a.example', recordType: 'A' } };
  assert.equal((await cp.api('POST', '/v1/checks/dns', body)).status, 201);
  const { status, body: error } = await strict.api('POST', '/v1/checks/dns', body);
  assert.deepEqual([status, error.attributes.keys], [400, ['heartbeat', 'script']]);
  const whole = { ...body, heartbeat: {}, script: '' };
  assert.equal((await strict.api('POST', '/v1/checks/dns', whole)).status, 201);
});

test('missing and invalid keys answer 401', async () => {
  const path = '/v1/checks/url';
  const noKey = await fetch(cp.url + path, { method: 'POST' });
  assert.equal(noKey.status, 401);
  assert.equal(((await noKey.json()) as { message: string }).message, 'Bad Token');
  for (const authorization of ['Bearer nonsense-nonsense', 'Basic abc', 'Bearer ', cp.apiKey]) {
    const { status, body } = await cp.api('GET', '/v1/checks', undefined, { authorization });
    assert.equal(status, 401);
    assert.equal(body.error, 'Unauthorized');
  }
  const locationKey = await cp.locationKey('eu-west-1');
  const asAgent = await cp.api('GET', '/v1/checks', undefined, {
    authorization: `Bearer ${locationKey}`,
  });
  assert.equal(asAgent.status, 401);
  const wrongMethod = await cp.api('PATCH', '/v1/checks');
  assert.equal(wrongMethod.status, 405);
  assert.equal(wrongMethod.headers.get('allow'), 'HEAD, GET, POST');
  assert.equal((await cp.api('GET', '/v1/nothing')).status, 404);
  assert.equal((await cp.api('POST', path, '{"name":')).status, 400);
  assert.equal((await cp.api('POST', path, '[]')).status, 400);
  assert.equal((await cp.api('POST', path, 'x'.repeat(1_100_000))).status, 413);
  const form = await cp.api('POST', path, 'a=b', {
    'content-type': 'application/x-www-form-urlencoded',
  });
  assert.equal(form.status, 415);
});

test('the account may be named under either header, and must be the one of the key', async () => {
  for (const name of ['x-service-account', 'X-Checkly-Account']) {
    assert.equal(
      (await cp.api('GET', '/v1/checks', undefined, { [name]: cp.accountId })).status,
      200,
    );
    const other = await cp.api('GET', '/v1/checks', undefined, { [name]: crypto.randomUUID() });
    assert.equal(other.status, 403);
  }
});

test('a compressed body is understood, a broken one refused', async () => {
  const send = (body: Uint8Array<ArrayBuffer>) =>
    fetch(`${cp.url}/v1/checks/url`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${cp.apiKey}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body,
    });
  assert.equal((await send(Buffer.from(gzipSync(JSON.stringify(bodies['url']))))).status, 201);
  assert.equal((await send(Buffer.from('not gzip'))).status, 400);
});
