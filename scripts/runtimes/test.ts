/**
 * Installs the runtimes that images carry, tests every package of them, and runs a Playwright test with
 * each: `npm run runtimes:test`. Needs the registry, 3 GB of disk and a Chromium; takes minutes.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installRuntime } from '../../agent/runtimes/install-runtime.ts';
import { toInstalled, listRuntimes } from '../../agent/runtimes/installed-runtimes.ts';
import { planOf } from '../../agent/runtimes/runtime-plan.ts';

const browsers = [
  process.env['AGENT_CHROMIUM_PATH'] ?? '',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
];

const spec = `
const { test, expect } = require('@playwright/test');
const { z } = require('zod');
test('a page is driven', async ({ page }) => {
  await page.setContent('<button onclick="this.textContent = 1 + 1">add</button>');
  await page.getByRole('button').click();
  await expect(page.getByRole('button')).toHaveText(z.string().parse('2'));
});
`;

function configFor(executablePath: string): string {
  const launchOptions = {
    executablePath,
    args: ['--no-sandbox', '--disable-background-networking'],
  };
  return `module.exports = ${JSON.stringify({ reporter: 'line', use: { launchOptions } })};`;
}

const browser = browsers.find((path) => path !== '' && existsSync(path));
if (browser === undefined) {
  throw new Error('no Chromium was found; name one with AGENT_CHROMIUM_PATH');
}
const ids = process.argv.length > 2 ? process.argv.slice(2) : ['2026.04', '2025.04'];
const work = mkdtempSync(join(tmpdir(), 'runtimes-test-'));
try {
  const directory = join(work, 'runtimes');
  for (const id of ids) {
    const begun = performance.now();
    const { verification } = await installRuntime({
      plan: planOf(id),
      directory,
      environment: process.env,
      now: Date.now,
    });
    const seconds = Math.round((performance.now() - begun) / 1000);
    const count = Object.keys(verification.packages).length;
    console.log(
      `${id}: ${count} packages load, ${Math.round(verification.sizeBytes / 1e6)} MB, in ${seconds} s`,
    );
    const found = listRuntimes(directory).find((runtime) => runtime.id === id);
    const runtime = found === undefined ? null : toInstalled(found);
    if (runtime === null) throw new Error(`runtime ${id} is not offered`);
    const suite = join(work, `suite-${id}`);
    mkdirSync(suite);
    symlinkSync(join(runtime.folder, 'node_modules'), join(suite, 'node_modules'));
    writeFileSync(join(suite, 'page.spec.js'), spec);
    writeFileSync(join(suite, 'playwright.config.js'), configFor(browser));
    const cli = join(runtime.folder, 'node_modules', '@playwright', 'test', 'cli.js');
    execFileSync(runtime.nodePath, [cli, 'test'], {
      cwd: suite,
      stdio: 'inherit',
      timeout: 120_000,
    });
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
