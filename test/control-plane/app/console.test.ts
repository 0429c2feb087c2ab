// PostgreSQL in the long tier: it serves files; the few statements of a session run on both in people.test.ts.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';

let cp: TestControlPlane;
before(async () => {
  cp = await startTestControlPlane();
});
after(() => cp[Symbol.asyncDispose]());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(cp.url + path, { redirect: 'manual', headers });

async function page(): Promise<{ text: string; version: string }> {
  const text = await (await get('/console/')).text();
  return { text, version: /src="(\w+)\/main\.js"/.exec(text)?.[1] ?? '' };
}

test('a browser that opens the root is led to the console, a program is not', async () => {
  const browser = await get('/', { accept: 'text/html,application/xhtml+xml' });
  assert.equal(browser.status, 302);
  assert.equal(browser.headers.get('location'), 'console/');
  const program = await get('/', { accept: 'application/json' });
  assert.equal(program.headers.get('location'), '/docs');
  assert.equal((await get('/console')).headers.get('location'), 'console/');
});

test('an address that leads nowhere answers a browser with a page, a program with JSON', async () => {
  const browser = await get('/nowhere', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
  assert.deepEqual([browser.status, (await browser.text()).includes('/console/"')], [404, true]);
  for (const [path, accept] of [
    ['/nowhere', '*/*'],
    ['/v1/nowhere', 'text/html'],
  ] as const) {
    const answer = await get(path, { accept });
    assert.equal(((await answer.json()) as { statusCode: number }).statusCode, 404, path);
  }
});

test('the link to a test session that existing clients print leads to it in the console', async () => {
  const led = await get('/accounts/1/test-sessions/2%2F..');
  assert.equal(led.status, 302);
  assert.equal(led.headers.get('location'), `${cp.url}/console/#/test-sessions/2%2F..`);
});

test('the page allows no script but its own files, and is asked for again', async () => {
  const answer = await get('/console/');
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('cache-control'), 'no-cache');
  const policy = answer.headers.get('content-security-policy') ?? '';
  assert.match(
    policy,
    /default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'/,
  );
  assert.doesNotMatch(policy, /unsafe/);
  assert.doesNotMatch(await answer.text(), /<script(?![^>]* src=)/);
  const etag = answer.headers.get('etag') ?? '';
  // As a browser does; fetch would add that nothing may be kept.
  const status = await new Promise((resolve, reject) => {
    const headers = { 'if-none-match': etag };
    const asked = request(`${cp.url}/console/`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.once('error', reject).end();
  });
  assert.equal(status, 304);
});

test('every file the page names is there, is kept for ever and comes compressed where that saves anything', async () => {
  const { text } = await page();
  const files = [...text.matchAll(/(?:src|href)="(\w{12}\/[^"]+)"/g)].map(
    (match) => match[1] ?? '',
  );
  assert.ok(files.length >= 4, String(files.length));
  for (const file of files) {
    const answer = await get(`/console/${file}`, { 'accept-encoding': 'gzip' });
    assert.equal(answer.status, 200, file);
    assert.match(answer.headers.get('cache-control') ?? '', /immutable/);
    assert.match(answer.headers.get('content-type') ?? '', /javascript|css|svg/);
    const plain = await get(`/console/${file}`, { 'accept-encoding': 'identity' });
    assert.equal(plain.headers.get('content-encoding'), null);
    const source = await plain.text();
    assert.equal(source, await answer.text(), file);
    const isWorthPacking = Buffer.byteLength(source) >= 1_024;
    assert.equal(answer.headers.get('content-encoding'), isWorthPacking ? 'gzip' : null, file);
  }
});

test('nothing else is served: no older version, no other file, no way out of the folder', async () => {
  const { version } = await page();
  for (const path of [
    'console/000000000000/main.js',
    `console/${version}/index.html`,
    `console/${version}/missing.js`,
    `console/${version}/..%2f..%2fpackage.json`,
    `console/${version}/%2e%2e/http/console.ts`,
  ]) {
    assert.equal((await get(`/${path}`)).status, 404, path);
  }
});
