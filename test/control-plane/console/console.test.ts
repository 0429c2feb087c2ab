// Own process: it starts browsers.
/** The console as people use it: in a real browser, against a real control plane. */
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { createApiKey } from '../../../control-plane/accounts/keys/store.ts';
import { operationInWords } from '../../../control-plane/console/format.ts';
import { eventually } from '../../../proof/system.ts';
import { consoleNow, openConsoleWorld, type ConsoleWorld } from '../../support/console-world.ts';
import { passTime, startTestControlPlane } from '../../support/control-plane.ts';
import { resultOf } from '../../support/fake-agent.ts';
import { TestConsole, type Opening, type Visit } from '../../support/test-console.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { nothingSeen } from '../../support/plain.ts';
import { fillKey } from '../../support/people.ts';
import { TestClock } from '../../support/test-clock.ts';
import { assertPleasant } from '../../support/pleasant-page.ts';

let world: ConsoleWorld;
const browser = await openBrowser();
let console: TestConsole;

before(async () => {
  world = await openConsoleWorld();
  console = new TestConsole(world.cp, browser);
});
after(async () => {
  await world[Symbol.asyncDispose]();
});
afterEach(() => {
  console.assertNoTrouble();
});

const visit = (hash: string, options?: Opening): Promise<Visit> => console.visit(hash, options);

const isFailing = /^Checkout API .* is failing/;
const textOf = (page: Page) => page.locator('main').innerText();

