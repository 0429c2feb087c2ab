// Few share a process: it opens a browser.
/** Notifications of a device: turned on in the profile, shown by the worker, acknowledged from them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { sha256Hex } from '../../../control-plane/core/keys.ts';
import { AlertLinks } from '../../../control-plane/notifications/alert-links.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { insertMember, startPersonSession } from '../../support/people.ts';
import { assertPleasant } from '../../support/pleasant-page.ts';
import { eventually } from '../../support/system.ts';
import { pushSubscription } from '../../support/world.ts';

/** The browser of tests shows no notifications and has no push service: what it would ask them for is made up. */
const withPermission = (subscription: object) => `
  Object.defineProperty(Notification, 'permission', { value: 'granted' });
  Notification.requestPermission = async () => 'granted';
  // A subscription, and how often one has ended, outlives the page.
  const kept = localStorage;
  const found = {
    ...${JSON.stringify(subscription)},
    toJSON: () => (${JSON.stringify(subscription)}),
    get options() {
      const text = atob(kept.pushKey.replaceAll('-', '+').replaceAll('_', '/'));
      return { applicationServerKey: Uint8Array.from(text, (each) => each.charCodeAt(0)).buffer };
    },
    unsubscribe: async () => {
      delete kept.pushKey;
      kept.ended = Number(kept.ended ?? 0) + 1;
      return true;
    },
  };
  PushManager.prototype.subscribe = async ({ applicationServerKey: key }) => {
    if (!/^[\\w-]{87}$/.test(key)) throw new Error(key);
    kept.pushKey = key;
    return found;
  };
  PushManager.prototype.getSubscription = async () => kept.pushKey === undefined ? null : found;`;

/** In the worker: keeps what it shows, and where it leads to. */
const keepShown = `
  registration.showNotification = async (title, options) => {
    self.shown = { title, ...options };
  };
  clients.openWindow = async (url) => { self.opened = String(url); };`;

/** The push service has given the browser another address. */
const moved = (from: string, to: object) => `(async () => {
  const event = new ExtendableEvent('pushsubscriptionchange');
  const work = [];
  Object.defineProperty(event, 'waitUntil', { value: (each) => work.push(each) });
  dispatchEvent(Object.assign(event, {
    oldSubscription: { endpoint: '${from}', options: {} },
    newSubscription: { toJSON: () => (${JSON.stringify(to)}) },
  }));
  await Promise.all(work);
})()`;

/** Presses a button of the notification, or the notification itself. */
const press = (action: string) => `(async () => {
  const { data, actions } = self.shown;
  const event = new ExtendableEvent('notificationclick');
  const work = [];
  Object.defineProperty(event, 'waitUntil', { value: (each) => work.push(each) });
  dispatchEvent(Object.assign(event, { action: '${action}', notification: { data, actions, close() {} } }));
  await Promise.all(work);
})()`;

const shown = `(({ title, body, tag, actions }) =>
  [title, body, tag, ...actions.map((each) => each.title)].join('|'))(self.shown ?? { actions: [] })`;

