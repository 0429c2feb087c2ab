import { join } from 'node:path';
import { AgentError } from '../../errors.ts';
import { ok, skip, warn, type Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';
import type { Check } from '../step.ts';

const folders = ['/usr/share/fonts', '/usr/local/share/fonts'];
const deepest = 4;
/** One file of each is proof enough. */
const scripts: readonly { name: string; files: RegExp; package: string }[] = [
  { name: 'emoji', files: /emoji/i, package: 'fonts-noto-color-emoji' },
  {
    name: 'Chinese, Japanese and Korean',
    files: /cjk|wqy|ipa|takao|han(serif|sans)/i,
    package: 'fonts-noto-cjk',
  },
];

export function fontFiles(machine: Machine): string[] {
  const found: string[] = [];
  const walk = (folder: string, depth: number): void => {
    for (const name of machine.list(folder)) {
      if (/\.(ttf|otf|ttc|pfb|woff2?)$/i.test(name)) found.push(name);
      else if (depth < deepest && !name.includes('.')) walk(join(folder, name), depth + 1);
    }
  };
  for (const folder of folders) walk(folder, 0);
  return found;
}

/** Only browsers need fonts. */
export function judgeFonts(files: readonly string[]): Finding[] {
  const only = 'only what browser checks look like is affected';
  if (files.length === 0) {
    return warn(
      'there is no font on the system: pages show boxes in place of letters, or the browser ends at an input field',
      `apt-get install fonts-liberation fonts-noto-color-emoji fonts-noto-cjk; ${only}`,
    );
  }
  const missing = scripts.filter(({ files: pattern }) => !files.some((file) => pattern.test(file)));
  const count = `${files.length} font files`;
  return ok(
    missing.length === 0
      ? count
      : `${count}; none for ${missing.map(({ name, package: from }) => `${name} (${from})`).join(', ')}`,
  );
}

export const checkFonts: Check = async ({ machine, browser }) => {
  if ((await browser()) instanceof AgentError) return skip('there is no browser');
  return judgeFonts(fontFiles(machine));
};