test('a user signs in with a key, is signed out with the tab, and signs out', async () => {
  // What is on its way while the session ends is refused.
  await using opened = await visit('', { key: false, refusals: [401] });
  const { page } = opened;
  await fillKey(page, world.cp.apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor();
  assert.equal(await page.evaluate('localStorage.length'), 0);
  assert.equal(await page.evaluate('document.cookie'), '');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor();
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
});

test('who wants to stay signed in on this machine is, with the account that was named', async () => {
  await using opened = await visit('', { key: false });
  const { page } = opened;
  await fillKey(page, world.cp.apiKey);
  await page.getByLabel('Account ID').fill(world.cp.accountId);
  await page.getByLabel('Keep me signed in on this machine').check();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor();
  const second = await page.context().newPage();
  await second.goto(`${world.cp.url}/console/#/locations`);
  await second.getByRole('heading', { name: 'Locations', level: 1 }).waitFor();
});

test('a wrong key and a foreign account have different messages, and neither signs in', async () => {
  await using opened = await visit('', { key: false, refusals: [401, 403] });
  const { page } = opened;
  await page.getByRole('button', { name: 'Use an API key' }).click();
  const attempt = async (key: string, account: string) => {
    await page.getByLabel('API key').fill(key);
    await page.getByLabel('Account ID').fill(account);
    const answered = page.waitForResponse(/console\/session/);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await answered;
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    return page.getByRole('alert').innerText();
  };
  assert.match(await attempt('cu_wrong-key-of-nobody', ''), /not known here/);
  assert.match(await attempt(world.cp.apiKey, 'a'.repeat(36)), /does not belong to that account/);
});

test('a key that is revoked in use leads back to the sign-in page with the reason', async () => {
  const { services } = world.cp.controlPlane;
  const made = await createApiKey(services, world.cp.accountId, { name: 'short-lived' });
  await using opened = await visit('#/checks', { key: made.rawKey, refusals: [401] });
  const { page } = opened;
  await page.getByRole('link', { name: 'Shop front page' }).waitFor();
  await world.cp.api('DELETE', `/v1/api-keys/${made.id}`);
  // What the view asks for by itself may have been refused already: the link is gone then.
  await page.evaluate("location.hash = '#/locations'");
  assert.match(await page.getByRole('alert').innerText(), /expired or was revoked/);
});

test('the list shows every check with state, numbers and bars, what fails first', async () => {
  await using opened = await visit('#/checks');
  const { page } = opened;
  const rows = page.locator('table.checks tbody tr');
  await rows.nth(5).waitFor();
  assert.match(await rows.nth(0).innerText(), /Failing/);
  const shop = rows.filter({ hasText: 'Shop front page' });
  await shop.filter({ hasText: '100 %' }).waitFor();
  const text = await shop.innerText();
  assert.match(text, /Passing/);
  assert.match(text, /1 location without an agent/);
  assert.match(text, /222 ms/);
  const bars = shop.getByRole('img');
  assert.match(
    (await bars.getAttribute('aria-label')) ?? '',
    /Last 24 runs: 22 passed, 2 degraded/,
  );
});

test('the list is searched, filtered by state, type and tag, and sorted, and the address knows', async () => {
  await using opened = await visit('#/checks');
  const { page } = opened;
  const names = page.locator('table.checks tbody th a');
  await names.nth(5).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('ireland nothing');
  await page.getByText('No monitor matches').waitFor();
  const shown = (amount: string) => page.getByText(`${amount} shown`, { exact: true }).waitFor();
  await page.getByLabel('Search').fill('front');
  await shown('1 monitor');
  assert.deepEqual(await names.allInnerTexts(), ['Shop front page']);
  await page.getByLabel('Search').fill('');
  await page.getByRole('button', { name: '2 failing' }).click();
  await shown('2 monitors');
  assert.equal(await names.count(), 2);
  await page.getByLabel('Type').selectOption('BROWSER');
  await shown('1 monitor');
  assert.deepEqual(await names.allInnerTexts(), ['Buying a book']);
  assert.match(page.url(), /state=FAILING&type=BROWSER/);
  await page.goto(`${world.cp.url}/console/#/checks?tag=public`);
  await page.getByRole('link', { name: 'Shop front page' }).waitFor();
  assert.deepEqual(await names.allInnerTexts(), ['Shop front page']);
  await page.goto(`${world.cp.url}/console/#/checks?sort=name!`);
  await names.nth(5).waitFor();
  assert.equal(await names.first().innerText(), 'Suite of the shop');
  assert.equal(
    await page.getByRole('columnheader', { name: 'Name', exact: true }).getAttribute('aria-sort'),
    'descending',
  );
});

test('a new result shows by itself, and rows that did not change are not drawn anew', async () => {
  const { body } = await world.cp.api('POST', '/v1/checks/tcp', {
    name: 'Mail port',
    locations: ['eu-west-1'],
    frequency: 10,
    request: { hostname: 'mail.example', port: 25 },
  });
  const id = (body as { id: string }).id;
  await using opened = await visit('#/checks', { isClockMoving: true });
  const { page } = opened;
  const row = page.locator('tbody tr').filter({ hasText: 'Mail port' });
  await row.filter({ hasText: 'Waiting' }).waitFor();
  // Runs and figures come with answers of their own.
  const shop = page.locator('tbody tr').filter({ hasText: 'Shop front' });
  await shop.filter({ has: page.locator('svg.bars'), hasText: '%' }).waitFor();
  await page.evaluate(`window.drawn = 0;
    new MutationObserver((changes) => { window.drawn += changes.length; }).observe(
      [...document.querySelectorAll('tbody tr')].find((row) => /Shop front/.test(row.textContent)),
      { subtree: true, childList: true, attributes: true },
    );`);
  // The palette reads the same list, and asks for no news of it.
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Monitor, view or action' }).waitFor();
  await page.keyboard.type('mail port');
  await page.getByRole('option', { name: 'Mail port' }).waitFor();
  const read = page.waitForRequest(/check-overview\/list\?.*limit=100/);
  await world.agent.submit(
    resultOf(id, { checkType: 'TCP', startedAt: consoleNow, scheduledFor: consoleNow }),
  );
  world.clock.advance(1_000);
  await read;
  await row.filter({ hasText: 'Passing' }).waitFor();
  assert.equal(await page.evaluate('window.drawn'), 0);
  await world.cp.api('DELETE', `/v1/checks/${id}`);
  await row.waitFor({ state: 'detached' });
});

test('without the stream of events the list asks by itself, and follows it again when it is back, also during its first read', async () => {
  await using opened = await visit('', { isClockMoving: true, key: false, refusals: [0] });
  const { page } = opened;
  await page.route('**/console/events', (route) => route.abort());
  await fillKey(page, world.cp.apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('link', { name: 'Shop front page' }).waitFor();
  const make = async (name: string): Promise<string> => {
    const request = { hostname: 'mail.example', port: 25 };
    const { body } = await world.cp.api('POST', '/v1/checks/tcp', { name, frequency: 10, request });
    return (body as { id: string }).id;
  };
  const ids = [await make('Made while nobody listened')];
  await page.clock.fastForward(20_000);
  await page.getByRole('link', { name: 'Made while nobody listened' }).waitFor();
  const show = (state: 'hidden' | 'visible') =>
    page.evaluate(`Object.defineProperties(document, {
      hidden: { value: ${state === 'hidden'}, configurable: true },
      visibilityState: { value: '${state}', configurable: true },
    });
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));`);
  await show('hidden');
  await page.clock.pauseAt(consoleNow + 3_600_000);
  const atOnce = page.waitForRequest(/check-overview\/list\?/);
  await show('visible');
  await atOnce;
  await page.clock.resume();
  await page.unroute('**/console/events');
  const again = page.waitForResponse(/console\/events/);
  await page.clock.fastForward(3_000);
  await again;
  ids.push(await make('Made by a colleague'));
  await page.getByRole('link', { name: 'Made by a colleague' }).waitFor();

  await page.evaluate("location.hash = '#/alerts'");
  const stream = page.waitForResponse(/console\/events/);
  await page.reload();
  await stream;
  const first = /check-overview\/list\?/;
  let then = '';
  const reads = async (route: Route) => {
    const response = await route.fetch();
    ids.push(await make('Made during the read'));
    const readAgain = page.waitForRequest(/v1\/deletions/);
    const path = `/v1/checks/${await make('Deleted during the read')}`;
    await world.cp.api('DELETE', path, undefined, { prefer: 'respond-async' });
    await readAgain;
    const next = page.waitForRequest(/check-overview\/list\?|console\/events/);
    await route.fulfill({ response });
    then = (await next).url();
  };
  await page.route(first, reads, { times: 1 });
  await page.evaluate("location.hash = '#/checks'");
  await page.getByRole('link', { name: 'Made during the read' }).waitFor();
  // Not only when the stream begins again.
  assert.match(then, first);
  for (const id of ids) await world.cp.api('DELETE', `/v1/checks/${id}`);
});

test('a check that no agent runs says why', async () => {
  const make = async (fields: Record<string, unknown>): Promise<string> => {
    const { body } = await world.cp.api('POST', '/v1/checks/tcp', {
      ...{ name: 'Idle', frequency: 10, request: { hostname: 'mail.example', port: 25 } },
      ...fields,
    });
    return (body as { id: string }).id;
  };
  const unplaced = await make({});
  const inactive = await make({ locations: ['eu-west-1'], activated: false });
  // The page notices at once that its check is deleted.
  await using opened = await visit(`#/checks/${unplaced}`, { refusals: [404] });
  const { page } = opened;
  await page.getByRole('heading', { name: 'Idle' }).waitFor();
  await page.getByText('No location', { exact: true }).waitFor();
  await page.getByText('This monitor has no location, so it does not run.').nth(0).waitFor();
  await page.goto(`${world.cp.url}/console/#/checks/${inactive}`);
  await page.getByText('The monitor is inactive and does not run.').waitFor();
  for (const id of [unplaced, inactive]) await world.cp.api('DELETE', `/v1/checks/${id}`);
});

test('a check shows its numbers, charts by location and phase, and results to page through', async () => {
  await using opened = await visit(`#/checks/${world.shop}`);
  const { page } = opened;
  await page.locator('.plot canvas').nth(1).waitFor();
  await page.getByRole('img', { name: /^eu-west-1: \d+ intervals, \d+ down/ }).waitFor();
  const charts = page.locator('.plot');
  assert.match(
    (await charts.nth(0).getAttribute('aria-label')) ?? '',
    /eu-west-1: \d+ ms to \d+ ms/,
  );
  assert.match(
    (await charts.nth(1).getAttribute('aria-label')) ?? '',
    /Time to first byte: .*Download: /,
  );
  const painted = `[...document.querySelectorAll('.plot canvas')].every((canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.some((value) => value > 0);
  })`;
  assert.equal(await page.evaluate(painted), true);
  await page.getByRole('button', { name: 'Show data' }).first().click();
  assert.ok(
    (await page.getByRole('region', { name: 'Data of the chart' }).locator('tr').count()) > 20,
  );
  const results = page.locator('table.results tbody tr');
  assert.equal(await results.count(), 15);
  await page.getByRole('button', { name: 'Older results' }).click();
  await results.nth(29).waitFor();
  assert.match(await textOf(page), /No agent serves us-east-1 at the moment/);
  await page.getByRole('button', { name: '7 days' }).click();
  await page.getByRole('button', { name: '7 days', pressed: true }).waitFor();
  assert.match(page.url(), /range=last7Days/);
});

test('results are narrowed to those that failed, with the attempts before them', async () => {
  await using opened = await visit(`#/checks/${world.checkout}`);
  const { page } = opened;
  const results = page.locator('table.results tbody tr');
  await results.nth(1).waitFor();
  await page.getByRole('button', { name: 'Failed', exact: true }).click();
  await page.getByRole('button', { name: 'With attempts' }).click();
  await page.getByText('attempt 1, retried').waitFor();
  assert.equal(await results.count(), 2);
  assert.match(await results.first().innerText(), /expected status 503 to equal 200/);
  await page.getByRole('region', { name: 'Errors' }).getByText('Archive').waitFor();
});

test('a failed API check says what was asserted, sent and received, and shows hostile text as text', async () => {
  await using opened = await visit(`#/checks/${world.checkout}/results/${world.checkoutResult}`);
  const { page } = opened;
  await page.getByRole('heading', { name: 'Request and response' }).waitFor();
  const text = await textOf(page);
  for (const part of [
    /Failed/,
    /final, after 2 attempts/,
    /TLS handshake\s+276 ms/,
    /Failed\s+Status code\s+Equals\s+200\s+503/,
    /Passed\s+JSON body\s+\$\.error/,
    /503 Service Unavailable/,
    /Redirects\s+2\s/,
    /Certificate\s+by C=US, O=Example Trust, CN=R11, until .*2027/,
    /"code": "BASKET_DOWN"/,
    /retry-after/,
    /9 packets of the failing connection, headers only/,
    /1\.84 s\s+Body\s+the connection was reset/,
    /the target did not answer/,
    /3\s+192\.0\.2\.1\s+also 192\.0\.2\.2; administratively prohibited\s+66\.7 %\s+3\s+31 ms/,
    /10\.0\.0\.1\s+0 %\s+3\s+0\.6 ms/,
    /token fetched/,
    /<img src=x onerror/,
  ]) {
    assert.match(text, part);
  }
  assert.equal(await page.locator('a[href^="javascript:"]').count(), 0);
  assert.equal(await page.locator('main img').count(), 0);
  await page.getByRole('region', { name: 'Attempts' }).getByRole('link', { name: '1' }).click();
  await page.getByText('attempt 1, which was retried').waitFor();
});

const sslCertificate = {
  ...{ subject: 'CN=shop.example', issuer: 'CN=R11', subjectCN: 'shop.example', issuerCN: 'R11' },
  ...{ serialNumber: '77', sans: ['shop.example', 'www.shop.example'], fingerprintSha256: 'ab12' },
  ...{ notBefore: '2026-05-01T00:00:00.000Z', notAfter: '2027-05-01T00:00:00.000Z' },
  ...{ keyAlgorithm: 'EC', keySizeBits: 256, signatureAlgorithm: 'SHA256', selfSigned: false },
};

test('an SSL check has its p95 in the list, and a result shows the certificate with its chain', async () => {
  const { body } = await world.cp.api('POST', '/v1/checks/ssl', {
    ...{ name: 'Certificate of the shop', locations: ['eu-west-1'], frequency: 10 },
    request: { sslConfig: { hostname: 'shop.example' } },
  });
  const { id } = body as { id: string };
  const seen = {
    ...{ tlsVersion: 'TLS1.3', cipherSuite: 'TLS_AES_128_GCM_SHA256', daysUntilExpiry: 160 },
    ...{ handshakeTimeMs: 42, chainTrusted: true, hostnameVerified: true },
  };
  const item = resultOf(id, {
    ...{ checkType: 'SSL', startedAt: consoleNow - 60_000, scheduledFor: consoleNow - 60_000 },
    apiCheckResult: null,
    sslCheckResult: {
      ...nothingSeen,
      ...seen,
      ...{ baselineVerdict: 'pass', baselineGrade: 'A-', failureCategory: null },
      request: { sslConfig: { hostname: 'shop.example', port: 443 } },
      response: {
        ...{ ...seen, chainProblem: null, ocspStapled: false, ocspStatus: null },
        timingPhases: { dns: 3, connect: 5, handshake: 42, total: 50 },
        certificate: sslCertificate,
        chain: [{ ...sslCertificate, subjectCN: 'R11', issuerCN: 'Example Root' }],
        securityBaseline: {
          ...{ verdict: 'pass', grade: 'A-' },
          minTLSVersion: { violated: false, severity: 'fail' },
        },
      },
    },
  });
  await world.agent.submit(item);
  // The page notices at once that its check is deleted.
  await using opened = await visit('#/checks', { refusals: [404] });
  const { page } = opened;
  const row = page.locator('tbody tr').filter({ hasText: 'Certificate of the shop' });
  await row.filter({ hasText: '42 ms' }).waitFor();
  await page.goto(`${world.cp.url}/console/#/checks/${id}/results/${item.id}`);
  await page.getByText('Security baseline, A-').waitFor();
  const text = await textOf(page);
  assert.match(text, /Names\s+shop\.example, www\.shop\.example/);
  assert.match(text, /160 days left/);
  assert.match(text, /Min TLS version\s+Passed\s+fail/);
  await world.cp.api('DELETE', `/v1/checks/${id}`);
});

test('a failed browser check shows its pages, vitals, console and what the page looked like', async () => {
  await using opened = await visit(`#/checks/${world.journey}/results/${world.journeyResult}`);
  const { page } = opened;
  const shot = page.getByRole('button', { name: /Screenshot 1 of Basket/ });
  await shot.waitFor();
  // Waits until it is loaded; the policy of the page forbids polling by a text of code.
  await page.evaluate("document.querySelector('.shot img').decode()");
  await page.getByText('kept on the agent: it could not be freed').waitFor();
  const text = await textOf(page);
  for (const part of [
    /LCP\s+4\.9 s poor/,
    /basket\.js:3/,
    /1 request, 1 failed/,
    /open the basket/,
  ]) {
    assert.match(text, part);
  }
  assert.match(text, /trace\.zip\s+Trace\s+10 B\s+kept on the agent: it could not be freed/);
  await shot.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('img').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
});

test('a check is run now and the result is linked; a muted check says so', async () => {
  await using opened = await visit(`#/checks/${world.shop}`);
  const { page } = opened;
  await page.getByRole('button', { name: 'Run now' }).click();
  await page.getByText(/Running in/).waitFor();
  const { jobs } = await world.checkIn();
  const runIds = jobs.filter(({ check }) => check.id === world.shop).map(({ runId }) => runId);
  assert.ok(runIds.length > 0);
  const inProgress = page.getByRole('region', { name: 'In progress', exact: true });
  await inProgress.getByText('Running, attempt 1').first().waitFor();
  await inProgress.getByRole('button', { name: 'Cancel' }).first().click();
  await inProgress.getByRole('button', { name: 'Cancelling' }).waitFor();
  const { cancellations } = await world.checkIn();
  assert.equal(cancellations.length, 1);
  assert.ok(runIds.includes(cancellations[0] ?? ''));
  await page.getByRole('button', { name: 'Mute' }).click();
  await page.getByText('Muted: failures send no notifications.').waitFor();
  const muted = await world.cp.api('GET', `/v1/checks/${world.shop}`);
  assert.equal((muted.body as { muted: boolean }).muted, true);
  await page.getByRole('button', { name: 'Unmute' }).click();
  await page.getByRole('button', { name: 'Mute', exact: true }).waitFor();
});

test('a key that may only read is offered nothing that it may not do', async () => {
  const { rawKey } = await createApiKey(world.cp.controlPlane.services, world.cp.accountId, {
    name: 'reader',
    role: 'READ_ONLY',
  });
  await using opened = await visit(`#/checks/${world.shop}`, { key: rawKey });
  const { page } = opened;
  await page.getByRole('button', { name: 'Mute', exact: true }).waitFor();
  for (const name of ['Run now', 'Mute', 'Deactivate']) {
    const button = page.getByRole('button', { name, exact: true });
    assert.equal(await button.isDisabled(), true, name);
    assert.match((await button.getAttribute('title')) ?? '', /role of this key/);
  }
});

test('alerts, what was sent about them and the channels are listed, without the secret of a channel', async () => {
  await using opened = await visit('#/settings/channel', { refusals: [404] });
  const { page } = opened;
  await page.getByRole('button', { name: 'Send a test' }).waitFor();
  assert.match(await textOf(page), /hooks\.example/);
  assert.doesNotMatch(await textOf(page), /very-secret-path/);
  await page.goto(`${world.cp.url}/console/#/alerts`);
  await page.getByRole('button', { name: isFailing }).click();
  const timeline = page.getByRole('list', { name: 'Timeline' });
  await timeline.getByText('HTTP 500').waitFor();
  assert.match(await textOf(page), /Failing\s+Checkout API[^]*Failure\s+Webhook/);
  await timeline.getByRole('button', { name: 'Send again' }).waitFor();
  await page.getByRole('button', { name: '1 not delivered' }).waitFor();
  assert.doesNotMatch(await textOf(page), /very-secret-path/);
  await page.getByLabel('Search').fill('nothing has this name');
  await page.getByText('No alert matches').waitFor();
  await page.goto(`${world.cp.url}/console/#/alerts?channel=999`);
  await page.getByText('No alert matches').waitFor();
  const channels = page.getByLabel('Notified channel');
  await channels.selectOption({ index: 1 });
  await page.getByRole('button', { name: isFailing }).waitFor();
  await channels.selectOption({ label: 'Any' });
  await channels.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: isFailing }).waitFor();
});

