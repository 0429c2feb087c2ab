// Own process: it starts browsers.
/** The guide in a browser: readable, accessible, searched, without a word from its policy. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import express from 'express';
import type { Browser, Page } from 'playwright-core';
import { serveGuide } from '../../../control-plane/app/guide.ts';
import { buildGuide } from '../../../scripts/guide/build.ts';
import { launchBrowser } from '../../support/found-browser.ts';
import { assertPleasant } from '../../support/pleasant-page.ts';
import { httpServer, type TestServer } from '../../support/servers.ts';
import { temporaryFolder } from '../../support/system.ts';

const folder = temporaryFolder();
let browser: Browser;
let server: TestServer;
let address = '';
before(async () => {
  const site = join(folder.path, 'guide');
  await buildGuide(site);
  // As behind a proxy that gives the installation a path of its own.
  server = await httpServer(express().use('/monitoring', serveGuide(site)));
  address = `${server.url.replace(/\/$/, '')}/monitoring/guide/`;
  browser = await launchBrowser();
});
after(async () => {
  await browser.close();
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** Collects what the browser complains about, such as what a policy refused. */
function complaintsOf(page: Page): string[] {
  const found: string[] = [];
  page.on('pageerror', (error) => found.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') found.push(message.text());
  });
  page.on('response', (response) => {
    if (response.status() >= 400) found.push(`${response.status()} ${response.url()}`);
  });
  return found;
}

test('pages are accessible in light and in dark, and as wide as the window', async () => {
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [360, 'dark'],
  ] as const) {
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    const complaints = complaintsOf(page);
    for (const path of ['', 'first-monitor.html', 'troubleshooting.html', 'agent-docker.html']) {
      await page.goto(address + path);
      await assertPleasant(page, 'Monitor', width, `${path}, ${colorScheme}`);
    }
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test('the search opens with a key, finds a section, and leads there', async () => {
  const page = await browser.newPage();
  const complaints = complaintsOf(page);
  await page.goto(address);
  await page.keyboard.press('/');
  await page.getByRole('searchbox').fill('caddy');
  await page
    .getByRole('link', { name: /› Caddy/ })
    .first()
    .click();
  await page.waitForURL(/status-page-domain\.html#caddy$/);
  await page.getByRole('heading', { level: 3, name: 'Caddy' }).waitFor();
  await page.getByRole('button', { name: /^Search/ }).click();
  await page.getByRole('searchbox').fill('zzzzqqqq');
  await page.getByText('Nothing about “zzzzqqqq”.').waitFor();
  assert.deepEqual(complaints, []);
  await page.close();
});

test('from an address that leads nowhere, however deep, the search and the links lead back', async () => {
  const page = await browser.newPage();
  const complaints = complaintsOf(page);
  const nowhere = `${address}an/old/page.html`;
  await page.goto(nowhere);
  await assertPleasant(page, 'Monitor', 1280, 'no such page');
  await page.getByRole('button', { name: /^Search/ }).click();
  await page.getByRole('searchbox').fill('caddy');
  await page
    .getByRole('link', { name: /› Caddy/ })
    .first()
    .click();
  await page.waitForURL(`${address}status-page-domain.html#caddy`);
  await page.goBack();
  await page.getByRole('link', { name: 'the first page of the guide' }).click();
  await page.waitForURL(`${address}index.html`);
  assert.deepEqual(
    complaints.filter((each) => !/404/.test(each)),
    [],
  );
  assert.ok(complaints.some((each) => each === `404 ${nowhere}`));
  await page.close();
});

test('on a phone the list of pages is folded, and leads on', async () => {
  const page = await browser.newPage({ viewport: { width: 360, height: 700 } });
  await page.goto(`${address}tour.html`);
  const entry = page
    .getByRole('navigation', { name: 'Pages' })
    .getByRole('link', { name: 'In Docker' });
  assert.equal(await entry.isVisible(), false);
  await page.getByText('All pages').click();
  await entry.click();
  await page.getByRole('heading', { level: 1, name: 'An agent in Docker' }).waitFor();
  await page.close();
});
