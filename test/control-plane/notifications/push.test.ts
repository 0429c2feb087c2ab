/** Alerts on phones of people, by a push service that reads what it is sent. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { forgetConsoleSessions } from '../../../control-plane/accounts/keys/console-sessions.ts';
import { createApiKey } from '../../../control-plane/accounts/keys/store.ts';
import { alertOn } from '../../../control-plane/alerting/alert-on.ts';
import { runEscalations } from '../../../control-plane/alerting/run-escalations.ts';
import { reencryptFacts } from '../../../control-plane/core/encrypted-facts.ts';
import { SecretCipher } from '../../../control-plane/core/secret-cipher.ts';
import { reencryptStoredCredentials } from '../../../control-plane/integrity/stored-credentials.ts';
import { enqueueMessages } from '../../../control-plane/notifications/outbox.ts';
import {
  pushesTo,
  pushKeys,
  subscriptionOf,
} from '../../../control-plane/notifications/push-devices.ts';
import type { AlertFacts } from '../../../control-plane/notifications/facts.ts';
import { insertMembership } from '../../../control-plane/people/store.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { reachesTestServers } from '../../support/http-receiver.ts';
import { untilEndedOrWaiting } from '../../support/interleaving.ts';
import { alertFacts, recoveryFacts } from '../../support/notifications.ts';
import { Browser, goodPassword, insertMember } from '../../support/people.ts';
import { type PushBrowser, pushService } from '../../support/push-service.ts';
import { verdictOf } from '../../support/run-verdict.ts';
import { makeCheck } from '../../support/sent-notifications.ts';
import { eventually } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';
import { createAccount } from '../../support/world.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const path = '/v1/users/me/devices';
const minute = 60_000;

async function start(settings: Record<string, string> = reachesTestServers) {
  const clock = new TestClock(now);
  const cp = await startTestControlPlane({ clock, settings, requestsPerMinute: 0 });
  const { services } = cp.controlPlane;
  const signIn = async (name: string, accountId = cp.accountId) => {
    const of = { accountId, name, role: 'READ_ONLY' as const };
    const person = await insertMember(services, of);
    const browser = new Browser(cp);
    assert.equal((await browser.signIn(person.email)).status, 204);
    return { ...person, browser };
  };
  const ada = await signIn('Ada');
  const push = await pushService(async () => {
    const { body } = await ada.browser.send('GET', path);
    return (body as { publicKey: string }).publicKey;
  });
  const add = async (browser: Browser, { subscription }: PushBrowser, name = 'Chrome on Android') =>
    browser.send('POST', path, { name, subscription });
  const devicesOf = async (browser: Browser) =>
    (
      (await browser.send('GET', path)).body as {
        devices: { id: number; isOfThisSession: boolean }[];
      }
    ).devices;
  /** Who has removed devices, as the audit log says. */
  const removers = async () => {
    const { body } = await cp.api('GET', '/v1/audit-log?operation=removeMyDevice');
    const { entries } = body as { entries: { actor: { name: string } }[] };
    return entries.map(({ actor }) => actor.name);
  };
  /** As a step of a policy does; resolves with the outcome, on whose way the clock goes on. */
  const alert = async (id: string, facts: AlertFacts, accountId = cp.accountId) => {
    const ended = services.outbox.whenEnded(id, AbortSignal.timeout(60_000));
    await services.commits.run(async (unit) => {
      const pushes = await pushesTo(unit, accountId, [ada], facts, () => id);
      await enqueueMessages(unit, accountId, pushes, clock.now());
      return pushes.length;
    });
    services.outbox.wake();
    return ended;
  };
  return {
    ...{ cp, clock, services, ada, push, add, alert, devicesOf, removers, signIn },
    async [Symbol.asyncDispose]() {
      await cp[Symbol.asyncDispose]();
      await push[Symbol.asyncDispose]();
    },
  };
}

const dead = (status: number) => ({
  answers: [{ status }],
  outcome: 'FAILURE',
  requests: 1,
});

