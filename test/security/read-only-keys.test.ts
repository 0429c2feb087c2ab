/** C9 and C10: what a key that may only read, and a visitor without a key, find out. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import { createApiKey } from '../../control-plane/accounts/keys/store.ts';
import { startTestControlPlane } from '../support/control-plane.ts';

const secret = 'correct-horse-battery-staple';
const pair = (key: string) => ({ key, value: secret, locked: false });

test('no GET shows a credential to keys that may not write', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const made = async (path: string, body: unknown) => {
    const answer = await cp.api('POST', path, body);
    assert.equal(answer.status, 201, `${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const url = `https://user:${secret}@api.shop.example/?page=1&api_key=${secret}#top`;
  const request = {
    method: 'GET',
    url,
    headers: [pair('Authorization'), pair('X-Api-Key'), pair('Cookie')],
    queryParameters: [pair('access_token'), pair('api_key')],
    basicAuth: { username: 'u', password: secret },
  };
  await made('/v1/alert-channels', {
    type: 'WEBHOOK',
    config: {
      name: 'w',
      url: `https://hooks.example/${secret}`,
      headers: [pair('Authorization'), pair('X-Anything')],
      queryParameters: [pair('q')],
      webhookSecret: secret,
    },
    autoSubscribe: true,
  });
  await made('/v1/alert-channels', {
    type: 'SLACK',
    config: { url: `https://hooks.slack.com/services/${secret}`, channel: '#ops' },
    autoSubscribe: true,
  });
  const group = await made('/v2/check-groups', {
    name: 'g',
    apiCheckDefaults: {
      url,
      headers: request.headers,
      queryParameters: request.queryParameters,
      basicAuth: request.basicAuth,
    },
    environmentVariables: [{ key: 'K', value: secret, locked: true }],
  });
  const api = await made('/v1/checks/api', { name: 'a', groupId: group.id, request });
  const heartbeat = await made('/v1/checks/heartbeat', {
    name: 'h',
    heartbeat: {
      period: 1,
      periodUnit: 'hours',
      grace: 1,
      graceUnit: 'hours',
      pingToken: secret,
    },
  });
  await made('/v1/variables', { key: 'V', value: secret, locked: true });
  await made('/v1/private-locations', {
    name: 'l',
    slugName: 'l',
    proxyUrl: `http://user:${secret}@proxy.internal:3128`,
  });
  await made('/v1/dashboards', { header: 'd', isPrivate: true, keys: [{ rawKey: secret }] });
  const trigger = await made(`/v1/triggers/checks/${api.id}`, undefined);
  const { rawKey } = await createApiKey(cp.controlPlane.services, cp.accountId, {
    name: 'reader',
    role: 'READ_ONLY',
  });
  const reader = { authorization: `Bearer ${rawKey}` };

  const read = async (path: string, headers: Record<string, string>) =>
    (await fetch(cp.url + path, { headers })).text();
  const ids: Record<string, string> = { checkId: api.id, groupId: group.id };
  const paths = allRoutes
    .filter(({ method, authentication }) => method === 'GET' && authentication === 'apiKey')
    .flatMap(({ path }) => [
      path.replace(/\{(\w+)\}/g, (whole, name: string) => ids[name] ?? whole),
    ])
    .filter((path) => !path.includes('{'));
  paths.push(
    `/v1/checks/${api.id}`,
    `/v1/checks/${api.id}?applyGroupSettings=true`,
    '/v1/checks?applyGroupSettings=true',
    `/v1/checks/heartbeats/${heartbeat.id}`,
    `/v1/checks/${heartbeat.id}`,
    `/v1/check-groups/${group.id}`,
    `/v1/check-groups/${group.id}/checks`,
  );
  assert.ok(paths.length > 30, String(paths.length));
  let shown = 0;
  for (const path of paths) {
    const seen = await read(path, reader);
    assert.ok(!seen.includes(secret), `${path}: ${seen}`);
    assert.ok(!seen.includes(trigger.token), path);
    const owner = await read(path, { authorization: `Bearer ${cp.apiKey}` });
    if (owner.includes(secret) || owner.includes(trigger.token)) shown += 1;
  }
  assert.equal(
    (JSON.parse(await read(`/v1/checks/${api.id}`, reader)) as { request: { url: string } }).request
      .url,
    'https://api.shop.example/?page=1&api_key=#top',
  );
  assert.ok(shown > 8, `those who may write see them: ${shown} paths`);
});

test('the badge of a group is not found by counting', async () => {
  await using cp = await startTestControlPlane();
  await cp.controlPlane.services.db
    .updateTable('accounts')
    .set({ settings_json: '{"badges":true}' })
    .execute();
  const { body: group } = await cp.api('POST', '/v2/check-groups', { name: 'g' });
  for (let number = 0; number <= group.id + 3; number += 1) {
    assert.equal((await fetch(`${cp.url}/v1/badges/groups/${number}`)).status, 404);
  }
  assert.match(group.badgeToken, /^[\w-]{32,}$/);
  assert.equal((await fetch(`${cp.url}/v1/badges/groups/${group.badgeToken}`)).status, 200);
});
