// Own process: it starts browsers.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { BrowserCheckResult } from '@monitor/shared/contract/check-result.ts';
import { AgentError } from '../../../agent/errors.ts';
import { runBrowser } from '../../../agent/runners/scripts/browser-and-multi-step.ts';
import type { Observation } from '../../../agent/runners/runner.ts';
import { inLongTier } from '../../support/random.ts';
import {
  definitionOfScript,
  openScriptWorld,
  scriptWorld,
  type ScriptWorld,
} from '../../support/script-context.ts';
import { webSite, type WebSite } from '../../support/web-site.ts';

function resultOf(observation: Observation): BrowserCheckResult {
  const result = observation.details?.browserCheckResult;
  assert.ok(result, 'the observation has a browser result');
  return result as BrowserCheckResult;
}

describe('browser checks', () => {
  let world: ScriptWorld;
  let site: WebSite;
  let closeSite: () => void;
  before(async () => {
    world = await openScriptWorld({ spare: 1 });
    site = await webSite({ after: (close: () => void) => (closeSite = close) });
  });
  after(async () => {
    await world[Symbol.asyncDispose]();
    closeSite();
  });

  const body = (text: string): string =>
    `import { test, expect } from '@playwright/test';\ntest('shop', async ({ page, context }) => {\n${text}\n});\n`;

  test('a passing script shows its pages, their vitals and its output, keeps no evidence, and is configured by the check before a file', async () => {
    const context = world.context();
    const seen = await runBrowser(
      definitionOfScript(
        body(
          `console.log('hello from the script');
          await page.goto('/');
          expect(page.viewportSize()?.width).toBe(640);
          await page.click('a');
          await expect(page).toHaveTitle('Second');
          await page.screenshot({ path: 'second.png' });`,
        ),
        {
          playwrightConfig: {
            ...{ use: { baseURL: site.url, viewport: { width: 640, height: 480 } } },
            workers: 4,
          },
          dependencies: [
            {
              path: 'playwright.config.js',
              content: 'module.exports = { use: { viewport: { width: 700, height: 500 } } };',
            },
          ],
        },
      ),
      context,
    );
    assert.equal(seen.failure, null);
    const result = resultOf(seen);
    assert.equal(result.type, 'PLAYWRIGHT_TEST');
    const [warned, ...lines] = result.jobLog;
    assert.match(warned?.msg ?? '', /workers \(ignored\)/);
    assert.deepEqual(
      result.pages.map(({ title, url }) => [title, url]),
      [
        ['Shop', `${site.url}/`],
        ['Second', `${site.url}/second`],
      ],
    );
    const [first, second] = result.pages;
    for (const name of ['TTFB', 'FCP', 'LCP', 'CLS', 'TBT'] as const) {
      assert.ok(second?.webVitals[name], `${name} was measured`);
    }
    assert.equal(first?.network[0]?.status, 200);
    assert.ok((first.network[0].sizeBytes ?? 0) > 0);
    assert.equal(second?.screenshots.length, 1);
    assert.deepEqual(
      [warned?.level, ...lines.map(({ msg, level }) => [msg, level])],
      ['WARN', ['hello from the script', 'INFO']],
    );
    assert.deepEqual(result.playwrightTestTraces, []);
    assert.equal(result.tests[0]?.status, 'passed');
    assert.deepEqual(context.files.map(({ type }) => type).sort(), ['report', 'screenshot']);
    assert.match(site.seen.get('/')?.['user-agent'] ?? '', / monitor-agent\/1\.0$/);
    assert.match(String(site.seen.get('/')?.['traceparent']), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });

  test('a failing script keeps trace and screenshot, and names its own line', async () => {
    const context = world.context();
    const seen = await runBrowser(
      definitionOfScript(
        body(
          `await page.goto('${site.url}/');\nawait expect(page).toHaveTitle('Wrong', { timeout: 200 });`,
        ),
      ),
      context,
    );
    assert.equal(seen.failure?.code, 'SCRIPT_FAILED');
    const result = resultOf(seen);
    assert.match(result.errors[0]?.message ?? '', /Expected: "Wrong"/);
    assert.doesNotMatch(result.errors[0]?.message ?? '', /\u001b/);
    assert.match(result.errors[0]?.stack ?? '', /at script\.spec\.js:4/);
    assert.match(JSON.stringify(result.tests[0]?.steps), /"Navigate [^"]*127\.0\.0\.1/);
    assert.equal(result.playwrightTestTraces.length, 1);
    assert.equal(result.pages[0]?.screenshots.length, 1);
    assert.equal(result.traceSummary.userScriptErrors, 1);
    const trace = context.files.find(({ type }) => type === 'trace');
    assert.equal((await readFile(trace?.path ?? '')).subarray(0, 2).toString(), 'PK');
  });

  const mark = `require('fs').writeFileSync('degraded.json', JSON.stringify({ messages: ['slow shop'] }));`;

  test('a soft failure degrades the check when the script says so', async () => {
    const soft = `await page.goto('${site.url}/');\nexpect.soft(1).toBe(2);\n${mark}`;
    const marked = await runBrowser(definitionOfScript(body(soft)), world.context());
    assert.equal(marked.failure, null);
    assert.equal(marked.response?.['degraded'], 'slow shop');
  });

  test('a script that fails hard is not degraded, whatever it says', inLongTier, async () => {
    const hard = await runBrowser(
      definitionOfScript(body(`${mark}\nexpect.soft(1).toBe(2);\nexpect(1).toBe(3);`)),
      world.context(),
    );
    assert.equal(hard.failure?.code, 'SCRIPT_FAILED');
    assert.equal(hard.response?.['degraded'], undefined);
  });

  test('TypeScript, dependencies, snippets, variables and a part of the configuration work', async () => {
    const context = world.context({
      environment: [{ key: 'SHOP', value: site.url, secret: false }],
      snippets: [{ name: 'greet', source: 'module.exports = () => "hi";' }],
    });
    const seen = await runBrowser(
      definitionOfScript(
        `import { test, expect } from '@playwright/test';
        import { open } from './lib/open';
        const greet = require('./snippets/greet');
        test('typed', async ({ page }) => {
          const wanted: string = 'Shop';
          await open(page);
          await expect(page).toHaveTitle(wanted);
          expect(greet()).toBe('hi');
          expect(process.env.CHECK_NAME).toBe('Shop');
          expect(process.env.MONITOR_SETTINGS).toBe(undefined);
          expect(page.viewportSize()?.width).toBe(700);
          expect(new Date().getTimezoneOffset()).toBe(0);
        });`,
        {
          scriptPath: 'checks/shop.spec.ts',
          dependencies: [
            {
              path: 'checks/lib/open.ts',
              content: `import type { Page } from '@playwright/test';
              export const open = (page: Page): Promise<unknown> => page.goto('/');`,
            },
            {
              path: 'playwright.config.ts',
              content: `import { defineConfig } from '@playwright/test';
              export default defineConfig({ retries: 3, use: { baseURL: process.env.SHOP, viewport: { width: 700, height: 500 } } });`,
            },
          ],
        },
      ),
      context,
    );
    assert.equal(seen.failure, null);
    const warned = resultOf(seen).jobLog.find(({ level }) => level === 'WARN');
    assert.match(warned?.msg ?? '', /retries \(ignored\)/);
    assert.equal(resultOf(seen).tests[0]?.file, 'checks/shop.spec.ts');
  });

  test('a dependency outside of the folder is refused', async () => {
    const seen = await runBrowser(
      definitionOfScript(body(''), { dependencies: [{ path: '../escape.js', content: 'x' }] }),
      world.context(),
    );
    assert.equal(seen.failure?.code, 'SCRIPT_INVALID');
    assert.match(seen.failure.message, /escape\.js/);
  });

  test('a script that does not parse is invalid, and one that leaves early has failed', async () => {
    const broken = await runBrowser(
      definitionOfScript(
        `const { test } = require('@playwright/test');\ntest('x', async ( => {});`,
      ),
      world.context(),
    );
    assert.equal(broken.failure?.code, 'SCRIPT_INVALID');
    const left = await runBrowser(definitionOfScript(body('process.exit(0);')), world.context());
    assert.equal(left.failure?.code, 'SCRIPT_FAILED');
    const empty = await runBrowser(definitionOfScript(null), world.context());
    assert.equal(empty.failure?.code, 'SCRIPT_INVALID');
  });

  test('a page that never stops ends at the deadline; the next run counts what goes wrong in its pages, answers a dialog and has its secrets learned', async () => {
    const seen = await runBrowser(
      definitionOfScript(
        body(
          `await page.goto('${site.url}/loop'); await page.evaluate(() => new Promise(() => {}));`,
        ),
      ),
      world.context({ timeoutMs: 3_000 }),
    );
    assert.equal(seen.failure?.code, 'TIMEOUT');
    assert.deepEqual(resultOf(seen).jobAssets, []);
    const context = world.context();
    const next = await runBrowser(
      definitionOfScript(
        body(
          `await page.goto('${site.url}/errors'); await page.waitForTimeout(100);
          await (await context.newPage()).goto('http://127.0.0.1:65533/').catch(() => undefined);
          await page.goto('${site.url}/dialogs'); await expect(page).toHaveTitle('Answered');
          process.env.SERVICE_SECRET_TOKEN = 'found-at-run-time'; process.env['CHECKLY_SECRET_B'] = 'another-one';`,
        ),
      ),
      context,
    );
    assert.equal(next.failure, null);
    assert.deepEqual(context.secrets, ['found-at-run-time', 'another-one']);
    assert.ok(world.retired.includes('its last run ended in an unusual way'));
    const { traceSummary, pages } = resultOf(next);
    const [wrong, silent] = pages;
    assert.ok(traceSummary.consoleErrors >= 1);
    assert.equal(traceSummary.networkErrors, 2);
    assert.equal(traceSummary.documentErrors, 1);
    assert.ok(wrong?.console.some(({ text, type }) => text === 'bad thing' && type === 'error'));
    assert.ok(wrong?.console.some(({ text }) => text === 'fine'));
    assert.ok(wrong?.network.some(({ url, status }) => url.endsWith('.png') && status === 404));
    assert.equal(silent?.network[0]?.failure, 'net::ERR_CONNECTION_REFUSED');
    // A target that does not answer has none.
    assert.deepEqual(silent.webVitals, {});
  });

  test('a page that crashes is named', async () => {
    const seen = await runBrowser(
      definitionOfScript(
        body(`await page.goto('${site.url}/'); await page.goto('chrome://crash');`),
      ),
      world.context(),
    );
    assert.equal(seen.failure?.code, 'PAGE_CRASHED');
    assert.match(seen.failure.message, /crashed in the browser/);
  });

  test('a plain script runs with Node, and shows what it saw before it failed', async () => {
    const script = `
      const { chromium } = require('playwright');
      (async () => {
        const browser = await chromium.launch({ headless: false });
        const page = await browser.newPage();
        await page.goto('${site.url}/');
        console.log('title', await page.title());
        throw new Error('not Other');
      })();`;
    const failing = await runBrowser(definitionOfScript(script), world.context());
    assert.equal(failing.failure?.code, 'SCRIPT_FAILED');
    assert.match(failing.failure.message, /not Other/);
    const result = resultOf(failing);
    assert.equal(result.type, 'SCRIPT');
    assert.equal(result.pages[0]?.title, 'Shop');
    assert.ok(result.jobLog.some(({ msg }) => msg === 'title Shop'));
    assert.equal(result.playwrightTestTraces.length, 1);
    assert.equal(result.pages[0].screenshots.length, 1);
  });
});