/** What the push service answers, and what becomes of the notification and of the device. */
const cases = {
  'it is delivered': { answers: [], outcome: 'SUCCESS', requests: 1, stays: true },
  'the device is unknown (404)': { ...dead(404), stays: false },
  'the device is gone (410)': { ...dead(410), stays: false },
  'the token is refused (403)': { ...dead(403), stays: true },
  'the payload is too large (413)': { ...dead(413), stays: true },
  'it is tried again after 503': {
    ...{
      answers: [{ status: 503 }, { status: 500 }],
      outcome: 'SUCCESS',
      requests: 3,
      stays: true,
    },
  },
  'it is tried again after 429': {
    ...{ answers: [{ status: 429 }], outcome: 'SUCCESS', requests: 2, stays: true },
  },
  'it has failed after six times': {
    ...{ answers: Array.from({ length: 6 }, () => ({ status: 502 })), outcome: 'FAILURE' },
    ...{ requests: 6, stays: true },
  },
};

test('a push service decides what becomes of a notification, and of the device', async (t) => {
  await using it = await start();
  const { push, ada, clock, services } = it;
  for (const [name, { answers, outcome, requests, stays }] of Object.entries(cases)) {
    await t.test(name, async () => {
      const phone = push.browser();
      assert.equal((await it.add(ada.browser, phone)).status, 201);
      push.answers.splice(0, Infinity, ...answers);
      push.requests = 0;
      const ending = it.alert(services.newId(), alertFacts());
      let ended = false;
      void ending.then(() => (ended = true));
      while (!ended) {
        const row = await services.db
          .selectFrom('outbox')
          .select(['next_attempt_at', 'attempts'])
          .executeTakeFirst();
        // A retry is due 20 seconds later; nothing else waits.
        if (row !== undefined && row.next_attempt_at > clock.now()) clock.advance(20_000);
        await new Promise(setImmediate);
      }
      const result = await ending;
      assert.equal(result?.status, outcome, result?.result);
      assert.equal(push.requests, requests);
      assert.equal(phone.received.length, outcome === 'SUCCESS' ? 1 : 0);
      const devices = await it.devicesOf(ada.browser);
      assert.equal(devices.length, stays ? 1 : 0);
      for (const { id } of devices) await ada.browser.send('DELETE', `${path}/${id}`);
    });
  }
  const removers = await it.removers();
  const gone = removers.filter((name) => name === 'the push service of the device');
  assert.equal(gone.length, 2, removers.join());
});

