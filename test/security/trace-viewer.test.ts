// Own process: it starts browsers.
/** C1: what a hostile trace, a hostile link and a hostile window can do with the trace viewer. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { linkValidMs } from '../../control-plane/results/artifacts/links.ts';
import { declaration, openArtifactApi, type ArtifactApi } from '../support/artifact-api.ts';
import { launchBrowser } from '../support/found-browser.ts';
import { httpServer } from '../support/servers.ts';
import { temporaryFolder } from '../support/system.ts';

const evil = `<!doctype html><title>evil</title><script>
  document.title = 'script ran';
  (window.opener ?? window.parent).postMessage('script ran', '*');
</script>`;

let api: ArtifactApi;
let browser: Browser;
let viewerOrigin: string;

/** A trace of a page that loads a hostile document, so that the archive holds it as text/html. */
async function hostileTrace(): Promise<Buffer<ArrayBuffer>> {
  using folder = temporaryFolder();
  await using target = await httpServer((asked, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(
      asked.url === '/evil.html'
        ? evil
        : `<title>Shop</title>
           <meta http-equiv="refresh" content="3600;url=javascript:parent.hacked=1">
           <a id="link" target="_self" href="javascript:parent.hacked=1">Link</a>
           <button onclick="parent.hacked=1">Buy</button>
           <script>fetch('/evil.html')</script>`,
    );
  });
  const context = await browser.newContext();
  await context.tracing.start({ screenshots: true, snapshots: true });
  const page = await context.newPage();
  const loaded = page.waitForResponse(/evil\.html/);
  await page.goto(target.url);
  await (await loaded).finished();
  await page.getByRole('button', { name: 'Buy' }).hover();
  const file = join(folder.path, 'trace.zip');
  await context.tracing.stop({ path: file });
  await context.close();
  return readFileSync(file);
}

before(async () => {
  browser = await launchBrowser();
  api = await openArtifactApi();
  viewerOrigin = api.url.replace('127.0.0.1', 'traces.localhost');
  const trace = await hostileTrace();
  await api.announce(
    declaration('trace.zip', trace.length, { type: 'trace', contentType: 'application/zip' }),
  );
  assert.equal((await api.upload('trace.zip', trace)).status, 204);
});
after(async () => {
  await api[Symbol.asyncDispose]();
  await browser.close();
});

function ask(path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    const { host } = new URL(viewerOrigin);
    request(api.url, { path, headers: { host, ...headers } }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
    })
      .once('error', reject)
      .end();
  });
}

async function openTrace(page: Page): Promise<void> {
  await page.goto(String((await api.asset('trace.zip'))['viewerUrl']));
  await page.getByText('Hover', { exact: false }).first().waitFor({ timeout: 60_000 });
}

