/**
 * `npm run bench -- console`: the list of checks in a real browser, with 1,000 and 10,000 checks that
 * run every minute. Bytes are those of the connections, headers included. Times are wall time of the
 * browser with the control plane beside it: compare them on a quiet machine.
 */
import { createServer, connect, type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { startTestControlPlane, type TestControlPlane } from '../../test/support/control-plane.ts';
import { FakeAgent, resultOf } from '../../test/support/fake-agent.ts';
import { launchBrowser } from '../../test/support/found-browser.ts';
import { median } from './process-cost.ts';

const location = 'eu-west-1';
const idleMs = 60_000;
const runEveryMs = 60_000;
const creatorsAtOnce = 4;

/** Counts what the browser receives and sends. */
class CountingProxy implements Disposable {
  readonly #server;
  received = 0;
  sent = 0;

  private constructor(port: number) {
    this.#server = createServer((browser) => {
      const server = connect(port, '127.0.0.1');
      for (const socket of [browser, server])
        socket.setNoDelay().on('error', () => socket.destroy());
      browser.on('data', (bytes) => (this.sent += bytes.length));
      server.on('data', (bytes) => (this.received += bytes.length));
      browser.pipe(server).pipe(browser);
    });
  }

  static async open(url: string): Promise<CountingProxy> {
    const proxy = new CountingProxy(Number(new URL(url).port));
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  [Symbol.dispose](): void {
    this.#server.close();
  }
}

async function createChecks(cp: TestControlPlane, amount: number): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const create = async (): Promise<void> => {
    while (next < amount) {
      const index = next;
      next += 1;
      const { body } = await cp.api('POST', '/v1/checks/url', {
        name: `Check ${index} of team ${index % 17}`,
        locations: [location],
        frequency: 1,
        tags: [`team-${index % 17}`, 'production'],
        request: { url: `https://host-${index}.example/` },
      });
      ids.push((body as { id: string }).id);
    }
  };
  await Promise.all(Array.from({ length: creatorsAtOnce }, create));
  return ids;
}

function submit(agent: FakeAgent, ids: readonly string[]): Promise<unknown> {
  const at = Date.now();
  return agent.submit(
    ...ids.map((id) =>
      resultOf(id, {
        ...{ startedAt: at - 40, stoppedAt: at, scheduledFor: at - (at % 1_000) },
        responseTime: 20 + (at % 100),
      }),
    ),
  );
}

/** Results of all checks, spread over a minute, until it is stopped. */
async function keepRunning(
  agent: FakeAgent,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const perSecond = Math.ceil((ids.length * 1_000) / runEveryMs);
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

interface Opened {
  paint: number;
  usable: number;
}

/** A browser of its own that has signed in; its cache is empty. */
async function signedIn(browser: Browser, url: string, key: string): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await context.addInitScript(observer);
  await context.request.post(`${url}/console/session`, {
    headers: { 'x-console': '1' },
    data: { key },
  });
  return context;
}

async function openList(page: Page, url: string): Promise<Opened> {
  await page.goto('about:blank');
  await page.goto(`${url}/console/#/checks`);
  await page.locator('table.checks tbody th a').first().waitFor();
  return page.evaluate<Opened>(`({
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    usable: marks.row,
  })`);
}

/** Time until the list shows what was searched, painted. */
async function filterMs(page: Page, text: string): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    const input = document.querySelector('input[type=search]');
    const table = document.querySelector('table.checks');
    const before = table?.getAttribute('aria-rowcount');
    const begun = performance.now();
    input.value = ${JSON.stringify(text)};
    input.dispatchEvent(new Event('input', { bubbles: true }));
    const look = () => {
      const now = document.querySelector('table.checks')?.getAttribute('aria-rowcount');
      if (now === before) return requestAnimationFrame(look);
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begun)));
    };
    look();
  })`);
}

/** Time until rows are painted where the page was scrolled to. */
async function scrollMs(page: Page, share: number): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    const begun = performance.now();
    scrollTo(0, document.documentElement.scrollHeight * ${share});
    const look = () => {
      const row = document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest('tr');
      if (!row?.hasAttribute('aria-rowindex')) return requestAnimationFrame(look);
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begun)));
    };
    requestAnimationFrame(look);
  })`);
}

async function timesOf(page: Page): Promise<{ filter: number[]; scroll: number[] }> {
  const times = { filter: [] as number[], scroll: [] as number[] };
  for (const text of ['9', 'team 3', '', 'team-16', 'nine', '12', '']) {
    times.filter.push(await filterMs(page, text));
  }
  for (const share of [0.5, 0.1, 0.9, 0.3, 0.7, 0]) times.scroll.push(await scrollMs(page, share));
  return times;
}

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
  using proxy = await CountingProxy.open(cp.url);
  const openings: Opened[] = [];
  const bytes = { whole: [] as number[], again: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    await using context = await signedIn(browser, proxy.url, cp.apiKey);
    const page = await context.newPage();
    const before = proxy.received;
    openings.push(await openList(page, proxy.url));
    await pause(2_000);
    const opened = proxy.received;
    bytes.whole.push(opened - before);
    // The files of the console are kept by the browser.
    await openList(page, proxy.url);
    await pause(2_000);
    bytes.again.push(proxy.received - opened);
  }
  await using context = await signedIn(browser, proxy.url, cp.apiKey);
  const page = await context.newPage();
  await openList(page, proxy.url);
  const { filter, scroll } = await timesOf(page);
  const seen = [];
  for (let round = 0; round < rounds; round += 1) seen.push(await seenMs(cp, page, ids[0] ?? ''));
  const stop = new AbortController();
  const running = keepRunning(agent, ids, stop.signal);
  await openList(page, proxy.url);
  await pause(5_000);
  const before = { received: proxy.received, sent: proxy.sent };
  await pause(idleMs);
  const idle = { received: proxy.received - before.received, sent: proxy.sent - before.sent };
  stop.abort();
  await running;
  const kb = (count: number): string => `${(count / 1_000).toFixed(1)} KB`;
  const ms = (times: readonly number[]): string =>
    `${median(times).toFixed(0)} ms (at most ${Math.max(...times).toFixed(0)})`;
  console.log(`console, ${amount} checks that run every minute`);
  console.log(`  first paint          ${ms(openings.map(({ paint }) => paint))}`);
  console.log(`  usable               ${ms(openings.map(({ usable }) => usable))}`);
  const again = median(bytes.again);
  console.log(`  received for files   ${kb(median(bytes.whole) - again)}, for data ${kb(again)}`);
  console.log(`  an idle minute       ${kb(idle.received)} received, ${kb(idle.sent)} sent`);
  console.log(`  filter, painted      ${ms(filter)}`);
  console.log(`  scroll, painted      ${ms(scroll)}`);
  console.log(`  a colleague's change ${ms(seen)} until it is seen`);
}

export async function benchConsole({ rounds }: { rounds: number }): Promise<void> {
  const amounts = (process.env['CONSOLE_CHECKS'] ?? '1000,10000').split(',').map(Number);
  const browser = await launchBrowser();
  try {
    for (const amount of amounts) await benchList(browser, amount, rounds);
  } finally {
    await browser.close();
  }
}
