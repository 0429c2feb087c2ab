// Own process: it starts browsers.
/** The console as people use it: in a real browser, against a real control plane. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, test } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { createApiKey } from '../../../control-plane/accounts/keys/store.ts';
import { consoleNow, openConsoleWorld, type ConsoleWorld } from '../../support/console-world.ts';
import { resultOf } from '../../support/fake-agent.ts';
import { launchBrowser } from '../../support/found-browser.ts';
import { nothingSeen } from '../../support/plain.ts';

const require = createRequire(import.meta.url);
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

let world: ConsoleWorld;
let browser: Browser;
/** What no page may do: log an error, call another host, run what is only text. */
let trouble: string[] = [];

before(async () => {
  world = await openConsoleWorld();
  browser = await launchBrowser();
});
after(async () => {
  await browser.close();
  await world[Symbol.asyncDispose]();
});
afterEach(() => {
  const seen = trouble;
  trouble = [];
  assert.deepEqual(seen, []);
});

interface Opening {
  width?: number;
  scheme?: 'light' | 'dark';
  /** False for somebody who has not signed in. */
  key?: string | false;
  /** True for a test that moves the time of the page. */
  isClockMoving?: boolean;
  /** Statuses of answers that this test provokes. */
  refusals?: readonly number[];
}

class Visit implements AsyncDisposable {
  readonly page: Page;
  readonly #context: BrowserContext;

  constructor(page: Page, context: BrowserContext) {
    this.page = page;
    this.#context = context;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if ((await this.page.evaluate('window.hacked')) !== undefined) trouble.push('text was run');
    await this.#context.close();
  }
}

/** Opens an address of the console, signed in unless said otherwise. */
async function visit(hash: string, options: Opening = {}): Promise<Visit> {
  const { width = 1280, scheme = 'light', key = world.cp.apiKey, refusals = [] } = options;
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: scheme,
    // Loading what it should not would show in the requests.
    serviceWorkers: 'block',
  });
  const page = await context.newPage();
  if (options.isClockMoving === true) await page.clock.install({ time: consoleNow });
  else await page.clock.setFixedTime(consoleNow);
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol !== 'data:' && origin !== world.cp.url) trouble.push(`asked ${request.url()}`);
  });
  page.on('pageerror', (error) => trouble.push(`threw ${error.message}`));
  page.on('console', (message) => {
    const status = /status of (\d+)/.exec(message.text())?.[1];
    const isExpected = refusals.includes(Number(status));
    if (message.type() === 'error' && !isExpected) trouble.push(`logged ${message.text()}`);
  });
  if (key !== false) {
    const answer = await context.request.post(`${world.cp.url}/console/session`, {
      headers: { 'x-console': '1' },
      data: { key },
    });
    assert.equal(answer.status(), 204);
  }
  await page.goto(`${world.cp.url}/console/${hash}`);
  return new Visit(page, context);
}

const textOf = (page: Page) => page.locator('main').innerText();

