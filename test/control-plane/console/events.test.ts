// Few share a process: it opens a browser.
/** What happened around a check, on the time axis of its charts. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { openBrowser } from '../../support/shared-browser.ts';
import { assertPleasant } from '../../support/pleasant-page.ts';
import { hour, iso, minute, now, setUp } from '../../support/results.ts';
import { TestConsole } from '../../support/test-console.ts';

let bench: Awaited<ReturnType<typeof setUp>>;
const browser = await openBrowser();
let console: TestConsole;
let incident: string;
let shop: string;
let quiet: string;
const hostile = '<img src=x onerror="window.hacked=1">';

async function send(method: string, path: string, body: unknown) {
  const answer = await bench.cp.api(method, `/v1/${path}`, body);
  assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`);
  return answer.body as { id: string };
}

before(async () => {
  bench = await setUp({ requestsPerMinute: 0 });
  console = new TestConsole(bench.cp, browser);
  const service = await send('POST', 'status-pages/services', { name: 'Shop' });
  const triggerIncident = {
    ...{ serviceId: service.id, name: 'Down', severity: 'MAJOR', description: '' },
    notifySubscribers: false,
  };
  shop = await bench.check('url', { tags: ['db'], triggerIncident });
  quiet = await bench.check('tcp');
  for (const [id, type] of [
    [shop, 'URL'],
    [quiet, 'TCP'],
  ] as const) {
    for (let ago = 60; ago > 0; ago -= 1) {
      await bench.submit(id, type, now - ago * 20 * minute, { responseTime: 100 + ago });
    }
  }
  const window = { startsAt: iso(now - 14 * hour), endsAt: iso(now - 11 * hour) };
  await send('POST', 'maintenance-windows', { name: 'Upgrade', tags: ['db'], ...window });
  const update = (status: string, ago: number) => ({
    ...{ status, description: '', publicIncidentUpdateDate: iso(now - ago) },
  });
  const { id } = await send('POST', 'status-pages/incidents', {
    ...{ name: hostile, severity: 'MAJOR', services: [{ id: service.id }] },
    incidentUpdates: [update('INVESTIGATING', 5 * hour), update('RESOLVED', 4 * hour)],
  });
  incident = id;
  for (const name of ['Shop', 'Web shop']) await send('PUT', `checks/${shop}`, { name });
});
after(async () => {
  await bench[Symbol.asyncDispose]();
});
afterEach(() => {
  console.assertNoTrouble();
});

const marksOf = (page: Page) =>
  page
    .locator('.marks')
    .first()
    .locator('a, button')
    .evaluateAll((all) => all.map((one) => one.getAttribute('aria-label') ?? ''));

test('incidents, maintenance and changes are marked on the axis, by name, and lead to their page', async () => {
  await using opened = await console.visit(`#/checks/${shop}`);
  const { page } = opened;
  await page.locator('.marks a').first().waitFor();
  const marks = await marksOf(page);
  assert.match(marks[0] ?? '', /^Maintenance: Upgrade, .* to /);
  assert.match(marks[1] ?? '', /^Incident: <img .*>, .* to /);
  // Two changes of one minute share a mark.
  assert.match(
    marks[2] ?? '',
    /^2 events:\nEdited: Shop \(name\), .*\nEdited: Web shop \(name\), /,
  );
  assert.equal(marks.length, 3);

  // What shares a mark stands below the charts.
  await page.locator('.marks').first().getByRole('button').press('Enter');
  assert.match(await page.locator(':focus').innerText(), /Edited\s+Shop\s+name/);
  assert.equal(await page.locator('.events li').count(), 4);

  await page.locator('.marks a').nth(1).press('Enter');
  await page.waitForURL(`**/#/incidents/${incident}`);
});

test('a zoomed chart has the marks of the time that it shows', async () => {
  await using opened = await console.visit(`#/checks/${shop}`);
  const { page } = opened;
  await page.locator('.marks a').first().waitFor();
  const box = await page.locator('.u-over').first().boundingBox();
  assert.ok(box !== null);
  // 60 runs of 20 minutes: the maintenance is in the first half, the incident in the second.
  await page.mouse.move(box.x + box.width * 0.5, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, box.y + 50, { steps: 3 });
  await page.mouse.up();
  await page.locator('.marks').first().locator('a').nth(1).waitFor({ state: 'detached' });
  const marks = await marksOf(page);
  assert.equal(marks.length, 1, marks.join('\n'));
  assert.match(marks[0] ?? '', /^Incident/);
});

test('a check without events has no marks and no list of them', async () => {
  await using opened = await console.visit(`#/checks/${quiet}`);
  const { page } = opened;
  await page.locator('.plot canvas').first().waitFor();
  assert.equal(await page.locator('.marks').count(), 0);
  assert.equal(await page.getByRole('heading', { name: 'Events' }).count(), 0);
});

test('the marks are accessible, on a phone and a desktop, in light and in dark', async () => {
  for (const width of [390, 1440]) {
    for (const scheme of ['light', 'dark'] as const) {
      await using opened = await console.visit(`#/checks/${shop}`, { width, scheme });
      await opened.page.locator('.marks a').first().waitFor();
      await assertPleasant(opened.page, 'Events', width, `${width} ${scheme}`);
    }
  }
});

test('the figures and charts of a period are an image to keep, in the colours of the page', async () => {
  for (const scheme of ['light', 'dark'] as const) {
    await using opened = await console.visit(`#/checks/${shop}`, { scheme, width: 900 });
    const { page } = opened;
    const cell = page.locator('.strip i.good').first();
    await cell.waitFor();
    await page.locator('.plot canvas').first().waitFor();
    await page.getByText('Share', { exact: true }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download image' }).click();
    const kept = await download;
    assert.equal(kept.suggestedFilename(), 'Web-shop-24-hours.png');
    const png = (await readFile(await kept.path())).toString('base64');
    assert.ok(
      await page.evaluate(`(async () => {
      const image = new Image();
      image.src = 'data:image/png;base64,${png}';
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height);
      const context = canvas.getContext('2d');
      const pixels = (width, height) =>
        new Uint32Array(context.getImageData(0, 0, width, height).data.buffer);
      // Of the page, of what ran, and of words.
      const wanted = [
        ['html', 'backgroundColor'], ['.strip i.good', 'backgroundColor'], ['.tile strong', 'color'],
      ].map(([place, name]) => {
        context.fillStyle = getComputedStyle(document.querySelector(place))[name];
        context.fillRect(0, 0, 1, 1);
        return pixels(1, 1)[0];
      });
      context.drawImage(image, 0, 0);
      const all = pixels(image.width, image.height);
      return wanted.every((one) => all.filter((pixel) => pixel === one).length > all.length / 1000);
    })()`),
      scheme,
    );
  }
});
