/** One browser for all tests of a process: each start of one costs more than most pages. */
import { after } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchBrowser } from './found-browser.ts';

let opened: Promise<Browser> | undefined;

/** Nobody closes it but this; contexts keep visits apart. */
export function openBrowser(): Promise<Browser> {
  opened ??= launchBrowser();
  return opened;
}

after(async () => {
  await (await opened)?.close();
});
