// Few share a process: it opens a browser.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { loadAxe } from '../../support/pleasant-page.ts';

const inspect = `axe.run(document).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`;

let cp: TestControlPlane;
const browser = await openBrowser();
before(async () => {
  cp = await startTestControlPlane();
});
after(async () => {
  await cp[Symbol.asyncDispose]();
});

test('every operation is there to be read, accessible in light and in dark, wide and narrow', async () => {
  const { paths } = (await (await fetch(`${cp.url}/openapi.json`)).json()) as {
    paths: Record<string, object>;
  };
  const operations = Object.values(paths).flatMap((item) => Object.keys(item)).length;
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [360, 'dark'],
  ] as const) {
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    const trouble: string[] = [];
    page.on('pageerror', (error) => trouble.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') trouble.push(message.text());
    });
    await page.goto(`${cp.url}/docs#createURLMonitor`);
    await page.getByText(`${operations} operations`).waitFor();
    await page.getByRole('heading', { name: 'Try it' }).waitFor();
    await page
      .getByText(/^Fields of /)
      .first()
      .click();
    await loadAxe(page);
    assert.deepEqual(await page.evaluate(inspect), [], colorScheme);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
    // Whatever is opened can be drawn.
    await page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))");
    await page.waitForFunction(`document.querySelectorAll('.operation').length === ${operations}`);
    assert.deepEqual(trouble, []);
    await page.close();
  }
});

test('an operation is found and tried with a key that the page forgets', async () => {
  const page = await browser.newPage();
  await page.goto(`${cp.url}/docs`);
  await page.getByLabel('Find an operation').fill('interruptions');
  await page.getByText('1 operation', { exact: true }).waitFor();
  await page.getByText('/v1/interruptions').click();
  await page.getByRole('button', { name: 'Send GET' }).click();
  await page.getByText(/^401 Unauthorized in/).waitFor();
  await page.getByLabel('API key, to try').fill(cp.apiKey);
  await page.getByRole('button', { name: 'Send GET' }).click();
  await page.getByText(/^200 OK in \d+ ms/).waitFor();
  assert.match(await page.locator('form pre').innerText(), /"clockProblem": null/);
  assert.equal(await page.evaluate('localStorage.length + sessionStorage.length'), 0);
  await page.close();
});

test('all of it together is less than 200 KB', async () => {
  let bytes = 0;
  for (const path of ['/docs', '/docs/page.js', '/docs/page.css', '/openapi.json']) {
    const answer = await fetch(cp.url + path, { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(answer.status, 200, path);
    bytes += Number(answer.headers.get('content-length'));
    await answer.arrayBuffer();
  }
  assert.ok(bytes < 200_000, String(bytes));
});
