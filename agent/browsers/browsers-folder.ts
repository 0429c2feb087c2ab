/** The folder of what Playwright has downloaded. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { homeFolder } from '../home-folder.ts';
import { processEnvironment } from '../guard-process.ts';
import { playwrightRevision } from '../runtimes/playwright-revision.ts';

/** Where Playwright keeps the browsers it downloads; runs have another home, so the path is given to them. */
export function browsersFolder(): string {
  return (
    processEnvironment['PLAYWRIGHT_BROWSERS_PATH'] ?? join(homeFolder(), '.cache', 'ms-playwright')
  );
}

/** Videos need the ffmpeg of exactly this version of Playwright. */
export function canRecordVideo(runtimeFolder: string): boolean {
  try {
    const directory = `ffmpeg-${playwrightRevision(runtimeFolder, 'ffmpeg')}`;
    return existsSync(join(browsersFolder(), directory, 'ffmpeg-linux'));
  } catch {
    return false;
  }
}