test('an alert is acknowledged, snoozed and muted where it is listed, and says at once who did it', async () => {
  await using opened = await visit('#/alerts', { refusals: [404] });
  const { page } = opened;
  const row = page.getByRole('row').filter({ hasText: /Checkout API .* is failing/ });
  await row.getByRole('button', { name: 'Acknowledge' }).click();
  await row.getByText(/^Acknowledged by /).waitFor();
  assert.equal(await row.getByRole('button', { name: 'Acknowledge' }).count(), 0);
  await row.getByRole('button', { name: isFailing }).focus();
  await page.keyboard.press('Enter');
  await page.getByLabel(/^Snooze Checkout API/).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Until tomorrow, 9:00' }).click();
  await row.getByText(/until .* 09:00:/).waitFor();
  await page.getByLabel(/^Until/).fill('2026-11-21T15:30');
  await page.getByRole('button', { name: 'Snooze until then' }).click();
  await row.getByText(/until .* 15:30:/).waitFor();
  await page
    .getByRole('list', { name: 'Timeline' })
    .getByText(/^Acknowledged by /)
    .waitFor();
  await row.getByRole('checkbox').check();
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 800 });
    await assertPleasant(page, '1 alert selected', width, `an opened alert, ${width}`);
  }
  await page.goto(`${world.cp.url}/console/#/checks/${world.checkout}`);
  await page
    .getByRole('row')
    .filter({ hasText: /Checkout API .* is failing/ })
    .getByText('Snoozed', { exact: true })
    .waitFor();
  await page.goto(`${world.cp.url}/console/#/alerts`);
  await page.getByLabel(/Select all \d+ unresolved alerts/).check();
  const bar = page.getByRole('region', { name: 'Selected alerts' });
  await bar.getByRole('button', { name: 'Mute' }).click();
  await bar.getByText(/^Muted \d+ monitor/).waitFor();
  await row.getByText('Muted', { exact: true }).waitFor();
  const { body } = await world.cp.api('GET', `/v1/checks/${world.checkout}`);
  assert.equal(body.muted, true);
  await bar.getByRole('button', { name: 'Unmute' }).click();
  await row.getByText('Snoozed', { exact: true }).waitFor();
});

