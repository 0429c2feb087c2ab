// Own process: it starts a browser.
/** Notifications of a device: turned on in the profile, shown by the worker, acknowledged from them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { AlertLinks } from '../../../control-plane/notifications/alert-links.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { launchBrowser } from '../../support/found-browser.ts';
import { insertMember, startPersonSession } from '../../support/people.ts';
import { assertPleasant } from '../../support/pleasant-page.ts';
import { eventually } from '../../support/system.ts';
import { pushSubscription } from '../../support/world.ts';

/** The browser of tests shows no notifications and has no push service: what it would ask them for is made up. */
const withPermission = (subscription: object) => `
  Object.defineProperty(Notification, 'permission', { value: 'granted' });
  Notification.requestPermission = async () => 'granted';
  let made = null;
  const found = { ...${JSON.stringify(subscription)}, toJSON: () => found, unsubscribe: async () => { made = null; return true; } };
  PushManager.prototype.subscribe = async ({ applicationServerKey: key }) => {
    if (!/^[\\w-]{87}$/.test(key)) throw new Error(key);
    return (made = found);
  };
  PushManager.prototype.getSubscription = async () => made;`;

/** In the worker: keeps what it shows, and where it leads to. */
const keepShown = `
  registration.showNotification = async (title, options) => {
    self.shown = { title, ...options };
  };
  clients.openWindow = async (url) => { self.opened = String(url); };`;

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
  const browser = await launchBrowser();
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
  await section.getByRole('button', { name: 'Remove' }).click();
  await section.getByText('The device was removed.').waitFor();
  await section.getByRole('button', { name: 'Turn on' }).waitFor();
  assert.deepEqual(await services.db.selectFrom('push_devices').select('id').execute(), []);
  await browser.close();
});
