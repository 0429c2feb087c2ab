import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { createApiKey } from '../../control-plane/accounts/keys/store.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { TestClock } from '../support/test-clock.ts';

const email = { type: 'EMAIL', config: { address: 'ops@shop.example' } };

async function makeChannel(cp: TestControlPlane, fields: Record<string, unknown> = email) {
  const { status, body } = await cp.api('POST', '/v1/alert-channels', fields);
  assert.equal(status, 201, JSON.stringify(body));
  return body as { id: number };
}

async function makeCheck(cp: TestControlPlane, query = '', fields: Record<string, unknown> = {}) {
  const { status, body } = await cp.api('POST', `/v1/checks/url${query}`, {
    name: 'a',
    request: { url: 'https://a.example' },
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const configs: Record<string, Record<string, unknown>> = {
  EMAIL: { address: 'a@b.example' },
  SLACK: { url: 'https://hooks.example/x', channel: '#ops' },
  WEBHOOK: { name: 'hook', url: 'https://hooks.example/x' },
  SMS: { name: 'Ada', number: '+4912345' },
  PAGERDUTY: { serviceKey: 'k' },
  OPSGENIE: { name: 'o', apiKey: 'k', region: 'EU', priority: 'P1' },
  CALL: { name: 'Ada', number: '+4912345' },
};

for (const [type, config] of Object.entries(configs)) {
  test(`a channel of type ${type} is stored, with defaults, and needs its configuration`, async () => {
    await using cp = await startTestControlPlane();
    const { body } = await cp.api('POST', '/v1/alert-channels', { type, config });
    assert.deepEqual(
      [body.sendRecovery, body.sendFailure, body.sendDegraded, body.sslExpiry],
      [true, true, false, false],
    );
    assert.deepEqual([body.sslExpiryThreshold, body.autoSubscribe], [30, false]);
    for (const [name, value] of Object.entries(config)) assert.equal(body.config[name], value);
    const refused = await cp.api('POST', '/v1/alert-channels', { type, config: {} });
    assert.equal(refused.status, 400);
    assert.match(refused.body.attributes.keys[0] as string, /^config\./);
    const changed = await cp.api('PUT', `/v1/alert-channels/${body.id}`, { config: {} });
    assert.equal(changed.status, 400);
    assert.match(changed.body.attributes.keys[0] as string, /^config\./);
  });
}

const unusable: [type: string, field: string, ...values: string[]][] = [
  ['SMS', 'number', '0049 30', '12', 'Ada', '+49 30 12345678901234'],
  ['CALL', 'number', '0049 30', ' '],
  ['PAGERDUTY', 'serviceKey', ' ', '\t\n'],
];

for (const [type, field, ...values] of unusable) {
  test(`the ${field} of ${type} is one that can be used; a stored one stays`, async () => {
    await using cp = await startTestControlPlane();
    const usable = configs[type] ?? {};
    const channel = await makeChannel(cp, { type, config: usable });
    const path = `/v1/alert-channels/${channel.id}`;
    const { db, secrets } = cp.controlPlane.services;
    for (const value of values) {
      const config = { ...usable, [field]: value };
      const refused = await cp.api('POST', '/v1/alert-channels', { type, config });
      assert.deepEqual([refused.status, refused.body.attributes.keys], [400, [`config.${field}`]]);
      assert.equal((await cp.api('PUT', path, { config })).status, 400);
      await db
        .updateTable('alert_channels')
        .set({ config_json: secrets.encrypt(JSON.stringify(config), cp.accountId) })
        .where('id', '=', channel.id)
        .execute();
      assert.equal((await cp.api('GET', path)).body.config[field], value);
      const changed = await cp.api('PUT', path, { config, sendDegraded: true });
      assert.equal(changed.status, 200);
      assert.equal((await cp.api('PUT', path, { config: usable })).status, 200);
    }
  });
}

test('a channel changes in part, keeps its type, and goes with its subscriptions', async () => {
  await using cp = await startTestControlPlane();
  const { id } = await makeChannel(cp);
  const check = await makeCheck(cp);
  const path = `/v1/alert-channels/${id}`;
  const changed = await cp.api('PUT', path, { sendDegraded: true });
  assert.deepEqual(
    [changed.body.sendDegraded, changed.body.sendFailure, changed.body.config],
    [true, true, email.config],
  );
  assert.equal((await cp.api('PUT', path, { type: 'SMS' })).status, 400);
  assert.equal((await cp.api('DELETE', path)).status, 204);
  assert.equal((await cp.api('GET', path)).status, 404);
  const read = await cp.api('GET', `/v1/checks/${check.id}`);
  assert.deepEqual(read.body.alertChannelSubscriptions, []);
});

test('a new check is subscribed to all channels unless it names its own or that is switched off', async () => {
  await using cp = await startTestControlPlane();
  const one = await makeChannel(cp);
  const two = await makeChannel(cp, { ...email, autoSubscribe: true });
  const all = await makeCheck(cp);
  assert.deepEqual(all.alertChannelSubscriptions, [
    { alertChannelId: one.id, activated: true },
    { alertChannelId: two.id, activated: true },
  ]);
  const own = await makeCheck(cp, '?autoAssignAlerts=false');
  assert.deepEqual(own.alertChannelSubscriptions, []);
  const named = await makeCheck(cp, '', {
    alertChannelSubscriptions: [{ alertChannelId: one.id, activated: false }],
  });
  assert.deepEqual(named.alertChannelSubscriptions, [{ alertChannelId: one.id, activated: false }]);
  const changed = await cp.api('PUT', `/v1/checks/url/${named.id}`, {
    alertChannelSubscriptions: [],
  });
  assert.deepEqual(changed.body.alertChannelSubscriptions, []);
  const untouched = await cp.api('PUT', `/v1/checks/url/${all.id}`, { name: 'b' });
  assert.equal(untouched.body.alertChannelSubscriptions.length, 2);
});

test('a check shows the channels it reaches, by type', async () => {
  await using cp = await startTestControlPlane();
  for (const [type, config] of Object.entries(configs)) await makeChannel(cp, { type, config });
  const { alertChannels } = await makeCheck(cp);
  assert.deepEqual(alertChannels, {
    email: [{ address: 'a@b.example' }],
    slack: [{ url: 'https://hooks.example/x' }],
    sms: [{ name: 'Ada', number: '+4912345' }],
    webhook: [
      {
        name: 'hook',
        url: 'https://hooks.example/x',
        method: 'POST',
        headers: [],
        queryParameters: [],
      },
    ],
  });
});

test('subscriptions are set through the channel too, of a check or of a group', async () => {
  await using cp = await startTestControlPlane();
  const { id } = await makeChannel(cp);
  const check = await makeCheck(cp, '?autoAssignAlerts=false');
  const { body: group } = await cp.api('POST', '/v2/check-groups?autoAssignAlerts=false', {
    name: 'g',
  });
  const path = `/v1/alert-channels/${id}/subscriptions`;
  await cp.api('PUT', path, { checkId: check.id, activated: true });
  await cp.api('PUT', path, { checkId: check.id, activated: false });
  const { body } = await cp.api('PUT', path, { groupId: group.id, activated: true });
  assert.deepEqual(
    body.subscriptions.map((each: Record<string, unknown>) => [
      each['checkId'],
      each['groupId'],
      each['activated'],
    ]),
    [
      [check.id, null, false],
      [null, group.id, true],
    ],
  );
  const read = await cp.api('GET', `/v2/check-groups/${group.id}`);
  assert.equal(read.status, 405);
  const groups = await cp.api('GET', `/v1/check-groups/${group.id}`);
  assert.deepEqual(groups.body.alertChannelSubscriptions, [
    { alertChannelId: id, activated: true },
  ]);
  for (const [fields, key] of [
    [{ checkId: randomUUID() }, 'checkId'],
    [{ groupId: 99 }, 'groupId'],
  ] as const) {
    const refused = await cp.api('PUT', path, { ...fields, activated: true });
    assert.equal(refused.status, 400);
    assert.deepEqual(refused.body.attributes.keys, [key]);
  }
  assert.equal((await cp.api('PUT', path, { activated: true })).status, 400);
});

test('the window of notifications is 24 hours, to the letter', async () => {
  const now = Date.parse('2026-11-21T12:00:00Z');
  const clock = new TestClock(now);
  await using cp = await startTestControlPlane({ clock });
  const { id } = await makeChannel(cp);
  const check = await makeCheck(cp);
  const hour = 3_600_000;
  for (const [sentAt, status] of [
    [now - 48 * hour, 'SUCCESS'],
    [now - 24 * hour, 'SUCCESS'],
    [now - 23 * hour, 'FAILURE'],
    [now - hour, 'RATE_LIMITED'],
  ] as const) {
    await cp.controlPlane.services.db
      .insertInto('alert_notifications')
      .values({
        id: randomUUID(),
        account_id: cp.accountId,
        type: 'EMAIL',
        status,
        config_json: '{"address":"ops@shop.example"}',
        result: null,
        sent_at: sentAt,
        check_type: 'URL',
        check_id: check.id as string,
        check_alert_id: null,
        alert_channel_id: id,
        check_result_id: null,
      })
      .execute();
  }
  const list = async (query: string) => {
    const answer = await cp.api('GET', `/v1/alert-notifications${query}`);
    clock.advance(10_000);
    return answer;
  };
  const unix = (instant: number) => Math.floor(instant / 1000);
  const hours = async (query: string) => {
    const { status, body } = await list(query);
    assert.equal(status, 200, JSON.stringify(body));
    return body.map((each: { timestamp: string }) => (now - Date.parse(each.timestamp)) / hour);
  };
  assert.deepEqual(await hours(''), [1, 23, 24]);
  assert.deepEqual(await hours(`?to=${unix(now - 20 * hour)}`), [23, 24]);
  assert.deepEqual(await hours(`?from=${unix(now - 48 * hour)}`), [48]);
  assert.deepEqual(await hours(`?from=${unix(now - 47 * hour)}&to=${unix(now - 23 * hour)}`), [24]);
  assert.deepEqual(await hours('?hasFailures=true'), [23]);
  assert.deepEqual(await hours('?alertChannelId=9999'), []);
  const long = await list(`?from=${unix(now - 25 * hour)}&to=${unix(now)}`);
  assert.deepEqual([long.status, long.body.attributes.keys], [400, ['to']]);
});

test('keys that may not write see the host of an address alone: its path may be all that one needs to write there', async () => {
  await using cp = await startTestControlPlane();
  const { rawKey } = await createApiKey(cp.controlPlane.services, cp.accountId, {
    name: 'reader',
    role: 'READ_ONLY',
  });
  const urlsFor = async (key: string) => {
    const headers = { authorization: `Bearer ${key}` };
    const { body } = await cp.api('GET', '/v1/alert-channels', undefined, headers);
    return body.map(({ config }: { config: { url: string } }) => config.url);
  };
  const urls = [
    'https://hooks.chat.example/services/T0/B0/token',
    'https://chat.example/api/webhooks/1/token?wait=true',
    'https://user:password@receiver.example/alerts?a={{X}}',
  ];
  await makeChannel(cp, { type: 'SLACK', config: { url: urls[0] } });
  const discord = { name: 'd', url: urls[1], webhookType: 'WEBHOOK_DISCORD' };
  await makeChannel(cp, { type: 'WEBHOOK', config: discord });
  await makeChannel(cp, { type: 'WEBHOOK', config: { name: 'w', url: urls[2] } });
  assert.deepEqual(await urlsFor(cp.apiKey), urls);
  assert.deepEqual(await urlsFor(rawKey), [
    'https://hooks.chat.example/',
    'https://chat.example/',
    'https://receiver.example/',
  ]);
});

test('paging systems, which group and close alerts by themselves, take no grouping', async () => {
  await using cp = await startTestControlPlane();
  const grouping = { windowSeconds: 30, updateMinutes: 10, maxPerHour: 6 };
  const { status, body } = await cp.api('POST', '/v1/alert-channels', {
    ...{ type: 'PAGERDUTY', config: { serviceKey: 'a' }, grouping },
  });
  assert.deepEqual([status, body.attributes.keys], [400, ['grouping']]);
});
