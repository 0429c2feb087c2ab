import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Which build of a browser, or of ffmpeg, the Playwright of a runtime would download. Throws where there is
 * no Playwright. To ask Playwright itself, it has to be loaded, which takes longer than the agent does.
 */
export function playwrightRevision(runtimeFolder: string, wanted: string): string {
  const fromRuntime = createRequire(join(runtimeFolder, 'package.json'));
  // The core of its Playwright; that of another package may stand beside it.
  const fromPlaywright = createRequire(fromRuntime.resolve('playwright/package.json'));
  const core = dirname(fromPlaywright.resolve('playwright-core/package.json'));
  const { browsers } = JSON.parse(readFileSync(join(core, 'browsers.json'), 'utf8')) as {
    browsers: { name: string; revision: string }[];
  };
  const revision = browsers.find(({ name }) => name === wanted)?.revision;
  if (revision === undefined) throw new Error(`the Playwright in ${core} names no ${wanted}`);
  return revision;
}