test('a device is turned on, shows an alert and its recovery, acknowledges, and is removed', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const { services } = cp.controlPlane;
  const of = { accountId: cp.accountId, name: 'Ada', role: 'READ_ONLY' as const };
  const ada = await insertMember(services, of);
  const { cookie } = await startPersonSession(services, cp.accountId, ada.id);
  const [name = '', value = ''] = cookie.split('=');
  const browser = await openBrowser();
  const context = await browser.newContext();
  await context.addCookies([{ name, value, url: cp.url, httpOnly: true }]);
  const page = await context.newPage();
  await page.addInitScript(withPermission(pushSubscription));
  await page.goto(`${cp.url}/console/#/profile`);
  const section = page.getByRole('region', { name: 'Notifications on this device' });
  await section.getByRole('button', { name: 'Turn on' }).click();
  await section.getByText('Notifications are on.').waitFor();
  await section.getByText('this one').waitFor();
  assert.equal(await section.getByRole('button', { name: 'Turn on' }).count(), 0);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await section.scrollIntoViewIfNeeded();
      await assertPleasant(page, 'this one', width, `${colorScheme} ${width}`);
    }
  }
  await section.getByRole('button', { name: 'Send a test' }).click();
  await section.getByText('is not at a public address').waitFor();

  const devtools = await context.newCDPSession(page);
  const registered = new Promise<string>((resolve) => {
    devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      for (const { registrationId } of registrations) resolve(registrationId);
    });
  });
  await devtools.send('ServiceWorker.enable');
  const push = async (fields: object) => {
    const data = JSON.stringify({
      ...{ title: 'Check "Checkout" has failed', body: 'status was 503', tag: 'outage-1' },
      ...{ open: 'console/#/checks', acknowledge: null },
      ...fields,
    });
    const registrationId = await registered;
    await devtools.send('ServiceWorker.deliverPushMessage', {
      origin: cp.url,
      registrationId,
      data,
    });
  };
  const [worker] = context.serviceWorkers();
  assert.ok(worker);
  await worker.evaluate(keepShown);
  const shows = async (expected: string) => {
    let seen: unknown;
    await eventually(
      async () => (seen = await worker.evaluate(shown)) === expected,
      () => `it shows ${String(seen)}`,
    );
  };
  // The link of an alert that is not there: the server says so, and so does the notification.
  const links = new AlertLinks(services.secrets, cp.url);
  const [{ id: deviceId } = { id: 0 }] = await services.db
    .selectFrom('push_devices')
    .select('id')
    .execute();
  const link = links.to({
    ...{ accountId: cp.accountId, recipient: { deviceId }, target: 'alert', id: randomUUID() },
    ...{ action: 'acknowledge', expiresAt: services.clock.now() + 60_000 },
  });
  await push({ acknowledge: link.replace(`${cp.url}/`, '') });
  await shows('Check "Checkout" has failed|status was 503|outage-1|Acknowledge|Open');
  await worker.evaluate(press('acknowledge'));
  await shows('Already recovered|Nothing was left to do.|outage-1|Open');
  await push({ acknowledge: `${link.replace(`${cp.url}/`, '')}x` });
  await shows('Check "Checkout" has failed|status was 503|outage-1|Acknowledge|Open');
  await worker.evaluate(press('acknowledge'));
  await shows(
    'This link does not work|This link is not complete. Open it from the message again.|outage-1|Open',
  );
  await push({ title: 'Check "Checkout" has recovered', body: '' });
  await shows('Check "Checkout" has recovered||outage-1|Open');
  await worker.evaluate(press('open'));
  assert.equal(await worker.evaluate('self.opened'), `${cp.url}/console/#/checks`);

  // The page does not take away its own worker.
  await page.reload();
  assert.equal(
    await page.evaluate('navigator.serviceWorker.getRegistrations().then((all) => all.length)'),
    1,
  );
  const devices = () =>
    services.db.selectFrom('push_devices').select(['session_id', 'endpoint_hash']).execute();

  // After a new sign-in it is a device of the new session, whatever page is opened.
  const next = await startPersonSession(services, cp.accountId, ada.id);
  const [, value2 = ''] = next.cookie.split('=');
  await context.addCookies([{ name, value: value2, url: cp.url, httpOnly: true }]);
  await page.goto(`${cp.url}/console/#/checks`);
  await page.reload();
  await eventually(
    async () => (await devices())[0]?.session_id === next.id,
    () => 'the device is still of the earlier session',
  );
  await page.goto(`${cp.url}/console/#/profile`);

  // What other accounts have of this browser goes on.
  const ended = () => page.evaluate('Number(localStorage.ended ?? 0)');
  const remove = async () => {
    await section.getByRole('button', { name: 'Remove' }).click();
    await section.getByText('The device was removed.').waitFor();
    assert.deepEqual(await devices(), []);
  };
  const turnOn = async () => {
    await section.getByRole('button', { name: 'Turn on' }).click();
    await section.getByText('Notifications are on.').waitFor();
  };
  await remove();
  await turnOn();
  assert.equal(await ended(), 0);
  // The server has other keys by now.
  await remove();
  await page.evaluate("localStorage.pushKey = 'B'.repeat(87)");
  await turnOn();
  assert.equal(await ended(), 1);

  const to = { ...pushSubscription, endpoint: 'https://127.0.0.1:9/another' };
  await worker.evaluate(moved(pushSubscription.endpoint, to));
  assert.deepEqual(await devices(), [
    { session_id: next.id, endpoint_hash: sha256Hex(to.endpoint) },
  ]);
  await worker.evaluate(moved(pushSubscription.endpoint, pushSubscription));
  assert.equal((await devices()).length, 1, 'an address of no device is not turned on');

  const { headers } = await fetch(`${cp.url}/console/service-worker.js`);
  assert.match(headers.get('content-security-policy') ?? '', /; img-src 'self'$/);
  await page.route('**/v1/users/me/devices', (route) =>
    route.fulfill({ status: 503, json: { message: 'the database is away' } }),
  );
  await page.reload();
  await section.getByRole('alert').getByText('The database is away.').waitFor();
});
