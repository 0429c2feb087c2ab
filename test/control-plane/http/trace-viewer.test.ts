import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import test from 'node:test';
import { declaration, openArtifactApi } from '../../support/artifact-api.ts';
import { launchBrowser } from '../../support/found-browser.ts';
import { httpServer } from '../../support/servers.ts';
import { temporaryFolder } from '../../support/system.ts';

test('one click opens a real trace and shows its actions and what the page looked like', async () => {
  using folder = temporaryFolder();
  await using target = await httpServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<title>Shop</title><button onclick="this.textContent=\'Bought\'">Buy</button>');
  });
  await using api = await openArtifactApi();
  await using browser = await launchBrowser();

  const recorded = await browser.newContext();
  await recorded.tracing.start({ screenshots: true, snapshots: true, sources: false });
  const shop = await recorded.newPage();
  await shop.goto(target.url);
  await shop.getByRole('button', { name: 'Buy' }).click();
  const file = join(folder.path, 'trace.zip');
  await recorded.tracing.stop({ path: file });
  await recorded.close();
  const trace = readFileSync(file);
  await api.announce(
    declaration('trace.zip', trace.length, { type: 'trace', contentType: 'application/zip' }),
  );
  assert.equal((await api.upload('trace.zip', trace)).status, 204);

  const viewer = await browser.newPage();
  const refused: string[] = [];
  viewer.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) refused.push(message.text());
  });
  await viewer.goto(String((await api.asset('trace.zip'))['viewerUrl']));
  const click = viewer.getByText('Click', { exact: false }).first();
  await click.waitFor({ timeout: 60_000 });
  assert.match((await viewer.locator('body').textContent()) ?? '', /Navigate/i);
  await click.click();
  await viewer
    .frameLocator('iframe.snapshot-visible')
    .getByRole('button')
    .waitFor({ timeout: 60_000 });
  assert.deepEqual(refused, []);
});

test('files that never change may be kept, the page itself is asked for again', async () => {
  await using api = await openArtifactApi();
  const page = await fetch(`${api.url}/trace-viewer/`);
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
  assert.equal(page.headers.get('cache-control'), 'no-cache');
  const script = /src="\.\/(index\.[\w-]+\.js)"/.exec(await page.text())?.[1] ?? '';
  const asset = await fetch(`${api.url}/trace-viewer/${script}`);
  assert.match(asset.headers.get('content-type') ?? '', /^text\/javascript/);
  assert.match(asset.headers.get('cache-control') ?? '', /immutable/);
  const worker = await fetch(`${api.url}/trace-viewer/sw.bundle.js`);
  assert.equal(worker.headers.get('cache-control'), 'no-cache');
  assert.match(worker.headers.get('content-security-policy') ?? '', /connect-src 'self'/);
});

test('without its last slash the page leads there, whatever stands before the path', async () => {
  await using api = await openArtifactApi();
  const answer = await fetch(`${api.url}/trace-viewer?trace=x`, { redirect: 'manual' });
  assert.equal(answer.headers.get('location'), 'trace-viewer/?trace=x');
});

test('nothing outside of the viewer is served', async () => {
  await using api = await openArtifactApi();
  for (const path of [
    '/trace-viewer/../../../package.json',
    '/trace-viewer/%2e%2e/%2e%2e/%2e%2e/package.json',
    '/trace-viewer/..%2f..%2f..%2fpackage.json',
    '/trace-viewer/assets/',
  ]) {
    const status = await new Promise((resolve, reject) => {
      // As it stands: fetch would resolve the dots itself.
      const asked = request(api.url, { path }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.once('error', reject).end();
    });
    assert.ok(status === 404 || status === 403, `${path}: ${String(status)}`);
  }
});
