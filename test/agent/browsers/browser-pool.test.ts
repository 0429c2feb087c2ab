// Own process: it starts browsers.
import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { chromium } from 'playwright-core';
import { builtinRuntime, scriptWorld } from '../../support/script-context.ts';
import { temporaryFolder } from '../../support/system.ts';

test('a browser serves runs one after another, and is replaced when it has served enough', async (t) => {
  const world = await scriptWorld(t, { maxRuns: 2 });
  const { browsers } = world.scripting;
  assert.ok(browsers);
  const endpoints: string[] = [];
  for (let run = 0; run < 3; run += 1) {
    const lease = await browsers.lease(builtinRuntime);
    const browser = await chromium.connect(lease.endpoint);
    await browser.newPage();
    await browser.close();
    endpoints.push(lease.endpoint);
    lease.release(true);
  }
  const [first, second, third] = endpoints.map((endpoint) => new URL(endpoint));
  assert.equal(first?.host, second?.host);
  assert.notEqual(first?.pathname, second?.pathname);
  assert.notEqual(second?.host, third?.host);
  assert.deepEqual(world.retired, ['it has served 2 runs']);
});

test('two runs at once never share a browser, and one that ended badly is thrown away', async (t) => {
  const world = await scriptWorld(t);
  const { browsers } = world.scripting;
  assert.ok(browsers);
  const [one, other] = await Promise.all([
    browsers.lease(builtinRuntime),
    browsers.lease(builtinRuntime),
  ]);
  assert.notEqual(one.endpoint, other.endpoint);
  one.release(false);
  other.release(true);
  const next = await browsers.lease(builtinRuntime);
  assert.notEqual(next.endpoint, one.endpoint);
  next.release(true);
});

test('a run can neither come back to the browser it had, nor leave a page in it', async (t) => {
  const world = await scriptWorld(t);
  const { browsers } = world.scripting;
  assert.ok(browsers);
  const one = await browsers.lease(builtinRuntime);
  const connected = await chromium.connect(one.endpoint);
  const cut = new Promise((resolve) => connected.once('disconnected', resolve));
  one.release(true);
  const two = await browsers.lease(builtinRuntime);
  assert.equal(new URL(two.endpoint).host, new URL(one.endpoint).host);
  await cut;
  await assert.rejects(chromium.connect(one.endpoint, { timeout: 5_000 }));

  const hostile = await chromium.connect(two.endpoint);
  const session = await hostile.newBrowserCDPSession();
  await session.send('Target.createTarget', { url: 'data:text/html,still here' });
  await hostile.close();
  two.release(true);
  const three = await browsers.lease(builtinRuntime);
  assert.notEqual(new URL(three.endpoint).host, new URL(two.endpoint).host);
  assert.match(world.retired.join(), /has left pages open/);
  three.release(true);
});

test('what a run recorded is gone from the browser before the next one gets it', async (t) => {
  const world = await scriptWorld(t);
  const { browsers } = world.scripting;
  assert.ok(browsers);
  const filesWith = (text: string): string[] =>
    readdirSync(world.workFolder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.trace'))
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => readFileSync(file, 'utf8').includes(text));
  const record = async (text: string): Promise<() => void> => {
    const lease = await browsers.lease(builtinRuntime);
    const connected = await chromium.connect(lease.endpoint);
    const context = await connected.newContext();
    await context.tracing.start({ snapshots: true });
    const page = await context.newPage();
    await page.goto(`data:text/html,<title>${text}</title>`);
    await context.tracing.stop();
    await connected.close();
    return () => {
      lease.release(true);
    };
  };
  const release = await record('first-secret');
  assert.notDeepEqual(filesWith('first-secret'), []);
  release();
  const releaseSecond = await record('second-secret');
  assert.deepEqual(filesWith('first-secret'), []);
  assert.deepEqual(world.retired, []);
  releaseSecond();
});

test('a host that is killed is named with the signal, and a browser that only ends is not', async (t) => {
  using folder = temporaryFolder();
  chmodSync(folder.path, 0o755);
  const killer = join(folder.path, 'browser');
  writeFileSync(killer, '#!/bin/sh\nkill -9 $PPID\n', { mode: 0o755 });
  const rows = [
    [killer, /its host ended with SIGKILL, mostly for want of memory\. It is started again/],
    ['/bin/false', /^(?!.*SIGKILL).*cannot be used: /s],
  ] as const;
  for (const [executablePath, message] of rows) {
    const found = { executablePath, args: [], environment: {}, version: '0' };
    const world = await scriptWorld(t, { browser: () => Promise.resolve(found) });
    const { browsers } = world.scripting;
    assert.ok(browsers);
    await assert.rejects(browsers.lease(builtinRuntime), { code: 'BROWSER_BROKEN', message });
  }
});

test('a runtime whose packages brought another core of Playwright gets browsers by its own', async (t) => {
  const world = await scriptWorld(t);
  using folder = temporaryFolder();
  // Runs have a user of their own.
  chmodSync(folder.path, 0o755);
  const modules = join(folder.path, 'node_modules');
  mkdirSync(join(modules, 'playwright-core'), { recursive: true });
  writeFileSync(join(folder.path, 'package.json'), '{}');
  writeFileSync(join(modules, 'playwright-core', 'index.js'), 'throw new Error("the other core");');
  symlinkSync(
    join(builtinRuntime.folder, 'node_modules', 'playwright'),
    join(modules, 'playwright'),
  );
  const { browsers } = world.scripting;
  assert.ok(browsers);
  const lease = await browsers.lease({ ...builtinRuntime, folder: folder.path });
  const browser = await chromium.connect(lease.endpoint);
  await browser.newPage();
  await browser.close();
  lease.release(true);
});
