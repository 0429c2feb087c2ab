/**
 * What a browser check costs beside the plainest ways to do the same: one page, one assertion, in
 * turn, several rounds; medians, and ratios of pairs. Wall is what a run takes; CPU is that of all
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
import { runBrowser } from '../../agent/runners/browser/run-browser.ts';
import { listen } from '../../proof/listen.ts';
import { openScriptWorld } from '../../test/support/script-context.ts';
import { median, treeCpuMs } from './process-cost.ts';
import { show } from './show.ts';

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 7);
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
export async function benchBrowser(): Promise<void> {
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
  const ways: Record<string, () => Promise<unknown>> = {
    'browser check, warm': () => check(warm),
    'browser check, cold': () => check(cold),
    'node plain.js': () => run(process.execPath, ['plain.js'], folder),
    'npx playwright test': () => run('npx', ['playwright', 'test'], folder),
  };
  const costs = new Map<string, Cost[]>(Object.keys(ways).map((name) => [name, []]));
  for (let round = -1; round < rounds; round += 1) {
    for (const [name, way] of Object.entries(ways)) {
      const cost = await measure(way);
      // The first round opens browsers and fills caches.
      if (round >= 0) costs.get(name)?.push(cost);
    }
  }
  const base = costs.get('npx playwright test') ?? [];
  for (const [name, list] of costs) {
    const ratio = (part: keyof Cost): string =>
      median(list.map((cost, index) => cost[part] / (base[index]?.[part] ?? Number.NaN))).toFixed(
        2,
      );
    const wall = median(list.map((cost) => cost.wall)).toFixed(0);
    const cpu = median(list.map((cost) => cost.cpu)).toFixed(0);
    show(name, {
      wall: `${wall} ms`,
      CPU: `${cpu} ms`,
      'ratio of wall': ratio('wall'),
      'of CPU': ratio('cpu'),
    });
  }
  await warm[Symbol.asyncDispose]();
  await cold[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}

if (import.meta.main) await benchBrowser();
