/**
 * What a browser check costs beside the plainest ways to do the same: one page, one assertion. Wall is what a run takes; CPU is that of all
 * processes that end with it and, for warm browsers, of those that stay.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findBrowser } from '../../agent/browsers/find-browser.ts';
import { runBrowser } from '../../agent/runners/scripts/browser-and-multi-step.ts';
import { listen } from '../../proof/listen.ts';
import { openScriptWorld } from '../../test/support/script-context.ts';
import type { Bench } from './load.ts';
import { inTurns, median, medianRatio, ms, show, treeCpuMs } from './measure.ts';

const rootFolder = join(import.meta.dirname, '..', '..');
/** After a run its successors are made ready; a check of a schedule finds them done. */
const settleMs = Number(process.env['BENCH_SETTLE_MS'] ?? 3_000);

interface Cost {
  wall: number;
  cpu: number;
}

async function measure(work: () => Promise<unknown>): Promise<Cost> {
  const cpu = treeCpuMs(process.pid);
  const start = performance.now();
  await work();
  const wall = performance.now() - start;
  await pause(settleMs);
  return { wall, cpu: treeCpuMs(process.pid) - cpu };
}

const binaries = join(rootFolder, 'node_modules', '.bin');
const PATH = [dirname(process.execPath), binaries, process.env['PATH']].join(delimiter);
const run = (command: string, args: string[], cwd: string) =>
  promisify(execFile)(command, args, { cwd, env: { ...process.env, PATH } });

/** Prints wall, CPU and ratios to `npx playwright test`. */
export async function benchBrowser({ rounds }: Bench): Promise<void> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><title>Shop</title><h1>Shop</h1>');
  });
  await using listening = await listen(server);
  const url = `${listening.url}/`;
  const found = await findBrowser({ packagesFolder: rootFolder });
  const launch = JSON.stringify({ executablePath: found.executablePath, args: found.args });
  const script = `const { test, expect } = require('@playwright/test');
    test('shop', async ({ page }) => { await page.goto('${url}'); await expect(page).toHaveTitle('Shop'); });`;
  const folder = await mkdtemp(join(tmpdir(), 'bench-browser-'));
  await symlink(join(rootFolder, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'shop.spec.js'), script);
  await writeFile(
    join(folder, 'playwright.config.js'),
    `module.exports = { workers: 1, reporter: 'json', use: { launchOptions: ${launch} } };`,
  );
  await writeFile(
    join(folder, 'plain.js'),
    `const { chromium } = require('playwright');
    (async () => { const browser = await chromium.launch(${launch}); const page = await browser.newPage();
    await page.goto('${url}'); if (await page.title() !== 'Shop') throw new Error(); await browser.close(); })();`,
  );
  const warm = await openScriptWorld();
  const cold = await openScriptWorld({ isWarm: false });
  const definition = {
    request: { assertions: [] },
    shouldFail: false,
    degradedResponseTime: null,
    maxResponseTime: null,
    script,
  };
  const check = async (world: typeof warm): Promise<void> => {
    const { failure } = await runBrowser(definition, world.context());
    if (failure !== null) throw new Error(failure.message);
  };
  const ways = {
    'browser check, warm': () => measure(() => check(warm)),
    'browser check, cold': () => measure(() => check(cold)),
    'node plain.js': () => measure(() => run(process.execPath, ['plain.js'], folder)),
    'npx playwright test': () => measure(() => run('npx', ['playwright', 'test'], folder)),
  };
  // The first round opens browsers and fills caches.
  const costs = await inTurns(ways, rounds, 1);
  const of = (list: readonly Cost[], part: keyof Cost) => list.map((cost) => cost[part]);
  const base = costs['npx playwright test'];
  for (const [name, list] of Object.entries(costs)) {
    show(name, {
      wall: ms(median(of(list, 'wall')), 0),
      CPU: ms(median(of(list, 'cpu')), 0),
      'ratio of wall': medianRatio(of(list, 'wall'), of(base, 'wall')).toFixed(2),
      'of CPU': medianRatio(of(list, 'cpu'), of(base, 'cpu')).toFixed(2),
    });
  }
  await warm[Symbol.asyncDispose]();
  await cold[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}
