/**
 * `npm run screenshots`: starts the demo on ports of its own and takes the pictures of the guide and of the
 * README, light and dark, as WebP. Pictures differ a little with every run, since the demo measures.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../../test/support/found-browser.ts';
import { freePort, Program } from '../../proof/program.ts';
import { temporaryFolder } from '../../proof/system.ts';

const folder = join('docs', 'images');
const size = { width: 1280, height: 800 };
const quality = 0.85;

interface Scene {
  name: string;
  /** Opens what is shown. */
  open: (page: Page) => Promise<unknown>;
}

/** Results of one check, so that its bars and curves show something. */
const minResults = 18;

/** What has to be there before pictures are worth taking. */
const awaited = [
  'PASSING  shop in a browser (BROWSER',
  'FAILING  checkout in a browser (BROWSER',
  'FAILING  flapping website (URL',
  'order in two steps (MULTI_STEP',
  'nightly job (heartbeat) (HEARTBEAT',
];

async function startDemo(): Promise<{ url: string; password: string } & AsyncDisposable> {
  const data = temporaryFolder();
  const first = await freePort(8);
  const demo = new Program(['scripts/demo.ts'], {
    ...{ DEMO_DATA_DIR: data.path, PORT: String(first) },
    ...{ AGENT_HEALTH_PORT: String(first + 1), DEMO_TARGET_PORT: String(first + 3) },
  });
  await Promise.all(awaited.map((text) => demo.line(text)));
  await demo.line('echo server (TCP', minResults);
  const kept = readFileSync(join(data.path, 'demo.json'), 'utf8');
  return {
    url: `http://127.0.0.1:${first}`,
    password: (JSON.parse(kept) as { password: string }).password,
    async [Symbol.asyncDispose]() {
      await demo.stop();
      data[Symbol.dispose]();
    },
  };
}

function scenesOf(url: string): Scene[] {
  const inConsole = (place: string) => async (page: Page) => {
    await page.goto(`${url}/console/#/${place}`);
    await page.locator('h1').waitFor();
  };
  const openCheck = (name: string) => async (page: Page) => {
    await inConsole('checks')(page);
    await page.getByRole('link', { name, exact: true }).first().click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
  };
  return [
    {
      name: 'console',
      async open(page) {
        await inConsole('checks')(page);
        // Figures of rows come after the rows.
        await page.locator('tbody .bars').first().waitFor();
        await page.locator('tbody').getByText(/%/).first().waitFor();
      },
    },
    { name: 'check', open: openCheck('flapping website') },
    { name: 'new-check', open: inConsole('new/check') },
    { name: 'alerts', open: inConsole('alerts') },
    { name: 'people', open: inConsole('settings/people') },
    { name: 'escalation', open: inConsole('new/policy') },
    { name: 'status-page', open: (page) => page.goto(`${url}/status/demo`) },
  ];
}

/** The browser itself packs the picture: a third of the size, and no further package. */
async function toWebp(browser: Browser, png: Buffer): Promise<Buffer> {
  const page = await browser.newPage();
  const url = await page.evaluate(
    `(async () => {
      const image = new Image();
      image.src = 'data:image/png;base64,${png.toString('base64')}';
      await image.decode();
      const canvas = document.createElement('canvas');
      canvas.width = image.width;
      canvas.height = image.height;
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', ${quality});
    })()`,
  );
  await page.close();
  return Buffer.from(String(url).split(',')[1] ?? '', 'base64');
}

await using demo = await startDemo();
await using browser = await launchBrowser();
for (const colorScheme of ['light', 'dark'] as const) {
  const context = await browser.newContext({
    viewport: size,
    colorScheme,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await page.goto(`${demo.url}/console/`);
  await page.getByLabel('E-mail').fill('demo@example.com');
  await page.getByLabel('Password', { exact: true }).fill(demo.password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Monitors' }).waitFor();
  for (const { name, open } of scenesOf(demo.url)) {
    await open(page);
    await page.locator('[aria-busy=true], .loading').first().waitFor({ state: 'detached' });
    const file = join(folder, `${name}${colorScheme === 'dark' ? '-dark' : ''}.webp`);
    writeFileSync(file, await toWebp(browser, await page.screenshot()));
    console.log(`${file}, ${Math.round(statSync(file).size / 1000)} kB`);
  }
  await context.close();
}