test('on a phone, an alert is opened without moving the list sideways', async () => {
  await using opened = await visit('#/alerts', { width: 360, refusals: [404] });
  const name = opened.page.getByRole('button', { name: isFailing });
  const box = await name.boundingBox();
  assert.ok(box !== null && box.x + box.width <= 360, JSON.stringify(box));
});

test('administrators change the account defaults, and give an escalation policy to all monitors', async () => {
  await using cp = await startTestControlPlane();
  const { body: channel } = await cp.api('POST', '/v1/alert-channels', {
    ...{ type: 'EMAIL', config: { address: 'a@shop.example' } },
  });
  const steps = [{ alertChannelIds: [channel.id] }];
  await cp.api('POST', '/v1/escalation-policies', { name: 'Night', steps });
  await using opened = await new TestConsole(cp, browser).visit('#/settings/policy');
  const { page } = opened;
  await page.getByText('nothing', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Use for all monitors: Night' }).click();
  const question = page.getByRole('dialog');
  await question.getByRole('button', { name: 'Use for all monitors' }).click();
  await page.getByRole('link', { name: 'account defaults' }).click();
  await page.getByRole('link', { name: 'Night' }).waitFor();
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByLabel('Reminders').selectOption('Until it recovers');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/reminders every 5 min/).waitFor();
});

