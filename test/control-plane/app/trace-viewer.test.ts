// Few share a process: it opens a browser.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { traceViewerUrl } from '../../../control-plane/app/trace-viewer.ts';
import { declaration, openArtifactApi } from '../../support/artifact-api.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { httpServer } from '../../support/servers.ts';
import { temporaryFolder } from '../../support/system.ts';

test('one click opens a real trace and shows its actions and what the page looked like', async () => {
  using folder = temporaryFolder();
  await using target = await httpServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<title>Shop</title><button onclick="this.textContent=\'Bought\'">Buy</button>');
  });
  await using api = await openArtifactApi();
  const browser = await openBrowser();

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

/** Asks the host of the viewer for a path as it stands; fetch would resolve dots itself. */
function ask(viewer: string, path: string, url: string) {
  return new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>(
    (resolve, reject) => {
      const asked = request(url, { path, headers: { host: new URL(viewer).host } }, (response) => {
        text(response).then(
          (body) =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text: body }),
          reject,
        );
      });
      asked.once('error', reject).end();
    },
  );
}

const viewerOf = (url: string): string => url.replace('127.0.0.1', 'traces.localhost');

test('files that never change may be kept, the page itself is asked for again', async () => {
  await using api = await openArtifactApi();
  const viewer = viewerOf(api.url);
  const trace = api.services.links.to(api.resultId, 'trace.zip', api.services.clock.now());
  const page = await ask(viewer, `/?trace=${encodeURIComponent(trace)}`, api.url);
  assert.equal(page.status, 200, page.text);
  assert.match(page.headers['content-type'] ?? '', /^text\/html/);
  assert.equal(page.headers['cache-control'], 'no-cache');
  const script = /src="\.\/(index\.[\w-]+\.js)"/.exec(page.text)?.[1] ?? '';
  const asset = await ask(viewer, `/${script}`, api.url);
  assert.match(asset.headers['content-type'] ?? '', /^text\/javascript/);
  assert.match(asset.headers['cache-control'] ?? '', /immutable/);
  const worker = await ask(viewer, '/sw.bundle.js', api.url);
  assert.equal(worker.headers['cache-control'], 'no-cache');
  assert.equal(
    worker.headers['content-security-policy'],
    `default-src 'none'; connect-src 'self' ${api.url}/v1/artifacts/`,
  );
});

test('nothing outside of the viewer is served', async () => {
  await using api = await openArtifactApi();
  for (const path of [
    '/../../../package.json',
    '/%2e%2e/%2e%2e/%2e%2e/package.json',
    '/..%2f..%2f..%2fpackage.json',
    '/assets/',
    '/uiMode.html',
  ]) {
    const { status } = await ask(viewerOf(api.url), path, api.url);
    assert.equal(status, 404, path);
  }
});

test('the viewer has a host of its own on this machine, and on other machines where the operator provides one', () => {
  assert.equal(traceViewerUrl(undefined, 'http://127.0.0.1:3000'), 'http://traces.localhost:3000');
  assert.equal(traceViewerUrl(undefined, 'http://localhost'), 'http://traces.localhost');
  assert.equal(traceViewerUrl(undefined, 'https://monitor.example.com'), null);
  assert.equal(
    traceViewerUrl('https://traces.example.com/', 'https://monitor.example.com'),
    'https://traces.example.com',
  );
});
