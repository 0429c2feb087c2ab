/**
 * Browser runs in a row: what do they leave behind? `SOAK_RUNS` says how many. Fails when processes or
 * folders are left, or when memory of this process grows by more than 1 MiB in 100 runs.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { runBrowser } from '../../agent/runners/browser/run-browser.ts';
import { openScriptWorld } from '../../test/support/script-context.ts';
import { webSite } from '../../test/support/web-site.ts';

const runs = Number(process.env['SOAK_RUNS'] ?? 20);

/** Processes below this one, and how many of them are zombies. */
function family(): { alive: number; zombies: number } {
  const facts = readdirSync('/proc').flatMap((entry) => {
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'latin1');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return [{ pid: Number(entry), parent: Number(parent), state }];
    } catch {
      return [];
    }
  });
  const parents = new Map(facts.map(({ pid, parent }) => [pid, parent]));
  const isBelow = (pid: number): boolean =>
    parents.get(pid) === process.pid || (parents.has(pid) && isBelow(parents.get(pid) ?? 0));
  const below = facts.filter(({ pid }) => isBelow(pid));
  return { alive: below.length, zombies: below.filter(({ state }) => state === 'Z').length };
}

function residentMib(): number {
  globalThis.gc?.();
  return process.memoryUsage.rss() / 1_048_576;
}

let closeSite = (): void => undefined;
const site = await webSite({ after: (close) => (closeSite = close) });
const world = await openScriptWorld();
const definition = {
  request: { assertions: [] },
  shouldFail: false,
  degradedResponseTime: null,
  maxResponseTime: null,
  script: `import { test, expect } from '@playwright/test';
    test('shop', async ({ page }) => { await page.goto('${site.url}/'); await expect(page).toHaveTitle('Shop'); });`,
};
const memory: number[] = [];
const times: number[] = [];
let failed = 0;
let most = { alive: 0, zombies: 0 };
for (let run = 0; run < runs; run += 1) {
  const start = performance.now();
  const { failure } = await runBrowser(definition, world.context());
  times.push(performance.now() - start);
  if (failure !== null) {
    failed += 1;
    console.log(`run ${run}: ${failure.code} ${failure.message.slice(0, 200)}`);
  }
  memory.push(residentMib());
  const now = family();
  most = {
    alive: Math.max(most.alive, now.alive),
    zombies: Math.max(most.zombies, now.zombies),
  };
}
// What is loaded in the first runs stays, and is no leak.
const settled = memory.slice(Math.floor(runs / 3));
const half = Math.floor(settled.length / 2);
const mean = (values: number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
const growth =
  ((mean(settled.slice(half)) - mean(settled.slice(0, half))) / Math.max(1, half)) * 100;
await world.scripting.sessions[Symbol.asyncDispose]();
await world.scripting.browsers?.[Symbol.asyncDispose]();
const folders = readdirSync(world.workFolder).flatMap((own) =>
  readdirSync(`${world.workFolder}/${own}`).filter((name) => name !== 'owner'),
);
await world[Symbol.asyncDispose]();
closeSite();
const left = family();
times.sort((one, other) => one - other);
const report = {
  runs,
  failed,
  medianMs: Math.round(times[Math.floor(times.length / 2)] ?? 0),
  mostProcesses: most.alive,
  mostZombies: most.zombies,
  processesLeft: left.alive,
  zombiesLeft: left.zombies,
  foldersLeft: folders.length,
  memoryMib: Math.round(memory.at(-1) ?? 0),
  growthMibPer100Runs: Number(growth.toFixed(2)),
};
console.log(JSON.stringify(report, null, 2));
const isClean = failed === 0 && left.alive === 0 && folders.length === 0;
// Fewer runs than this say nothing about growth.
process.exitCode = isClean && (runs < 100 || growth <= 1) ? 0 : 1;
