/**
 * `npm run bench -- console`: the list of checks in a real browser, with 1,000 and 10,000 checks (or CONSOLE_CHECKS)
 * that an agent runs every minute. Bytes are those of the connections, headers included. Times are wall time of the browser
 * with the programs beside it: compare them on a quiet machine.
 */
import { createServer, connect, type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchBrowser } from '../../test/support/found-browser.ts';
import { System, temporaryFolder } from '../../test/support/system.ts';
import { openLoad, type Bench } from './load.ts';
import { median, ms, show } from './measure.ts';

const idleMs = 60_000;

/** Counts what the browser receives and sends. */
async function openCountingProxy(url: string) {
  const bytes = { received: 0, sent: 0 };
  const server = createServer((browser) => {
    const upstream = connect(Number(new URL(url).port), '127.0.0.1');
    for (const socket of [browser, upstream])
      socket.setNoDelay().on('error', () => socket.destroy());
    browser.on('data', (chunk) => (bytes.sent += chunk.length));
    upstream.on('data', (chunk) => (bytes.received += chunk.length));
    browser.pipe(upstream).pipe(browser);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ bytes, url: `http://127.0.0.1:${port}` },
    [Symbol.dispose]: () => void server.close(),
  };
}

/** Instants of the first row, and of a text, for the page to take as they come. */
const observer = `
  window.marks = {};
  new MutationObserver(() => {
    if (!marks.row && document.querySelector('table.checks tbody th a')) marks.row = performance.now();
    if (window.awaited && !marks.seen && document.body.innerText.includes(awaited)) marks.seen = Date.now();
  }).observe(document, { childList: true, subtree: true, characterData: true });`;

/** A browser of its own that has signed in; its cache is empty. */
async function signedIn(browser: Browser, url: string, key: string): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await context.addInitScript(observer);
  const headers = { 'x-console': '1' };
  await context.request.post(`${url}/console/session`, { headers, data: { key } });
  return context;
}

async function openList(page: Page, url: string) {
  await page.goto('about:blank');
  await page.goto(`${url}/console/#/checks`);
  await page.locator('table.checks tbody th a').first().waitFor();
  return page.evaluate<{ paint: number; usable: number }>(`({
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    usable: marks.row,
  })`);
}

/** Time from what a script does until another one is true and painted. */
const paintedMs = (page: Page, does: string, isSo: string): Promise<number> =>
  page.evaluate<number>(`new Promise((resolve) => {
    const rows = () => document.querySelector('table.checks')?.getAttribute('aria-rowcount');
    const before = rows();
    const begun = performance.now();
    ${does};
    const look = () => {
      if (!(${isSo})) return requestAnimationFrame(look);
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begun)));
    };
    requestAnimationFrame(look);
  })`);

const filterMs = (page: Page, text: string): Promise<number> =>
  paintedMs(
    page,
    `const input = document.querySelector('input[type=search]');
     input.value = ${JSON.stringify(text)};
     input.dispatchEvent(new Event('input', { bubbles: true }))`,
    'rows() !== before',
  );

const scrollMs = (page: Page, share: number): Promise<number> =>
  paintedMs(
    page,
    `scrollTo(0, document.documentElement.scrollHeight * ${share})`,
    `document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest('tr')?.querySelector('th a') != null`,
  );

/** What a colleague's change takes until it is seen. */
async function seenMs(system: System, page: Page, id: string): Promise<number> {
  const name = `0 changed ${Date.now()}`;
  await page.evaluate(`marks.seen = 0; window.awaited = ${JSON.stringify(name)};
    location.hash = '#/checks?sort=name'`);
  await pause(1_500);
  const begun = Date.now();
  await system.api('PUT', `/v1/checks/${id}`, { name });
  await page.getByText(name).waitFor();
  return (await page.evaluate<number>('marks.seen')) - begun;
}

async function benchList(
  browser: Browser,
  { ports, rounds }: Bench,
  amount: number,
): Promise<void> {
  using folder = temporaryFolder();
  await using system = await System.start(folder.path, { CHECK_RESPONSES: 'false' });
  await openLoad(system, {
    ...{ name: 'bench-console', checks: amount, settleMs: 75_000 },
    fields: { request: { url: `http://127.0.0.1:${ports.http}/` } },
    fieldsOf: (index) => ({
      ...{
        name: `Check ${index} of team ${index % 17}`,
        tags: [`team-${index % 17}`, 'production'],
      },
      ...{ frequency: 1, frequencyOffset: 1 + (index % 10) },
    }),
  });
  const { apiKey } = system;
  const [first] = await system.api<{ id: string }[]>('GET', '/v1/checks?limit=1');
  using proxy = await openCountingProxy(system.baseUrl);
  const { bytes, url } = proxy;
  const found: Record<'paint' | 'usable' | 'whole' | 'again', number[]> = {
    ...{ paint: [], usable: [], whole: [], again: [] },
  };
  for (let round = 0; round < rounds; round += 1) {
    await using context = await signedIn(browser, url, apiKey);
    const page = await context.newPage();
    // The second time the files of the console are kept by the browser.
    for (const way of ['whole', 'again'] as const) {
      const before = bytes.received;
      const { paint, usable } = await openList(page, url);
      await pause(2_000);
      found[way].push(bytes.received - before);
      if (way === 'again') continue;
      found.paint.push(paint);
      found.usable.push(usable);
    }
  }
  await using context = await signedIn(browser, url, apiKey);
  const page = await context.newPage();
  await openList(page, url);
  const [filter, scroll, seen]: [number[], number[], number[]] = [[], [], []];
  const texts = ['9', 'team 3', '', 'team-16', 'nine', '12', ''];
  for (const text of texts) filter.push(await filterMs(page, text));
  for (const share of [0.5, 0.1, 0.9, 0.3, 0.7, 0]) scroll.push(await scrollMs(page, share));
  for (let round = 0; round < rounds; round += 1)
    seen.push(await seenMs(system, page, first?.id ?? ''));
  await openList(page, url);
  await pause(5_000);
  const before = { ...bytes };
  await pause(idleMs);
  const kb = (count: number): string => `${(count / 1_000).toFixed(1)} KB`;
  const idle = { received: bytes.received - before.received, sent: bytes.sent - before.sent };
  const again = median(found.again);
  show(`console, ${amount} checks`, {
    'first paint': ms(median(found.paint), 0),
    usable: ms(median(found.usable), 0),
    files: kb(median(found.whole) - again),
    data: kb(again),
    'received in an idle minute': kb(idle.received),
    'sent in it': kb(idle.sent),
    'filter, painted': ms(median(filter), 0),
    'scroll, painted': ms(median(scroll), 0),
    "a colleague's change, seen": ms(median(seen), 0),
  });
}

export async function benchConsole(bench: Bench): Promise<void> {
  const amounts = (process.env['CONSOLE_CHECKS'] ?? '1000,10000').split(',').map(Number);
  await using browser = await launchBrowser();
  for (const amount of amounts) await benchList(browser, bench, amount);
}