test('a run that uses too much memory ends with that reason', async (t) => {
  const world = await scriptWorld(t, { isWarm: false, limits: { memoryBytes: 600_000_000 } });
  const seen = await runBrowser(
    definitionOfScript(
      `import { test } from '@playwright/test'; test('eats', async () => {
        const kept = []; for (;;) { kept.push(Buffer.alloc(10_000_000, 1)); await new Promise((r) => setTimeout(r, 5)); }
      });`,
    ),
    world.context(),
  );
  assert.equal(seen.failure?.code, 'OUT_OF_MEMORY');
  assert.match(seen.failure.message, /memory/);
});

test('a browser that does not start is an agent error, not a failure of the script', async (t) => {
  const world = await scriptWorld(t, {
    isWarm: false,
    browser: () =>
      Promise.resolve({ executablePath: '/bin/false', args: [], environment: {}, version: '0' }),
  });
  await assert.rejects(
    runBrowser(
      definitionOfScript(
        `import { test } from '@playwright/test'; test('x', async ({ page }) => { await page.goto('about:blank'); });`,
      ),
      world.context(),
    ),
    (error) => error instanceof AgentError && error.code === 'BROWSER_BROKEN',
  );
});

test(
  'a page that eats memory ends its browser, and the run names the page',
  inLongTier,
  async (t) => {
    const world = await scriptWorld(t, { limits: { memoryBytes: 800_000_000 } });
    const site = await webSite(t);
    const seen = await runBrowser(
      definitionOfScript(
        `import { test } from '@playwright/test'; test('eats', async ({ page }) => {
        await page.goto('${site.url}/');
        await page.evaluate(async () => {
          const kept = []; for (;;) { kept.push(new Uint8Array(20_000_000).fill(1)); await new Promise((r) => setTimeout(r, 20)); }
        });
      });`,
      ),
      world.context(),
    );
    assert.match(seen.failure?.code ?? '', /^(BROWSER_CRASHED|PAGE_CRASHED)$/);
    assert.ok(seen.failure?.message.includes(site.url));
  },
);
