// Own process: it starts browsers, and changes how this process does.
/** What the meter of pages counts, in a real browser that this process drives. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../../support/found-browser.ts';
import { httpServer, type TestServer } from '../../support/servers.ts';
import { temporaryFolder } from '../../support/system.ts';

const require = createRequire(import.meta.url);
const inside = '../../../agent/browsers/inside';
const { measureVitals } = require(`${inside}/vitals.cjs`) as { measureVitals: () => void };
const { watchRun } = require(`${inside}/pictures/watch-browsers.cjs`) as {
  watchRun: (folder: string, meterOf: unknown) => void;
};
const { meterInto } = require('../../../agent/runners/playwright/inside/page-meter.cjs') as {
  meterInto: (file: string, measure: () => void) => unknown;
};

interface Visit {
  url: string;
  requests: number;
  bytes: number;
}

const large = 'x'.repeat(200_000);
const picture = 'data:image/gif;base64,R0lGODlhAQABAAAAACw=';
let site: TestServer;
const folder = temporaryFolder();
const file = join(folder.path, 'pages.jsonl');

const pages: Record<string, (place: string) => string> = {
  '/two': () => '<p>two</p><script>fetch("/large")</script>',
  '/pictures': () => `<p>${`<img src="${picture}">`.repeat(10)}</p>`,
  // The other name of this machine: another site, in a process of its own.
  '/frame': (place) => `<iframe src="${place.replace('127.0.0.1', 'localhost')}/large"></iframe>`,
  '/link': () => '<a href="/file">a file</a>',
};

before(async () => {
  site = await httpServer((request, response) => {
    const path = request.url ?? '';
    response.setHeader('content-type', path === '/large' ? 'text/plain' : 'text/html');
    if (path === '/silent') request.socket.destroy();
    else if (path === '/large') response.end(large);
    else if (path === '/file') {
      response.setHeader('content-disposition', 'attachment; filename=a.txt').end('a');
    } else response.end(pages[path]?.(site.url) ?? '<p>page</p>');
  });
  watchRun(folder.path, meterInto(file, measureVitals));
});
after(async () => {
  await site[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** The visits that one browser wrote. */
async function visitsOf(use: (page: Page, browser: Browser) => Promise<unknown>): Promise<Visit[]> {
  const linesOf = () => {
    try {
      return readFileSync(file, 'utf8').trim().split('\n');
    } catch {
      return [];
    }
  };
  const had = linesOf().length;
  const browser = await launchBrowser(['--site-per-process']);
  await use(await browser.newPage(), browser);
  await browser.close();
  const written = linesOf()
    .slice(had)
    .map((line) => JSON.parse(line) as Visit | { browserStartMs: number });
  return written.flatMap((one) => ('url' in one ? one : []));
}

/** Resolves when so many requests came to their end. */
function ended(page: Page, count: number): Promise<void> {
  return new Promise((resolve) => {
    let seen = 0;
    page.on('requestfinished', () => {
      seen += 1;
      if (seen === count) resolve();
    });
  });
}

const rows: [
  name: string,
  use: (page: Page) => Promise<unknown>,
  expected: [path: string, requests: number][],
  leastBytes: number,
][] = [
  [
    'a page that a test watches by the protocol is counted once',
    async (page) => {
      const session = await page.context().newCDPSession(page);
      await session.send('Network.enable');
      const all = ended(page, 2);
      await page.goto(`${site.url}/two`);
      await all;
    },
    [['/two', 2]],
    200_000,
  ],
  [
    'a picture that stands in its address is no request',
    (page) => page.goto(`${site.url}/pictures`),
    [['/pictures', 1]],
    0,
  ],
  [
    'a frame of another site counts for its page',
    async (page) => {
      const all = ended(page, 2);
      await page.goto(`${site.url}/frame`);
      await all;
    },
    [['/frame', 2]],
    200_000,
  ],
  [
    'a download is no page',
    async (page) => {
      await page.goto(`${site.url}/link`);
      const download = page.waitForEvent('download');
      await page.getByText('a file').click();
      await (await download).path();
      const all = ended(page, 1);
      await page.evaluate('fetch("/large").then((answer) => answer.text())');
      await all;
    },
    [['/link', 3]],
    200_000,
  ],
  [
    'an address that does not answer is no page',
    (page) => assert.rejects(page.goto(`${site.url}/silent`)),
    [],
    0,
  ],
];

for (const [name, use, expected, leastBytes] of rows) {
  test(name, async () => {
    const seen = await visitsOf(use);
    const found = seen.map(({ url, requests }) => [new URL(url).pathname, requests]);
    assert.deepEqual(found, expected);
    const bytes = seen.reduce((all, one) => all + one.bytes, 0);
    assert.ok(bytes >= leastBytes && bytes < leastBytes + 20_000, `${bytes} bytes`);
  });
}

test('browsers that come and go leave nothing in the process', async () => {
  const had = process.listenerCount('exit');
  for (let index = 0; index < 3; index += 1) await visitsOf((page) => page.goto(site.url));
  assert.equal(process.listenerCount('exit'), had);
});
