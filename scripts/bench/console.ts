/**
 * `npm run bench -- console`: the list of checks in a real browser, with 1,000 and 10,000 checks (or CONSOLE_CHECKS)
 * that run every minute. Bytes are those of the connections, headers included. Times are wall time of the browser
 * with the control plane beside it: compare them on a quiet machine.
 */
import { createServer, connect, type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { startTestControlPlane, type TestControlPlane } from '../../test/support/control-plane.ts';
import { FakeAgent, resultOf } from '../../test/support/fake-agent.ts';
import { launchBrowser } from '../../test/support/found-browser.ts';
import { repeat, type Bench } from './load.ts';
import { median, ms, show } from './measure.ts';

const location = 'eu-west-1';
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

async function createChecks(cp: TestControlPlane, amount: number): Promise<string[]> {
  const ids: string[] = [];
  await repeat(amount, async (index) => {
    const { body } = await cp.api('POST', '/v1/checks/url', {
      ...{ name: `Check ${index} of team ${index % 17}`, locations: [location], frequency: 1 },
      tags: [`team-${index % 17}`, 'production'],
      request: { url: `https://host-${index}.example/` },
    });
    ids.push((body as { id: string }).id);
  });
  return ids;
}

function submit(agent: FakeAgent, ids: readonly string[]): Promise<unknown> {
  const at = Date.now();
  const times = { startedAt: at - 40, stoppedAt: at, scheduledFor: at - (at % 1_000) };
  const responseTime = 20 + (at % 100);
  return agent.submit(...ids.map((id) => resultOf(id, { ...times, responseTime })));
}

/** Results of all checks, spread over a minute, until it is stopped. */
async function keepRunning(agent: FakeAgent, ids: readonly string[], signal: AbortSignal) {
  const perSecond = Math.ceil(ids.length / 60);
  for (let from = 0; !signal.aborted; from = (from + perSecond) % ids.length) {
    const at = Date.now();
    await submit(agent, ids.slice(from, from + perSecond));
    await pause(Math.max(0, at + 1_000 - Date.now()));
  }
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
    `document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest('tr')?.hasAttribute('aria-rowindex')`,
  );

/** What a colleague's change takes until it is seen. */
async function seenMs(cp: TestControlPlane, page: Page, id: string): Promise<number> {
  const name = `0 changed ${Date.now()}`;
  await page.evaluate(`marks.seen = 0; window.awaited = ${JSON.stringify(name)};
    location.hash = '#/checks?sort=name'`);
  await pause(1_500);
  const begun = Date.now();
  await cp.api('PUT', `/v1/checks/${id}`, { name });
  await page.getByText(name).waitFor();
  return (await page.evaluate<number>('marks.seen')) - begun;
}

async function benchList(browser: Browser, amount: number, rounds: number): Promise<void> {
  await using cp = await startTestControlPlane({
    requestsPerMinute: 0,
    settings: { CHECK_RESPONSES: 'false' },
  });
  const agent = new FakeAgent(cp, await cp.locationKey(location));
  await agent.checkIn();
  const ids = await createChecks(cp, amount);
  for (let from = 0; from < amount; from += 100) await submit(agent, ids.slice(from, from + 100));
  using proxy = await openCountingProxy(cp.url);
  const { bytes, url } = proxy;
  const found: Record<'paint' | 'usable' | 'whole' | 'again', number[]> = {
    ...{ paint: [], usable: [], whole: [], again: [] },
  };
  for (let round = 0; round < rounds; round += 1) {
    await using context = await signedIn(browser, url, cp.apiKey);
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
  await using context = await signedIn(browser, url, cp.apiKey);
  const page = await context.newPage();
  await openList(page, url);
  const [filter, scroll, seen]: [number[], number[], number[]] = [[], [], []];
  const texts = ['9', 'team 3', '', 'team-16', 'nine', '12', ''];
  for (const text of texts) filter.push(await filterMs(page, text));
  for (const share of [0.5, 0.1, 0.9, 0.3, 0.7, 0]) scroll.push(await scrollMs(page, share));
  for (let round = 0; round < rounds; round += 1) seen.push(await seenMs(cp, page, ids[0] ?? ''));
  const stop = new AbortController();
  const running = keepRunning(agent, ids, stop.signal);
  await openList(page, url);
  await pause(5_000);
  const before = { ...bytes };
  await pause(idleMs);
  const kb = (count: number): string => `${(count / 1_000).toFixed(1)} KB`;
  const idle = { received: bytes.received - before.received, sent: bytes.sent - before.sent };
  stop.abort();
  await running;
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

export async function benchConsole({ rounds }: Bench): Promise<void> {
  const amounts = (process.env['CONSOLE_CHECKS'] ?? '1000,10000').split(',').map(Number);
  await using browser = await launchBrowser();
  for (const amount of amounts) await benchList(browser, amount, rounds);
}
