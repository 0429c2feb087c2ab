/** Packages for npm, made twice: the same commit must give the same bytes. */
import { globSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf } from './checksums.ts';
import { runLogged, StepFailure, type Finding, type ReleaseContext } from './step.ts';

export async function packTwice(context: ReleaseContext): Promise<Finding> {
  const { out, work } = context;
  const again = join(work, 'again');
  for (const folder of [join(out, 'packages'), again]) {
    rmSync(folder, { recursive: true, force: true });
    await runLogged(context, {
      name: 'packages',
      words: ['npm', 'run', 'packages', '--', '--built', join(work, 'built'), '--out', folder],
      next: 'run `npm run packages` and mend what it names',
    });
  }
  const files = globSync('*.tgz', { cwd: again }).sort();
  const differing = files.filter(
    (file) => digestOf(join(out, 'packages', file)) !== digestOf(join(again, file)),
  );
  if (differing.length > 0) {
    throw new StepFailure(
      `built twice, ${differing.join(' and ')} differ`,
      `compare the contents below ${join(out, 'packages')} and ${again}`,
    );
  }
  const sizes = files.map((file) => [file, statSync(join(again, file)).size] as const);
  const shown = sizes.map(([file, bytes]) => `${file} ${(bytes / 1e6).toFixed(1)} MB`);
  return { summary: `${shown.join(', ')}; twice the same`, figures: Object.fromEntries(sizes) };
}
