// PostgreSQL in the long tier: it serves files; the few statements of a check-in run on both in agent-boundary.test.ts.
/** The guide at `/guide/`: public, strict, found below any path, and clear while it is not built. */
import assert from 'node:assert/strict';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import express from 'express';
import { serveGuide } from '../../../control-plane/app/guide.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { httpServer } from '../../support/servers.ts';
import { temporaryFolder } from '../../support/system.ts';

function write(folder: string, title: string): void {
  mkdirSync(join(folder, 'images'), { recursive: true });
  writeFileSync(join(folder, 'index.html'), `<h1>${title}</h1>${'text '.repeat(500)}`);
  writeFileSync(
    join(folder, '404.html'),
    '<link href="style.css"><a href="#content"></a><a href="../docs"></a><a href="https://a.example/"></a>',
  );
  writeFileSync(join(folder, 'search.json'), '{}');
  writeFileSync(join(folder, 'images', 'a.svg'), '<svg/>');
}

async function serve(folder: string): Promise<{ url: string } & AsyncDisposable> {
  const app = express().use('/below/a/path', serveGuide(folder));
  const server = await httpServer(app);
  return {
    url: `${server.url.replace(/\/$/, '')}/below/a/path`,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

test('until it is built a page says so and looks again; afterwards, and after each build, it is there', async () => {
  using folder = temporaryFolder();
  const guide = join(folder.path, 'guide');
  await using server = await serve(guide);
  const early = await fetch(`${server.url}/guide/`);
  assert.equal(early.status, 503);
  assert.equal(early.headers.get('cache-control'), 'no-store');
  assert.match(await early.text(), /not built yet.*npm run guide/s);
  assert.equal((await fetch(`${server.url}/guide/style.css`)).status, 404);
  write(guide, 'one');
  assert.match(await (await fetch(`${server.url}/guide/`)).text(), /^<h1>one/);
  write(guide, 'two');
  utimesSync(join(guide, 'index.html'), 1, 1);
  assert.match(await (await fetch(`${server.url}/guide/`)).text(), /^<h1>two/);
});

test('answers are strict, cached by their content, compressed, and stay within the folder', async () => {
  using folder = temporaryFolder();
  const guide = join(folder.path, 'guide');
  write(guide, 'one');
  writeFileSync(join(folder.path, 'secret.html'), 'secret');
  await using server = await serve(guide);
  const redirect = await fetch(`${server.url}/guide`, { redirect: 'manual' });
  assert.equal(redirect.headers.get('location'), 'guide/');
  const page = await fetch(`${server.url}/guide/index.html`);
  assert.match(
    page.headers.get('content-security-policy') ?? '',
    /default-src 'none'.*script-src 'self'/,
  );
  assert.doesNotMatch(page.headers.get('content-security-policy') ?? '', /unsafe|https?:/);
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(page.headers.get('content-encoding'), 'gzip');
  const again = await fetch(`${server.url}/guide/`, {
    headers: { 'if-none-match': page.headers.get('etag') ?? '' },
  });
  assert.equal(again.status, 304);
  const picture = await fetch(`${server.url}/guide/images/a.svg`);
  assert.equal(picture.headers.get('content-type'), 'image/svg+xml');
  for (const path of ['..%2fsecret.html', '%2e%2e/secret.html', 'images', 'none.html']) {
    assert.equal((await fetch(`${server.url}/guide/${path}`)).status, 404, path);
  }
});

test('an address that leads nowhere is answered with the page that says so, whose links lead back', async () => {
  using folder = temporaryFolder();
  const guide = join(folder.path, 'guide');
  write(guide, 'one');
  await using server = await serve(guide);
  for (const [path, up] of [
    ['none', ''],
    ['none.html', ''],
    ['404.html', ''],
    ['none/', '../'],
    ['a/b/none.html?q=1', '../../'],
    ['a%2Fb%22%3E', ''],
  ] as const) {
    const answer = await fetch(`${server.url}/guide/${path}`);
    assert.equal(answer.status, path === '404.html' ? 200 : 404, path);
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(answer.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    assert.equal(
      await answer.text(),
      `<link href="${up}style.css"><a href="#content"></a><a href="${up}../docs"></a><a href="https://a.example/"></a>`,
    );
  }
  const head = await fetch(`${server.url}/guide/none`, { method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [404, '']);
  const deep = await fetch(`${server.url}/guide/${'/'.repeat(10_000)}`);
  assert.equal(deep.status, 404);
  assert.ok((await deep.text()).length < 12_000, 'the links do not multiply a long address');
});

test('it needs no key, and a control plane serves it beside the API', async () => {
  await using cp = await startTestControlPlane();
  const { status, headers } = await fetch(`${cp.url}/guide/`);
  // 503 where nobody built it.
  assert.ok(status === 200 || status === 503, String(status));
  assert.equal(headers.get('cross-origin-resource-policy'), 'same-origin');
  assert.match(await (await fetch(`${cp.url}/docs`)).text(), /href="guide\/api\.html"/);
});
