/** Images, built from the commit, tried, and kept as archives that any engine loads. */
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { buildah, buildahProblem } from '../images/buildah.ts';
import { chooseTargets, publishedAs } from '../images/targets.ts';
import { runLogged, type Finding, type ReleaseContext } from './step.ts';

export async function makeImages(context: ReleaseContext): Promise<Finding> {
  const problem = await buildahProblem();
  if (problem !== null) return { summary: 'no images were made', notChecked: problem };
  const next = 'run `npm run images -- build all` and `-- smoke all` by hand';
  for (const command of ['build', 'smoke']) {
    const words = ['npm', 'run', 'images', '--', command, 'all'];
    await runLogged(context, { name: `images-${command}`, words, next });
  }
  const folder = join(context.out, 'images');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const made: Record<string, number> = {};
  for (const target of chooseTargets(['all'])) {
    const { archive, reference } = publishedAs(target, context.version);
    await buildah('push', target.image, `docker-archive:${join(folder, archive)}:${reference}`);
    made[archive] = statSync(join(folder, archive)).size;
  }
  return { summary: `built, tried and kept: ${Object.keys(made).join(', ')}`, figures: made };
}