test('what is shown is short, its recovery takes its place, and a long one is cut', async () => {
  await using it = await start();
  const phone = it.push.browser();
  await it.add(it.ada.browser, phone);
  const { result, check } = alertFacts();
  const long = '🔥"'.repeat(20_000);
  await it.alert(it.services.newId(), alertFacts());
  await it.alert(it.services.newId(), recoveryFacts());
  await it.alert(
    it.services.newId(),
    alertFacts({
      check: { ...check, name: long },
      result: result && { ...result, error: long },
    }),
  );
  await it.alert(it.services.newId(), alertFacts({ withdrawn: 'deleted' }));
  const [failure, recovery, cut, deleted] = phone.received;
  assert.equal(failure?.payload['title'], 'Check "Checkout" has failed');
  assert.equal(failure.payload['body'], 'expected status to equal 200, it was 503');
  assert.match(failure.payload['open'] ?? '', /^console\/#\/checks\//);
  assert.match(failure.payload['acknowledge'] ?? '', /^alert-links\/alert\/.*device=1&/);
  assert.deepEqual([failure.headers['urgency'], failure.headers['ttl']], ['high', '86400']);
  assert.equal(recovery?.payload['title'], 'Check "Checkout" has recovered');
  assert.equal(recovery.payload['acknowledge'], null);
  assert.equal(recovery.headers['urgency'], 'normal');
  assert.equal(recovery.payload['tag'], failure.payload['tag']);
  assert.equal(recovery.headers['topic'], failure.headers['topic']);
  // A check that is gone has no page: the worker opens what is above the console.
  assert.equal(deleted?.payload['open'], '');
  assert.ok((cut?.bytes ?? 0) > 1_000 && (cut?.bytes ?? Infinity) <= 4_096);
});

test('a step of a policy reaches the phone, which acknowledges, and the recovery follows', async () => {
  await using it = await start();
  const { cp, services, ada, clock } = it;
  const phone = it.push.browser();
  await it.add(ada.browser, phone);
  const { body: policy } = await cp.api('POST', '/v1/escalation-policies', {
    name: 'Night',
    steps: [{ people: [ada.email] }],
  });
  const check = await makeCheck(cp, [], {
    useGlobalAlertSettings: false,
    alertSettings: { escalationPolicyId: policy.id },
  });
  const report = async (hasFailures: boolean) => {
    const of = { hasFailures, error: 'broken', stoppedAt: clock.now() };
    const verdicts = [verdictOf(cp, check, clock.now(), of)];
    await services.db
      .transaction()
      .execute((db) => alertOn(services, db, { verdicts, endings: [] }));
    while (await runEscalations(services));
    services.outbox.wake();
  };
  const arrived = async (count: number) => {
    await eventually(
      () => phone.received.length >= count,
      () => `${phone.received.length} arrived`,
    );
    return phone.received[count - 1]?.payload;
  };
  await report(true);
  const link = (await arrived(1))?.['acknowledge'] ?? '';
  const post = async (accept: string, to = link) => {
    const answer = await fetch(`${cp.url}/${to}`, { method: 'POST', headers: { accept } });
    return [answer.status, answer.headers.get('content-type'), await answer.text()] as const;
  };
  const altered = await post('application/json', link.replace('device=1', 'device=2'));
  assert.deepEqual([altered[0], JSON.parse(altered[2]).title], [404, 'This link does not work']);
  const [status, type, text] = await post('application/json');
  assert.deepEqual([status, type], [200, 'application/json; charset=utf-8']);
  assert.deepEqual(JSON.parse(text), { title: 'Acknowledged', text: 'shop' });
  // Browsers get the page.
  assert.match((await post('text/html'))[2], /<h1>Acknowledged<\/h1>/);
  const { body: alerts } = await cp.api('GET', `/v1/check-alerts/${check}?open=true`);
  assert.equal(alerts[0].acknowledgement.by, 'Ada from a phone');
  clock.setWall(clock.now() + minute);
  await report(false);
  assert.match((await arrived(2))?.['title'] ?? '', /has recovered$/);
  assert.deepEqual(JSON.parse((await post('application/json'))[2]).title, 'Already recovered');
});

test('a test goes to one device of the person, and not to one of somebody else', async () => {
  await using it = await start();
  const { ada } = it;
  const [phone, laptop] = [it.push.browser(), it.push.browser()];
  const { body: first } = await it.add(ada.browser, phone);
  await it.add(ada.browser, laptop, 'Firefox on Linux');
  const { body } = await ada.browser.send('POST', `${path}/${first.id}/test`);
  assert.deepEqual([body.status, body.result], ['SUCCESS', 'HTTP 201 Created']);
  assert.deepEqual([phone.received.length, laptop.received.length], [1, 0]);
  const payload = phone.received[0]?.payload;
  assert.equal(payload?.['title'], 'This is a test of notifications on this device');
  assert.equal(payload?.['body'], 'you tested this device; nothing is wrong');
  assert.equal(payload?.['open'], '');
  const [shown] = (await ada.browser.send('GET', path)).body.devices;
  assert.equal(Date.parse(shown.lastSuccessAt), now);
  // It is encrypted where it is kept.
  const rows = await it.services.db.selectFrom('push_devices').selectAll().execute();
  assert.ok(!JSON.stringify(rows).includes(phone.subscription.endpoint));

  const colleague = await it.signIn('Ben');
  const stranger = await it.signIn('Cleo', await createAccount(it.services, 'other'));
  for (const { browser } of [colleague, stranger]) {
    assert.equal((await browser.send('POST', `${path}/${first.id}/test`)).status, 404);
    assert.equal((await browser.send('DELETE', `${path}/${first.id}`)).status, 404);
    assert.deepEqual(await it.devicesOf(browser), []);
  }
  // A key is nobody's.
  assert.equal((await it.cp.api('GET', path)).status, 404);
  const given = { name: 'a', subscription: phone.subscription };
  assert.equal((await it.cp.api('POST', path, given)).status, 404);
  // Who turns it on in the same browser gets what comes there, and nobody else.
  await it.add(colleague.browser, phone);
  assert.equal((await it.devicesOf(ada.browser)).length, 1);
  assert.equal((await it.devicesOf(colleague.browser)).length, 1);
  assert.deepEqual(await it.removers(), ['another person in the same browser']);
});

test('a device that is removed meanwhile is not tested, and one without its key says so as it goes', async () => {
  await using it = await start();
  const { ada, services } = it;
  const { body: first } = await it.add(ada.browser, it.push.browser());
  const removal = await services.db.startTransaction().execute();
  await removal.deleteFrom('push_devices').execute();
  const testing = ada.browser.send('POST', `${path}/${first.id}/test`);
  assert.equal(await untilEndedOrWaiting(removal, testing), false);
  await removal.commit().execute();
  assert.equal((await testing).status, 404);

  await it.add(ada.browser, it.push.browser());
  const lost = new SecretCipher(Buffer.from('lost'));
  await services.db
    .updateTable('push_devices')
    .set({ subscription_encrypted: lost.encrypt('{}', it.cp.accountId) })
    .execute();
  const result = await it.alert(services.newId(), alertFacts());
  assert.match(result?.result ?? '', /encryption key of the device was lost/);
  assert.deepEqual(await it.devicesOf(ada.browser), []);
  assert.deepEqual(await it.removers(), ['an encryption key that was lost']);
});

test('a new encryption key opens subscriptions and keys; what opens with neither key is dropped or reported', async () => {
  const [first, second, third] = ['a', 'b', 'c'].map((each) => Buffer.from(each.repeat(40)));
  assert.ok(first && second && third);
  await using it = await start({ ...reachesTestServers, ENCRYPTION_KEY: String(first) });
  const { db } = it.services;
  const phone = it.push.browser();
  await it.add(it.ada.browser, phone);
  const { publicKey } = await pushKeys(it.services);
  const reencrypt = async (secrets: SecretCipher) => ({
    ...(await reencryptStoredCredentials(db, secrets, () => {})),
    dropped: await reencryptFacts(db, secrets),
  });
  const device = () => db.selectFrom('push_devices').selectAll().executeTakeFirstOrThrow();

  const changed = await reencrypt(new SecretCipher(second, first));
  assert.deepEqual(changed, {
    ...{ kinds: { 'subscriptions of devices': 1 }, unreadable: {}, dropped: [] },
  });
  const next = new SecretCipher(second);
  assert.deepEqual(subscriptionOf(next, await device()), phone.subscription);
  assert.equal((await pushKeys({ db, secrets: next })).publicKey, publicKey);

  // Who only reads drops nothing: it may be this process that has the wrong key.
  const other = new SecretCipher(third);
  await assert.rejects(pushKeys({ db, secrets: other }));
  assert.equal((await pushKeys({ db, secrets: next })).publicKey, publicKey);

  const { unreadable, dropped } = await reencrypt(other);
  assert.deepEqual(unreadable, { 'subscriptions of devices': 1 });
  assert.deepEqual(dropped, [
    'the secret for ids of results',
    'the keys for notifications on devices',
  ]);
  assert.notEqual((await pushKeys({ db, secrets: other })).publicKey, publicKey);
});

test('addresses that are not public are not connected to, and what is no subscription is refused', async () => {
  await using it = await start({});
  const { browser } = it.ada;
  const phone = it.push.browser();
  const { body } = await it.add(browser, phone);
  const { body: sent } = await browser.send('POST', `${path}/${body.id}/test`);
  assert.equal(sent.status, 'FAILURE');
  assert.match(sent.result, /is not at a public address/);
  assert.equal(it.push.requests, 0);
  const { endpoint, keys } = phone.subscription;
  for (const subscription of [
    { endpoint: endpoint.replace('https:', 'http:'), keys },
    { endpoint: 'file:///etc/passwd', keys },
    { endpoint: endpoint.replace('https://', 'https://user:word@'), keys },
    { endpoint: `${endpoint}/${'a'.repeat(1_024)}`, keys },
    { endpoint, keys: { ...keys, p256dh: 'B'.repeat(87) } },
    { endpoint, keys: { ...keys, auth: 'short' } },
  ]) {
    const answer = await browser.send('POST', path, { name: 'a', subscription });
    assert.equal(answer.status, 400, JSON.stringify(subscription));
  }
});

test('a person has at most 20 devices, and one that is there already is changed', async () => {
  await using it = await start();
  const { browser } = it.ada;
  const all = Array.from({ length: 20 }, () => it.push.browser());
  for (const each of all) assert.equal((await it.add(browser, each)).status, 201);
  assert.equal((await it.add(browser, it.push.browser())).status, 409);
  const [first] = all;
  if (first !== undefined) assert.equal((await it.add(browser, first, 'Renamed')).status, 201);
  const devices = await it.devicesOf(browser);
  assert.equal(devices.length, 20);

  // The one that is changed is of the session that changed it, and stays with that.
  const again = new Browser(it.cp);
  await again.signIn(it.ada.email);
  if (first !== undefined) await it.add(again, first);
  const ofSessions = (await it.devicesOf(again)).map((each) => each.isOfThisSession);
  assert.deepEqual(ofSessions, [true, ...Array.from({ length: 19 }, () => false)]);
  const passwords = { currentPassword: goodPassword, newPassword: 'ten green bottles hang here' };
  assert.equal((await again.send('PUT', '/v1/users/me/password', passwords)).status, 204);
  assert.equal((await it.devicesOf(again)).length, 1);
});

test('signing out, an ended session, a new password and the end of the membership remove devices; time does not', async () => {
  await using it = await start();
  const { ada, services, cp } = it;
  const count = async () =>
    (await services.db.selectFrom('push_devices').select('id').execute()).length;
  const phone = new Browser(cp);
  const turnOn = async () => {
    await phone.signIn(ada.email);
    await it.add(phone, it.push.browser());
    await it.alert(services.newId(), alertFacts({ at: it.clock.now() }));
    assert.equal(await count(), 1);
  };
  const endings: Record<string, () => Promise<unknown>> = {
    'signs out': () => phone.send('DELETE', '/console/session'),
    'ends the session from another browser': async () => {
      const { body } = await ada.browser.send('GET', '/v1/users/me/sessions');
      const other = (body as { id: string; isCurrent: boolean }[]).find((one) => !one.isCurrent);
      return ada.browser.send('DELETE', `/v1/users/me/sessions/${other?.id ?? ''}`);
    },
    'changes the password': () =>
      ada.browser.send('PUT', '/v1/users/me/password', {
        currentPassword: goodPassword,
        newPassword: 'ten green bottles hang here',
      }),
  };
  for (const [what, end] of Object.entries(endings)) {
    await turnOn();
    const { status } = (await end()) as { status: number };
    assert.equal(status, 204, what);
    assert.equal(await count(), 0, what);
  }
  await phone.signIn(ada.email, 'ten green bottles hang here');
  await it.add(phone, it.push.browser());
  // Sessions that nobody has ended: the phone is to ring next month, too.
  it.clock.setWall(now + 40 * 86_400_000);
  await forgetConsoleSessions(services);
  assert.equal((await ada.browser.send('GET', path)).status, 401);
  assert.equal(await count(), 1);
  assert.equal((await cp.api('DELETE', `/v1/people/${ada.id}`)).status, 204);
  assert.equal(await count(), 0);
});

test('a device outlives the account that its session was moved to', async () => {
  await using it = await start();
  const { ada, services, cp } = it;
  const other = await createAccount(services, 'other');
  await insertMembership(services.db, {
    ...{ accountId: other, personId: ada.id, role: 'READ_ONLY', now },
  });
  await it.add(ada.browser, it.push.browser());
  assert.equal((await ada.browser.send('PUT', '/v1/users/me', { accountId: other })).status, 200);
  const { rawKey } = await createApiKey(services, other, { name: 'other' });
  const authorization = `Bearer ${rawKey}`;
  const removal = await cp.api('DELETE', `/v1/people/${ada.id}`, undefined, { authorization });
  assert.equal(removal.status, 204);
  // The session has ended all the same.
  assert.equal((await ada.browser.send('GET', path)).status, 401);
  await forgetConsoleSessions(services);
  const again = new Browser(cp);
  await again.signIn(ada.email);
  const [device] = await it.devicesOf(again);
  assert.ok(device);
  assert.equal((await again.send('DELETE', `${path}/${device.id}`)).status, 204);
  await forgetConsoleSessions(services);
  const sessions = await services.db.selectFrom('console_sessions').select('id').execute();
  assert.equal(sessions.length, 1);
});