test('what a check does not have is not named', async () => {
  await using opened = await visit(`#/checks/${world.backup}`, { refusals: [404] });
  await opened.page.getByText('Ping URL').waitFor();
  const text = await textOf(opened.page);
  // A ping runs nothing: it has no place, takes no time and is not repeated.
  assert.doesNotMatch(text, /Target|on demand|control-plane|Retries|Availability of 0 s/);
  assert.doesNotMatch(text, /With attempts|All pings/);
  assert.match(text, /Expected every\s+1 day\s+Grace period\s+1 hour\s/);
  await opened.page.goto(`${world.cp.url}/console/#/checks/${world.suite}`);
  await opened.page.getByText('Flaky', { exact: true }).waitFor();
  await opened.page.getByText('Location strategy', { exact: true }).waitFor();
  assert.match(await textOf(opened.page), /Retries\s+none\s/);
});

test('operations are written in words', () => {
  const rows = {
    createAPICheck: 'create API check',
    updateURLMonitor: 'update URL monitor',
    createMultiStepCheck: 'create multi step check',
    getICMP: 'get ICMP',
  };
  assert.deepEqual(Object.keys(rows).map(operationInWords), Object.values(rows));
});

test('locations show their agents, those without come first', async () => {
  await using opened = await visit('#/locations');
  const { page } = opened;
  await page.getByText(world.agent.id).waitFor();
  assert.equal(await page.locator('h2').first().innerText(), 'N. Virginia us-east-1');
  const text = await textOf(page);
  for (const part of [
    /No agent has connected to this location yet\. 1 monitor cannot run here/,
    /Connected\s+shop-runner-1 <img src=x/,
    /version 0\.1\.0/,
    /4 results queued, the oldest for 2 min/,
    /Clock offset\s+31 ms/,
    /Active runs\s+2/,
    /Office Berlin/,
  ]) {
    assert.match(text, part);
  }
});

test('incidents, status pages with their address and maintenance are listed', async () => {
  await using opened = await visit('#/incidents');
  const { page } = opened;
  await page.getByText('Checkout is down').first().waitFor();
  assert.match(await textOf(page), /Investigating\s+Checkout is down/);
  // Maintenance is listed in one place, which is a step away.
  assert.equal(await page.getByText('Database upgrade').count(), 0);
  await page.getByRole('link', { name: 'Maintenance', exact: true }).click();
  await page.getByText('Database upgrade').waitFor();
  assert.match(await textOf(page), /Planned\s+Database upgrade[\s\S]*2 h\s+every week/);
  await page.goto(`${world.cp.url}/console/#/status-pages`);
  const link = page.getByRole('link', { name: '/status/shop' });
  assert.equal(await link.getAttribute('href'), `${world.cp.url}/status/shop`);
});

test('an address that names nothing says so and leads on', async () => {
  await using opened = await visit('#/checks/00000000-0000-4000-8000-000000000000', {
    refusals: [404],
  });
  const { page } = opened;
  await page.getByText('It does not exist or was deleted.').waitFor();
  await page.goto(`${world.cp.url}/console/#/nowhere`);
  await page.getByRole('link', { name: 'All monitors', exact: true }).waitFor();
});

test('every view is accessible and fits, on a phone and a desktop, in light and in dark', async () => {
  const views = {
    '#/checks': 'Shop front page',
    [`#/checks/${world.shop}`]: 'Response time by phase',
    [`#/checks/${world.backup}`]: 'Ping URL',
    [`#/checks/${world.checkout}/results/${world.checkoutResult}`]: 'Request and response',
    [`#/checks/${world.journey}/results/${world.journeyResult}`]: 'kept on the agent',
    [`#/checks/${world.steps}/results/${world.stepsResult}`]: 'https://api.shop.example/order',
    [`#/checks/${world.suite}/results/${world.suiteResult}`]: 'Flaky',
    '#/alerts': 'is failing',
    '#/settings/policy': 'New policy',
    '#/maintenance': 'Database upgrade',
    '#/status-pages': '/status/shop',
    '#/settings': 'Channels',
    '#/settings/account': 'Runtime of scripts',
    '#/settings/channel': 'Send a test',
    '#/locations': 'Office Berlin',
    '#/incidents': 'Checkout is down',
    '#/components': 'Notices, dark',
  };
  for (const [width, scheme] of [
    [1280, 'light'],
    [360, 'dark'],
  ] as const) {
    await using opened = await visit('', { width, scheme, key: false, refusals: [404] });
    const { page } = opened;
    await assertPleasant(page, 'Sign in to the console', width, `signing in, ${scheme}`);
    await fillKey(page, world.cp.apiKey);
    await page.keyboard.press('Enter');
    for (const [hash, waitsFor] of Object.entries(views)) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await assertPleasant(page, waitsFor, width, `${hash} at ${width} in ${scheme}`);
    }
  }
});

