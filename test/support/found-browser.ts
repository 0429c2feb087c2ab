/** The browser of this machine, for tests that drive one. */
import { fileURLToPath } from 'node:url';
import { chromium, type Browser } from 'playwright-core';
import { findBrowser, type FoundBrowser } from '../../agent/browsers/find-browser.ts';

let found: Promise<FoundBrowser> | undefined;

/** Looked for once, and started without WebGL, which takes a quarter more. Rejects with what was tried where there is none. */
export function foundBrowser(): Promise<FoundBrowser> {
  found ??= findBrowser({
    packagesFolder: fileURLToPath(new URL('../..', import.meta.url)),
    searchPath: process.env['PATH'] ?? '',
  }).then((one) => ({
    ...one,
    args: [...one.args.filter((arg) => !/^--use-(gl|angle)=/.test(arg)), '--disable-gpu'],
  }));
  return found;
}

/** Starts it, for a test that looks at a page. */
export async function launchBrowser(further: readonly string[] = []): Promise<Browser> {
  const { executablePath, args, environment } = await foundBrowser();
  return chromium.launch({
    executablePath,
    args: [...args, ...further],
    env: { ...(process.env as Record<string, string>), ...environment },
  });
}
