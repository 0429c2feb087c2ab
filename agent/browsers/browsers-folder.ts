/** The folder of what Playwright has downloaded. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { homeFolder } from '../home-folder.ts';
import { processEnvironment } from '../config.ts';

/** Where Playwright keeps the browsers it downloads; runs have another home, so they are told. */
export function browsersFolder(): string {
  return (
    processEnvironment['PLAYWRIGHT_BROWSERS_PATH'] ?? join(homeFolder(), '.cache', 'ms-playwright')
  );
}

/** Videos need the ffmpeg of exactly this version of Playwright. */
export function canRecordVideo(runtimeFolder: string): boolean {
  try {
    const fromRuntime = createRequire(join(runtimeFolder, 'package.json'));
    // The core of its Playwright; that of another package may stand beside it.
    const fromPlaywright = createRequire(fromRuntime.resolve('playwright/package.json'));
    const core = dirname(fromPlaywright.resolve('playwright-core/package.json'));
    const { browsers } = JSON.parse(readFileSync(join(core, 'browsers.json'), 'utf8')) as {
      browsers: { name: string; revision: string }[];
    };
    const revision = browsers.find(({ name }) => name === 'ffmpeg')?.revision ?? '';
    return existsSync(join(browsersFolder(), `ffmpeg-${revision}`, 'ffmpeg-linux'));
  } catch {
    return false;
  }
}