test('a user signs in with a key, is signed out with the tab, and signs out', async () => {
  await using opened = await visit('', { key: false });
  const { page } = opened;
  await page.getByLabel('API key').fill(world.cp.apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Checks', level: 1 }).waitFor();
  assert.equal(await page.evaluate('localStorage.length'), 0);
  assert.equal(await page.evaluate('document.cookie'), '');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor();
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
});

test('who wants to stay signed in on this machine is, with the account that was named', async () => {
  await using opened = await visit('', { key: false });
  const { page } = opened;
  await page.getByLabel('API key').fill(world.cp.apiKey);
  await page.getByLabel('Account id').fill(world.cp.accountId);
  await page.getByLabel('Keep me signed in on this machine').check();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Checks', level: 1 }).waitFor();
  const second = await page.context().newPage();
  await second.goto(`${world.cp.url}/console/#/agents`);
  await second.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();
});

test('a wrong key and a foreign account have different messages, and neither signs in', async () => {
  await using opened = await visit('', { key: false, refusals: [401, 403] });
  const { page } = opened;
  const attempt = async (key: string, account: string) => {
    await page.getByLabel('API key').fill(key);
    await page.getByLabel('Account id').fill(account);
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
  await page.evaluate("location.hash = '#/agents'");
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
  await page.getByText('No check matches').waitFor();
  await page.getByLabel('Search').fill('front');
  assert.deepEqual(await names.allInnerTexts(), ['Shop front page']);
  await page.getByLabel('Search').fill('');
  await page.getByRole('button', { name: '2 failing' }).click();
  await names.nth(1).waitFor();
  assert.equal(await names.count(), 2);
  await page.getByLabel('Type').selectOption('BROWSER');
  assert.deepEqual(await names.allInnerTexts(), ['Buying a book']);
  assert.match(page.url(), /state=FAILING&type=BROWSER/);
  await page.goto(`${world.cp.url}/console/#/checks?tag=public`);
  await page.locator('tbody tr').nth(0).waitFor();
  assert.deepEqual(await names.allInnerTexts(), ['Shop front page']);
  await page.goto(`${world.cp.url}/console/#/checks?sort=name!`);
  await names.nth(5).waitFor();
  assert.equal(await names.first().innerText(), 'Suite of the shop');
  assert.equal(
    await page.getByRole('columnheader', { name: 'Check', exact: true }).getAttribute('aria-sort'),
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
  await world.agent.submit(
    resultOf(id, { checkType: 'TCP', startedAt: consoleNow, scheduledFor: consoleNow }),
  );
  await page.clock.fastForward(20_000);
  await row.filter({ hasText: 'Passing' }).waitFor();
  assert.equal(await page.evaluate('window.drawn'), 0);
  await world.cp.api('DELETE', `/v1/checks/${id}`);
  await page.clock.fastForward(20_000);
  await row.waitFor({ state: 'detached' });
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
  await using opened = await visit(`#/checks/${unplaced}`);
  const { page } = opened;
  await page.getByRole('heading', { name: 'Idle' }).waitFor();
  await page.getByText('No location', { exact: true }).waitFor();
  await page.getByText('The check has no location: nobody runs it.').nth(1).waitFor();
  await page.goto(`${world.cp.url}/console/#/checks/${inactive}`);
  await page.getByText('The check is not active: nobody runs it.').waitFor();
  for (const id of [unplaced, inactive]) await world.cp.api('DELETE', `/v1/checks/${id}`);
});

test('a check shows its numbers, charts by location and phase, and results to page through', async () => {
  await using opened = await visit(`#/checks/${world.shop}`);
  const { page } = opened;
  await page.locator('.plot canvas').nth(2).waitFor();
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
  await page.getByRole('button', { name: 'Values' }).first().click();
  assert.ok(
    (await page.getByRole('region', { name: 'Values of the chart' }).locator('tr').count()) > 20,
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
  await page.getByText('attempt 1, was repeated').waitFor();
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
    /Did not hold\s+Status code\s+Equals\s+200\s+503/,
    /Held\s+JSON body\s+\$\.error/,
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
  await page.getByText('attempt 1, which was repeated').waitFor();
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
  await using opened = await visit('#/checks');
  const { page } = opened;
  const row = page.locator('tbody tr').filter({ hasText: 'Certificate of the shop' });
  await row.filter({ hasText: '42 ms' }).waitFor();
  await page.goto(`${world.cp.url}/console/#/checks/${id}/results/${item.id}`);
  await page.getByText('Security baseline, A-').waitFor();
  const text = await textOf(page);
  assert.match(text, /Names\s+shop\.example, www\.shop\.example/);
  assert.match(text, /160 days left/);
  assert.match(text, /Min TLS version\s+Held\s+fail/);
  await world.cp.api('DELETE', `/v1/checks/${id}`);
});

test('a failed browser check shows its pages, vitals, console and what the page looked like', async () => {
  await using opened = await visit(`#/checks/${world.journey}/results/${world.journeyResult}`);
  const { page } = opened;
  const shot = page.getByRole('button', { name: /Screenshot 1 of Basket/ });
  await shot.waitFor();
  // Waits until it is loaded; the policy of the page forbids polling by a text of code.
  await page.evaluate("document.querySelector('.shot img').decode()");
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
  await inProgress.getByRole('button', { name: 'Being cancelled' }).waitFor();
  const { cancellations } = await world.checkIn();
  assert.equal(cancellations.length, 1);
  assert.ok(runIds.includes(cancellations[0] ?? ''));
  await page.getByRole('button', { name: 'Mute' }).click();
  await page.getByText('Muted: no notifications are sent when it fails.').waitFor();
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
  await page.getByRole('button', { name: 'Mute' }).waitFor();
  for (const name of ['Run now', 'Mute', 'Deactivate']) {
    const button = page.getByRole('button', { name });
    assert.equal(await button.isDisabled(), true, name);
    assert.match((await button.getAttribute('title')) ?? '', /role of this key/);
  }
});

test('alerts, what was sent about them and the channels are listed, without the secret of a channel', async () => {
  await using opened = await visit('#/alerts', { refusals: [404] });
  const { page } = opened;
  await page.getByRole('heading', { name: 'Channels' }).waitFor();
  await page.getByRole('button', { name: 'Send a test' }).waitFor();
  const text = await textOf(page);
  assert.match(text, /Failing\s+Checkout API/);
  assert.match(text, /Failure\s+Nov 21/);
  assert.match(text, /HTTP 500/);
  assert.match(text, /hooks\.example/);
  assert.doesNotMatch(text, /very-secret-path/);
  await page.getByRole('button', { name: 'Six hours earlier' }).click();
  await page.getByText(/No alerts 6 h to 12 h ago/).waitFor();
});

test('on a phone, why there was an alert can be asked for without moving the list sideways', async () => {
  await using opened = await visit('#/alerts', { width: 360, refusals: [404] });
  const why = await opened.page.getByRole('button', { name: 'Why' }).first().boundingBox();
  assert.ok(why !== null && why.x + why.width <= 360, JSON.stringify(why));
});

test('what a check does not have is not named', async () => {
  await using opened = await visit(`#/checks/${world.backup}`, { refusals: [404] });
  await opened.page.getByText('Address to ping').waitFor();
  const text = await textOf(opened.page);
  assert.doesNotMatch(text, /Looks at/);
  assert.match(text, /Expected every\s+1 day\s+Fails when later than\s+1 hour\s/);
});

test('agents show their state, and locations without agents come first', async () => {
  await using opened = await visit('#/agents');
  const { page } = opened;
  await page.getByText(world.agent.id).waitFor();
  assert.equal(await page.locator('h2').first().innerText(), 'N. Virginia us-east-1');
  const text = await textOf(page);
  for (const part of [
    /No agent serves this location, and none ever did\. 1 check cannot run here/,
    /Serving/,
    /version 0\.1\.0/,
    /4 results not handed in yet, the oldest 2 min old/,
    /Clock offset\s+31 ms/,
    /Running now\s+2/,
    /Office Berlin/,
  ]) {
    assert.match(text, part);
  }
});

test('incidents, status pages with their address and maintenance are listed', async () => {
  await using opened = await visit('#/incidents');
  const { page } = opened;
  await page.getByText('Database upgrade').waitFor();
  const link = page.getByRole('link', { name: '/status/shop' });
  assert.equal(await link.getAttribute('href'), `${world.cp.url}/status/shop`);
  assert.match(await textOf(page), /Investigating\s+Checkout is down/);
  assert.match(await textOf(page), /Planned\s+Database upgrade[\s\S]*2 h\s+every week/);
});

test('an address that names nothing says so and leads on', async () => {
  await using opened = await visit('#/checks/00000000-0000-4000-8000-000000000000', {
    refusals: [404],
  });
  const { page } = opened;
  await page.getByText('It does not exist, or not any more.').waitFor();
  await page.goto(`${world.cp.url}/console/#/nowhere`);
  await page.getByRole('link', { name: 'All checks', exact: true }).waitFor();
});

const inspect = `axe.run(document, {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`;

async function assertPleasant(page: Page, waitsFor: string, width: number, name: string) {
  await page.getByText(waitsFor).first().waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width, name);
  assert.deepEqual(await page.evaluate(inspect), [], name);
}

test('every view is accessible and fits, on a phone and a desktop, in light and in dark', async () => {
  const views = {
    '#/checks': 'Shop front page',
    [`#/checks/${world.shop}`]: 'Where the time goes',
    [`#/checks/${world.backup}`]: 'Address to ping',
    [`#/checks/${world.checkout}/results/${world.checkoutResult}`]: 'Request and response',
    [`#/checks/${world.journey}/results/${world.journeyResult}`]: 'kept on the agent',
    [`#/checks/${world.steps}/results/${world.stepsResult}`]: 'https://api.shop.example/order',
    [`#/checks/${world.suite}/results/${world.suiteResult}`]: 'Flaky',
    '#/alerts': 'Send a test',
    '#/agents': 'Office Berlin',
    '#/incidents': 'Database upgrade',
  };
  for (const [width, scheme] of [
    [1280, 'light'],
    [360, 'dark'],
  ] as const) {
    await using opened = await visit('', { width, scheme, key: false, refusals: [404] });
    const { page } = opened;
    // The policy of the page lets no script in; this comes with the browser itself.
    await page.evaluate(axeSource);
    await assertPleasant(page, 'Sign in to the console', width, `signing in, ${scheme}`);
    await page.getByLabel('API key').fill(world.cp.apiKey);
    await page.keyboard.press('Enter');
    for (const [hash, waitsFor] of Object.entries(views)) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await assertPleasant(page, waitsFor, width, `${hash} at ${width} in ${scheme}`);
    }
  }
});