test('of many checks only those near the screen are rows, and all are reached by keyboard, search and scrolling', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  for (let index = 0; index < 200; index += 1) {
    const name = `Check ${String(index).padStart(3, '0')}`;
    const request = { hostname: 'mail.example', port: 25 };
    await cp.api('POST', '/v1/checks/tcp', { name, frequency: 10, request, tags: ['many'] });
  }
  await using opened = await new TestConsole(cp, browser).visit('#/checks?sort=name', {
    refusals: [503],
  });
  const { page } = opened;
  const names = page.locator('table.checks tbody th a');
  await names.first().waitFor();
  assert.equal(await page.locator('table.checks').getAttribute('aria-rowcount'), '201');
  assert.ok((await names.count()) < 80);
  // Faster than the page draws.
  await page.evaluate(
    "for (let step = 0; step < 100; step += 1) dispatchEvent(new KeyboardEvent('keydown', { key: 'j' }))",
  );
  await page.locator('a:focus').getByText('Check 099').waitFor();
  await page.keyboard.press('k');
  const focused = page.locator('tr:has(a:focus)');
  assert.equal(await focused.locator('th a').innerText(), 'Check 098');
  assert.equal(await focused.getAttribute('aria-rowindex'), '100');
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
  await page.getByRole('link', { name: 'Check 199' }).waitFor();
  assert.ok((await names.count()) < 80);
  await assertPleasant(page, 'Check 199', 1280, 'a long list, at its end');
  // What was never shown is selected as well. The first of a range is the one before, not a place.
  await page.getByLabel('Select Check 199').click({ modifiers: ['Shift'] });
  await page.getByText('1 monitor selected').waitFor();
  await page.evaluate('scrollTo(0, 0)');
  await page.getByLabel('Select Check 001').click({ modifiers: ['Shift'] });
  await page.getByText('199 monitors selected').waitFor();
  await page.getByLabel('Select all matches').click();
  await page.getByText('200 monitors selected').waitFor();
  const fill = (text: string): Promise<void> => page.getByLabel('Search').fill(text);
  await page.keyboard.press('/');
  await page.keyboard.type('check 150');
  await page.getByText('1 monitor shown', { exact: true }).waitFor();
  assert.deepEqual(await names.allInnerTexts(), ['Check 150']);
  await fill('check 15');
  await page.getByText('12 monitors shown', { exact: true }).waitFor();
  await page.getByLabel('Select Check 150').click();
  await page.getByLabel('Select all matches').click();
  await page.getByText('12 monitors selected').waitFor();
  // A search that fails takes nothing away.
  const refused = /check-overview\/list\?/;
  await page.route(refused, (route) => route.fulfill({ status: 503, body: '{}' }));
  await fill('check 16');
  await page.getByText(/Showing data from/).waitFor();
  assert.equal(await page.locator('table.checks').getAttribute('aria-busy'), 'true');
  await page.getByText('12 monitors selected').waitFor();
  await page.unroute(refused);
  await fill('check 17');
  await page.getByRole('link', { name: 'Check 170' }).waitFor();
  await page.locator('table.checks[aria-busy=false]').waitFor();
  await page.evaluate("location.hash = '#/checks?sort=nothing&state=OLD&type=NONE'");
  await page.getByText('200 monitors shown', { exact: true }).waitFor();
  // A row that arrives late does not take the focus from where it was put meanwhile.
  const held = Promise.withResolvers<undefined>();
  await page.route(/page=2/, async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.evaluate("location.hash = '#/checks?sort=name!'");
  await page.getByRole('link', { name: 'Check 199' }).waitFor();
  await page.evaluate(
    "for (let step = 0; step < 120; step += 1) dispatchEvent(new KeyboardEvent('keydown', { key: 'j' }))",
  );
  await page.locator('tr.unread').first().waitFor();
  await page.evaluate(
    "document.querySelector('input[type=search]').focus({ preventScroll: true })",
  );
  held.resolve(undefined);
  await page.getByRole('link', { name: 'Check 080' }).waitFor();
  await page.locator('input[type=search]:focus').waitFor({ state: 'attached' });
  await page.keyboard.press('Control+k');
  await page.keyboard.type('monitor 117');
  await page.getByRole('option', { name: 'Check 117 monitor' }).waitFor();
});

test('selected checks are muted, tagged, moved and deleted together, and a deletion is undone', async () => {
  await using cp = await startTestControlPlane({
    clock: new TestClock(consoleNow),
    requestsPerMinute: 0,
  });
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) {
    const request = { hostname: 'mail.example', port: 25 };
    const fields = { name: `Port ${name}`, frequency: 10, request, tags: [name] };
    const { body } = await cp.api('POST', '/v1/checks/tcp', fields);
    ids.push((body as { id: string }).id);
  }
  await cp.api('POST', '/v2/check-groups', { name: 'Mail', locations: ['eu-west-1'] });
  const read = async (field: string) => {
    const checks = await Promise.all(ids.map((id) => cp.api('GET', `/v1/checks/${id}`)));
    return checks.map(({ body }) => (body as Record<string, unknown>)[field]);
  };
  await using opened = await new TestConsole(cp, browser).visit('#/checks?sort=name');
  const { page } = opened;
  await page.getByLabel('Select Port a').click();
  await page.getByLabel('Select Port c').click({ modifiers: ['Shift'] });
  const bar = page.getByRole('region', { name: 'Selected monitors' });
  await bar.getByText('3 monitors selected').waitFor();
  await bar.getByRole('button', { name: 'Mute', exact: true }).click();
  await bar.getByText('Muted: 3 monitors.').waitFor();
  assert.deepEqual(await read('muted'), [true, true, true, false]);
  await bar.getByLabel('Tag to add or remove').fill('mail');
  await bar.getByRole('button', { name: 'Add tag' }).click();
  await bar.getByText('Added tag mail: 3 monitors.').waitFor();
  assert.deepEqual(await read('tags'), [['a', 'mail'], ['b', 'mail'], ['c', 'mail'], ['d']]);
  await bar.getByLabel('Move to group').selectOption('Mail');
  await bar.getByText('Moved to Mail: 3 monitors.').waitFor();
  await page.keyboard.press('Tab');
  await page.locator('h1').click();
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await bar.getByText('2 monitors selected').waitFor();
  for (const width of [360, 1440]) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await assertPleasant(
        page,
        '2 monitors selected',
        width,
        `selection, ${width}, ${colorScheme}`,
      );
    }
  }
  await bar.getByRole('button', { name: 'Delete' }).click();
  const deletions = page.getByRole('region', { name: 'Deletions' });
  await page.getByRole('link', { name: 'Port b' }).waitFor({ state: 'detached' });
  assert.deepEqual((await cp.api('GET', '/v1/checks')).body.length, 2);
  await page.goto(`${page.url().split('#')[0]}#/alerts`);
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await assertPleasant(
        page,
        'can be undone for a minute',
        width,
        `held, ${width}, ${colorScheme}`,
      );
    }
  }
  for (const left of [1, 0]) {
    await deletions.getByRole('button', { name: 'Undo' }).first().click();
    const held = async () => (await cp.api('GET', '/v1/deletions')).body.length === left;
    await eventually(held, () => `not ${left} are held`);
    // The stream of changes stands still with the clock of this control plane.
    await page.reload();
  }
  assert.deepEqual((await cp.api('GET', '/v1/checks')).body.length, 4);
  await page.goto(`${page.url().split('#')[0]}#/checks?sort=name`);
  await page.getByLabel('Select all matches').check();
  await bar.getByText('4 monitors selected').waitFor();
  await bar.getByRole('button', { name: 'Delete' }).click();
  await bar.waitFor({ state: 'detached' });
  await deletions.getByText(/Check Port . and 1 more/).waitFor();
  await deletions.getByRole('button', { name: 'Undo all' }).click();
  await deletions.waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Port d' }).waitFor();
  assert.deepEqual(await read('tags'), [['a', 'mail'], ['b', 'mail'], ['c', 'mail'], ['d']]);
  await page.getByLabel('Select Port a').click();
  await bar.getByRole('button', { name: 'Delete' }).click();
  await deletions.getByRole('button', { name: 'Delete now' }).click();
  await deletions.waitFor({ state: 'detached' });
  assert.deepEqual(
    [(await cp.api('GET', '/v1/checks')).body.length, (await cp.api('GET', '/v1/deletions')).body],
    [3, []],
  );
});

