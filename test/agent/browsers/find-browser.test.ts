// Few share a process: it opens a browser.
import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { chromium } from 'playwright-core';
import { findBrowser } from '../../../agent/browsers/find-browser.ts';
import { AgentError } from '../../../agent/errors.ts';

const rootFolder = join(import.meta.dirname, '..', '..', '..');

test('a browser is found on this machine, with what it takes to start it quietly', async () => {
  const found = await findBrowser({ packagesFolder: rootFolder });
  assert.match(found.version, /^\d+\./);
  assert.ok(found.args.includes('--disable-background-networking'));
  if (process.getuid?.() === 0) assert.ok(found.args.includes('--no-sandbox'));
});

test('a chosen browser is taken as it is, and nothing else is tried', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'fb-'));
  t.after(() => rm(folder, { recursive: true }));
  const chosenPath = join(folder, 'browser');
  await writeFile(chosenPath, '#!/bin/sh\necho Chromium 123.4.5.6\n');
  await chmod(chosenPath, 0o755);
  const found = await findBrowser({ packagesFolder: rootFolder, chosenPath });
  assert.equal(found.executablePath, chosenPath);
  assert.equal(found.version, '123.4.5.6');
});

test('a missing browser is an error that lists what was tried', async () => {
  await assert.rejects(
    findBrowser({ packagesFolder: rootFolder, chosenPath: '/nowhere/chromium' }),
    (error) =>
      error instanceof AgentError &&
      error.code === 'BROWSER_MISSING' &&
      /AGENT_CHROMIUM_PATH: \/nowhere\/chromium is not there/.test(error.message),
  );
});

test('the browser that npm brings shows a form, on a machine without fonts as well', async () => {
  const found = await findBrowser({ packagesFolder: rootFolder, searchPath: '' });
  const browser = await chromium.launch({
    executablePath: found.executablePath,
    args: [...found.args],
    env: { ...found.environment },
  });
  const page = await browser.newPage();
  await page.setContent('<input value="a"><textarea>b</textarea><pre>c</pre>');
  assert.ok((await page.screenshot()).length > 500);
  await browser.close();
});
