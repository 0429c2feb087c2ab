import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { createApiKey } from '../../control-plane/accounts/keys/store.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { httpReceiver, reachesTestServers } from '../support/http-receiver.ts';
import { alertFacts, makeChannel, notify, recordWhen } from '../support/notifications.ts';
import { TestClock } from '../support/test-clock.ts';

const start = (more = {}) => startTestControlPlane({ settings: reachesTestServers, ...more });

test('a test says what the other side said, is tried once, and is not in the log', async () => {
  await using cp = await start();
  let status = 200;
  await using receiver = await httpReceiver(() => ({ status, body: 'thanks' }));
  const channel = await makeChannel(cp, 'WEBHOOK', { name: 'w', url: receiver.url });
  const path = `/v1/alert-channels/${channel}/test`;
  const { status: answered, body } = await cp.api('POST', path);
  assert.equal(answered, 200);
  assert.deepEqual([body.status, body.result], ['SUCCESS', 'HTTP 200 OK\nthanks']);
  assert.equal((await receiver.next()).headers['webhook-id'], body.id);
  status = 503;
  const failed = await cp.api('POST', path);
  assert.deepEqual(
    [failed.body.status, failed.body.result],
    ['FAILURE', 'HTTP 503 Service Unavailable\nthanks'],
  );
  assert.equal(receiver.received.length, 2);
  assert.deepEqual((await cp.api('GET', '/v1/alert-notifications')).body, []);
  for (const id of ['999999', '0']) {
    assert.equal((await cp.api('POST', `/v1/alert-channels/${id}/test`)).status, 404);
  }
});

test('a test that takes longer than ten seconds is in progress', async () => {
  const clock = new TestClock(Date.parse('2026-11-21T12:00:00Z'));
  await using cp = await start({ clock });
  const answer = Promise.withResolvers<void>();
  await using receiver = await httpReceiver(() => answer.promise.then(() => ({})));
  const channel = await makeChannel(cp, 'WEBHOOK', { name: 'w', url: receiver.url });
  const asked = cp.api('POST', `/v1/alert-channels/${channel}/test`);
  await receiver.next();
  clock.advance(10_000);
  const { body } = await asked;
  assert.deepEqual([body.status, body.result], ['IN_PROGRESS', null]);
  answer.resolve();
});

test('a notification is sent again as it was, with a record of its own', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver();
  const channel = await makeChannel(cp, 'WEBHOOK', { name: 'w', url: receiver.url });
  const { id } = await notify(cp, channel, alertFacts());
  const first = await receiver.next();
  const { status, body } = await cp.api('POST', `/v1/alert-notifications/${id}/redeliver`);
  assert.equal(status, 202);
  assert.notEqual(body.id, id);
  assert.deepEqual(
    [body.status, body.alertChannelId, body.checkId],
    ['IN_PROGRESS', channel, alertFacts().check.id],
  );
  const second = await receiver.next();
  assert.equal(second.body, first.body);
  assert.equal(second.headers['webhook-id'], body.id);
  await recordWhen(
    cp.controlPlane.services,
    body.id as string,
    (record) => record.status === 'SUCCESS',
  );
  assert.equal((await cp.api('GET', '/v1/alert-notifications')).body.length, 2);

  assert.equal(
    (await cp.api('POST', `/v1/alert-notifications/${randomUUID()}/redeliver`)).status,
    404,
  );
  await cp.api('DELETE', `/v1/alert-channels/${channel}`);
  const gone = await cp.api('POST', `/v1/alert-notifications/${id}/redeliver`);
  assert.equal(gone.status, 409);
  assert.match(gone.body.message as string, /channel .* does not exist/);
});

test('the log shows the credentials of a channel only to those who see them in the channel', async () => {
  await using cp = await start();
  await using receiver = await httpReceiver();
  const channel = await makeChannel(cp, 'WEBHOOK', {
    name: 'w',
    url: receiver.url,
    webhookSecret: 'the-webhook-secret',
    headers: [{ key: 'X-Key', value: 'the-locked-value', locked: true }],
  });
  await notify(cp, channel);
  const { services } = cp.controlPlane;
  const textFor = async (role: 'READ_ONLY' | 'READ_WRITE') => {
    const { rawKey } = await createApiKey(services, cp.accountId, { name: role, role });
    const authorization = `Bearer ${rawKey}`;
    return JSON.stringify(
      (await cp.api('GET', '/v1/alert-notifications', undefined, { authorization })).body,
    );
  };
  assert.doesNotMatch(await textFor('READ_ONLY'), /the-webhook-secret|the-locked-value/);
  assert.match(await textFor('READ_WRITE'), /the-webhook-secret/);
});