test('a deletion that is held is named by what it deletes, also where one path begins with another', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const { body: service } = await cp.api('POST', '/v1/status-pages/services', { name: 'Shop' });
  const cards = [{ name: 'All', services: [{ id: service.id }] }];
  const { body: page } = await cp.api('POST', '/v1/status-pages', {
    name: 'Ours',
    url: 'a',
    cards,
  });
  const { body: incident } = await cp.api('POST', '/v1/status-pages/incidents', {
    ...{ name: 'Fire', severity: 'MINOR', services: [{ id: service.id }] },
    incidentUpdates: [{ description: 'It burns.', status: 'INVESTIGATING' }],
  });
  await using opened = await new TestConsole(cp, browser).visit('#/alerts');
  for (const [path, name] of [
    [`services/${service.id}`, 'Service Shop'],
    [`incidents/${incident.id}`, 'Incident Fire'],
    [page.id, 'Status page Ours'],
  ] as const) {
    await cp.api('DELETE', `/v1/status-pages/${path}`, undefined, { prefer: 'respond-async' });
    await opened.page.getByText(`${name} will be deleted in a minute`).waitFor();
  }
});

test('a deletion is undone in its place, from another browser, and ends without any', async () => {
  const clock = new TestClock(consoleNow);
  await using cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  for (const name of ['Mail', 'Shop']) {
    await cp.api('POST', '/v2/check-groups', { name, locations: ['eu-west-1'] });
  }
  const names = async () =>
    ((await cp.api('GET', '/v1/check-groups')).body as { name: string }[]).map(({ name }) => name);
  const own = new TestConsole(cp, browser);
  await using opened = await own.visit('#/settings/group');
  await using other = await own.visit('#/alerts');
  const remove = (name: string) =>
    opened.page.getByRole('button', { name: `Delete ${name}`, exact: true }).click();
  const deletions = opened.page.getByRole('region', { name: 'Deletions' });
  await remove('Mail');
  await deletions.getByText('Group Mail will be deleted in a minute').waitFor();
  await opened.page.getByRole('button', { name: 'Undo the deletion of Mail' }).click();
  await deletions.waitFor({ state: 'detached' });
  await remove('Shop');
  await other.page.getByText('Group Shop will be deleted in a minute').waitFor();
  await other.page.getByRole('button', { name: 'Undo', exact: true }).click();
  await deletions.waitFor({ state: 'detached' });
  await passTime(clock, 90_000);
  assert.deepEqual(await names(), ['Mail', 'Shop']);

  // The browser that asked for it may be closed.
  await remove('Mail');
  await deletions.waitFor();
  await opened.page.goto('about:blank');
  await passTime(clock, 62_000);
  assert.deepEqual(await names(), ['Shop']);
  await other.page.getByRole('region', { name: 'Deletions' }).waitFor({ state: 'detached' });

  // What is refused after the minute says why.
  await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'a', groupId: (await cp.api('GET', '/v1/check-groups')).body[0].id },
    request: { url: 'https://shop.example/' },
  });
  await other.page.goto(`${cp.url}/console/#/settings/group`);
  await other.page.getByRole('button', { name: 'Delete Shop' }).click();
  await other.page.getByRole('region', { name: 'Deletions' }).waitFor();
  await passTime(clock, 62_000);
  await other.page.getByText(/Not deleted: Group Shop. .* still has 1 check/).waitFor();
  await other.page.getByRole('button', { name: 'Close' }).click();
  await other.page.getByRole('region', { name: 'Deletions' }).waitFor({ state: 'detached' });
  assert.deepEqual(await names(), ['Shop']);
});

test('the palette goes to a check, a view or an action by a few letters, and ? shows the keys', async () => {
  await using opened = await visit('#/alerts');
  const { page } = opened;
  await page.getByRole('heading', { name: 'Alerts', level: 1 }).waitFor();
  for (const width of [360, 1440]) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.keyboard.press('Control+k');
      await page.getByRole('option').first().waitFor();
      await assertPleasant(page, 'Failing monitors', width, `palette, ${width}, ${colorScheme}`);
      await page.keyboard.press('Escape');
      await page.getByRole('option').first().waitFor({ state: 'detached' });
      await page.locator('h1').click();
      await page.keyboard.press('?');
      await assertPleasant(page, 'show this list', width, `keys, ${width}, ${colorScheme}`);
      await page.keyboard.press('Escape');
      await page.locator('dialog').waitFor({ state: 'detached' });
    }
  }
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Monitor, view or action' }).waitFor();
  await page.keyboard.type('shop front');
  await page.getByRole('option', { name: 'Shop front page' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Shop front page' }).waitFor();
  await page.getByRole('button', { name: 'Go to' }).click();
  await page.getByRole('combobox', { name: 'Monitor, view or action' }).waitFor();
  await page.keyboard.type('new inc');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL(/new\/incident/);
});

