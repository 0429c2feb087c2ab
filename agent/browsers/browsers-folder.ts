/** The folder of what Playwright has downloaded. */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { processEnvironment } from '../config.ts';

/** Where Playwright keeps the browsers it downloads; runs have another home, so they are told. */
export function browsersFolder(): string {
  return (
    processEnvironment['PLAYWRIGHT_BROWSERS_PATH'] ?? join(homedir(), '.cache', 'ms-playwright')
  );
}

/** Videos need the ffmpeg of exactly this version of Playwright. */
export function canRecordVideo(runtimeFolder: string): boolean {
  try {
    const core = join(runtimeFolder, 'node_modules', 'playwright-core', 'browsers.json');
    const { browsers } = JSON.parse(readFileSync(core, 'utf8')) as {
      browsers: { name: string; revision: string }[];
    };
    const revision = browsers.find(({ name }) => name === 'ffmpeg')?.revision ?? '';
    return existsSync(join(browsersFolder(), `ffmpeg-${revision}`, 'ffmpeg-linux'));
  } catch {
    return false;
  }
}