/** The address of the hostile document, as the viewer itself finds it in the archive. */
async function evilFile(page: Page): Promise<string> {
  const found = await page.evaluate(
    "fetch('contexts' + location.search).then((answer) => answer.text())",
  );
  const entries = JSON.stringify(JSON.parse(String(found)));
  const file = /evil\.html".*?"_file":"([^"]+)"/.exec(entries)?.[1];
  assert.ok(file !== undefined, 'the archive holds the hostile document');
  return `${viewerOrigin}/file/${file}${new URL(page.url()).search}`;
}

test('only signed links of this installation open: no data, blob, other origin, altered or old link', async () => {
  const { links, clock } = api.services;
  const good = links.to(api.resultId, 'trace.zip', clock.now());
  const refused: [string, number][] = [
    ['data:application/zip;base64,UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==', 400],
    [`blob:${viewerOrigin}/0f0f0f0f-0000-4000-8000-000000000000`, 400],
    ['https://attacker.example/trace.zip', 400],
    [good.replace('127.0.0.1', '127.0.0.1@attacker.example'), 400],
    [`${good}#x`, 400],
    [good.replace('trace.zip', 'other.zip'), 403],
    [links.to(api.resultId, 'trace.zip', clock.now() - linkValidMs - 1_000), 403],
  ];
  for (const page of ['/', '/index.html', '/snapshot.html']) {
    for (const [link, status] of refused) {
      const answer = await ask(`${page}?trace=${encodeURIComponent(link)}`);
      assert.equal(answer.status, status, link);
      assert.doesNotMatch(answer.body, /<script/);
    }
    const trace = encodeURIComponent(good);
    assert.equal((await ask(`${page}?trace=${trace}&trace=data:,`)).status, 400);
    assert.equal((await ask(`${page}?trace=${trace}&isServer`)).status, 400);
    assert.equal((await ask(`${page}?trace=${trace}`)).status, 200);
  }
});

test('the host of the viewer has neither API nor console, whatever key is sent', async () => {
  for (const path of ['/v1/users/me', '/v1/checks', '/console/', '/docs', '/health']) {
    const { status } = await ask(path, { authorization: `Bearer ${api.bench.cp.apiKey}` });
    assert.equal(status, 404, path);
  }
});

test('at the origin of the console there is no viewer, and the previous worker removes itself', async () => {
  assert.equal((await fetch(`${api.url}/trace-viewer/?trace=data:,`)).status, 404);
  const worker = await (await fetch(`${api.url}/trace-viewer/sw.bundle.js`)).text();
  assert.match(worker, /registration\.unregister\(\)/);
  assert.doesNotMatch(worker, /fetch/);
});

test('a page within the viewer cannot make its worker load another archive', async () => {
  const page = await browser.newPage();
  await openTrace(page);
  for (const trace of ['data:application/zip;base64,UEsFBg==', 'https://attacker.example/a.zip']) {
    const answer = await page.evaluate(
      `fetch('contexts?trace=' + encodeURIComponent(${JSON.stringify(trace)})).then((a) => a.status)`,
    );
    assert.equal(answer, 500, trace);
  }
  const isBlobLoaded = `fetch('contexts?trace=' + encodeURIComponent(
    URL.createObjectURL(new Blob(['PK'])))).then((answer) => answer.status)`;
  assert.equal(await page.evaluate(isBlobLoaded), 500);
  await page.close();
});

test('a message, a paste and a drop load nothing', async () => {
  const page = await browser.newPage();
  await openTrace(page);
  const before = page.url();
  await page.evaluate(`{
    const transfer = new DataTransfer();
    transfer.items.add(new File(['PK'], 'trace.zip', { type: 'application/zip' }));
    const target = document.querySelector('.workbench-loader');
    window.postMessage({ method: 'load', params: { trace: new Blob(['PK']) } }, '*');
    target.dispatchEvent(new ClipboardEvent('paste', { clipboardData: transfer, bubbles: true }));
    target.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true }));
  }`);
  // Whatever was sent before has been heard when this is answered.
  await page.evaluate(`new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = resolve;
    channel.port2.postMessage('');
    setTimeout(resolve, 0);
  })`);
  assert.equal(page.url(), before);
  await page.close();
});

test('a file of the archive never becomes a page: not in a frame, not in a window', async () => {
  const page = await browser.newPage();
  await openTrace(page);
  const address = await evilFile(page);
  // The worker has the document: this is no attack on something that is not there.
  assert.match(
    String(await page.evaluate(`fetch(${JSON.stringify(address)}).then((a) => a.text())`)),
    /script ran/,
  );
  const framed = await page.evaluate(`new Promise((resolve) => {
    const frame = document.createElement('iframe');
    addEventListener('message', ({ data }) => resolve(data), true);
    frame.onload = () => resolve(frame.contentDocument?.title ?? 'out of reach');
    frame.src = ${JSON.stringify(address)};
    document.body.append(frame);
  })`);
  assert.notEqual(framed, 'script ran');
  assert.notEqual(framed, 'evil');

  const saved = page.waitForEvent('download');
  await page.evaluate(`location.assign(${JSON.stringify(address)})`);
  await saved;
  assert.notEqual(await page.title(), 'script ran');
  await page.close();
});

test('of a recorded page nothing runs, and a click leads nowhere', async () => {
  const page = await browser.newPage();
  await openTrace(page);
  const address = await evilFile(page);
  await page.getByText('Hover', { exact: false }).first().click();
  const snapshot = page.frameLocator('iframe.snapshot-visible');
  const link = snapshot.locator('#link');
  await link.waitFor({ timeout: 60_000 });
  await link.click();
  await snapshot.getByRole('button', { name: 'Buy' }).dispatchEvent('click');
  // As a smuggled refresh would: to a file of the archive, at the origin of the viewer.
  const moved = page.waitForEvent('framenavigated');
  await link.evaluate((element, href) => {
    element.ownerDocument.location.assign(href);
  }, address);
  const frame = await moved;
  assert.doesNotMatch(await frame.content().catch(() => 'out of reach'), /evil/);
  assert.equal(await page.evaluate('window.hacked'), undefined);
  await page.close();
});