test('the palette finds every view, the actions of the page, and the theme', async () => {
  await using opened = await visit(`#/checks/${world.shop}`);
  const { page } = opened;
  await page.getByRole('button', { name: 'Mute', exact: true }).waitFor();
  const find = async (words: string): Promise<string> => {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Monitor, view or action' }).fill(words);
    const first = page.getByRole('dialog').getByRole('option', { selected: true });
    const found = await first.innerText();
    await first.click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    return found;
  };
  assert.match(await find('mute this check'), /^Mute/);
  await page.getByText('Muted: failures send no notifications.').waitFor();
  await world.cp.api('PUT', `/v1/checks/${world.shop}`, { muted: false });
  assert.match(await find('run this check'), /^Run now/);
  await page.getByText(/Running in/).waitFor();
  await find('theme dark');
  assert.equal(
    await page.evaluate('getComputedStyle(document.documentElement).colorScheme'),
    'dark',
  );
  await find('theme system');
  for (const [words, hash, title] of [
    ['people', '#/settings/people', 'People'],
    ['audit', '#/settings/audit', 'Audit log'],
    ['profile', '#/settings/profile', 'Profile'],
    ['groups', '#/settings/group', 'Groups'],
    ['channels', '#/settings/channel', 'Channels'],
    ['status pages', '#/status-pages', 'Status pages'],
    ['agents', '#/locations', 'Locations'],
    ['maintenance', '#/maintenance', 'Maintenance'],
    ['variables', '#/settings/variable', 'Variables'],
    ['new incident', '#/new/incident', 'New incident'],
    ['invite', '#/settings/people', 'People'],
  ] as const) {
    await find(words);
    await page.getByRole('heading', { name: title, exact: true }).first().waitFor();
    assert.equal(new URL(page.url()).hash, hash, words);
  }
});

test('a theme is chosen and stays, and the sidebar folds', async () => {
  await using opened = await visit('#/locations', { scheme: 'light' });
  const { page } = opened;
  const scheme = () => page.evaluate('getComputedStyle(document.documentElement).colorScheme');
  await page.getByRole('button', { name: 'Theme: system' }).click();
  await page.getByRole('button', { name: 'Theme: light' }).click();
  assert.equal(await scheme(), 'dark');
  await page.getByRole('button', { name: 'Sidebar' }).click();
  await page.reload();
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  assert.equal(await scheme(), 'dark');
  const side = await page.getByRole('banner').boundingBox();
  assert.ok(side !== null && side.width < 60, JSON.stringify(side));
  await assertPleasant(page, 'Office Berlin', 1280, 'folded, dark');
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('link', { name: 'Settings', exact: true }).click();
  await page.getByRole('link', { name: 'Variables' }).click();
  await page.getByRole('heading', { name: 'Variables' }).waitFor();
  await assertPleasant(page, 'New variable', 390, 'a page of the settings on a phone');
});

test('a chosen theme is there with the first paint, also when the console arrives late', async () => {
  // Without the clock of the other tests, which knows no paints.
  await using page = await browser.newPage({ colorScheme: 'light' });
  await page.goto(`${world.cp.url}/console/`);
  await page.evaluate(`localStorage.setItem('console.theme', '["dark"]')`);
  await page.route('**/main.js', async (route) => {
    const answer = await route.fetch();
    // Late enough for a browser to paint what it has.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await route.fulfill({ response: answer });
  });
  await page.reload();
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.evaluate(
    'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))',
  );
  const seen = (await page.evaluate(`({
    theme: document.documentElement.dataset.theme,
    painted: performance.getEntriesByName('first-paint')[0].startTime,
    arrived: performance.getEntriesByType('resource').find(({ name }) => name.endsWith('/main.js')).responseEnd,
  })`)) as { theme: string; painted: number; arrived: number };
  assert.equal(seen.theme, 'dark');
  assert.ok(seen.painted >= seen.arrived, JSON.stringify(seen));
});

test('groups are rows that fold, names are in natural order', async () => {
  await using cp = await startTestControlPlane({ requestsPerMinute: 0 });
  const { body: group } = await cp.api('POST', '/v2/check-groups', { name: 'Mail', locations: [] });
  for (const [name, groupId] of [
    ['Basket 12', group.id],
    ['Basket 2', group.id],
    ['Alone', null],
  ]) {
    const request = { hostname: 'mail.example', port: 25 };
    await cp.api('POST', '/v1/checks/tcp', { name, groupId, frequency: 10, request });
  }
  await using opened = await new TestConsole(cp, browser).visit('#/checks?sort=name!');
  const { page } = opened;
  const names = page.locator('table.checks tbody th a');
  await names.nth(2).waitFor();
  assert.deepEqual(await names.allInnerTexts(), ['Basket 12', 'Basket 2', 'Alone']);
  await assertPleasant(page, 'Basket 2', 1280, 'group rows');
  const row = page.getByRole('button', { name: 'Mail' });
  assert.match(await row.innerText(), /2 no location/);
  await row.click();
  const folded = page.getByRole('button', { name: 'Mail', expanded: false });
  await folded.waitFor();
  await names.nth(1).waitFor({ state: 'detached' });
  assert.deepEqual(await names.allInnerTexts(), ['Alone']);
  await page.reload();
  await folded.waitFor();
  assert.deepEqual(await names.allInnerTexts(), ['Alone']);
  await folded.click();
  await names.nth(2).waitFor();

  // Of the ids of groups that are gone, the oldest makes room.
  await page.evaluate(
    `localStorage.setItem('console.groups', JSON.stringify(Array.from({ length: 500 }, (_, at) => 1e6 + at)))`,
  );
  await page.reload();
  await row.click();
  await names.nth(1).waitFor({ state: 'detached' });
  assert.deepEqual(await names.allInnerTexts(), ['Alone']);
  const kept = (await page.evaluate(
    `JSON.parse(localStorage.getItem('console.groups'))`,
  )) as number[];
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [500, 1_000_001, group.id]);
});

test('a view of the list is saved under a name, offered in the palette, and forgotten', async () => {
  await using opened = await visit('#/checks?state=FAILING&sort=name');
  const { page } = opened;
  await page.getByRole('button', { name: 'Save this view' }).click();
  await page.getByLabel('Name of the view').fill('What burns');
  await page.keyboard.press('Enter');
  const saved = page.getByRole('link', { name: 'What burns' });
  await saved.waitFor();
  await assertPleasant(page, 'What burns', 1280, 'a saved view');
  await page.goto(`${world.cp.url}/console/#/locations`);
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Monitor, view or action' }).waitFor();
  await page.keyboard.type('burns');
  await page.getByRole('option', { name: 'What burns' }).click();
  await page.waitForURL(/state=FAILING&sort=name/);
  await page.getByRole('button', { name: 'Delete view What burns' }).click();
  await saved.waitFor({ state: 'detached' });
});
