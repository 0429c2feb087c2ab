/** Images, built from the commit, tried, and kept as archives that any engine loads. */
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { buildah, buildahProblem } from '../images/buildah.ts';
import { chooseTargets, type ImageTarget } from '../images/targets.ts';
import { runLogged, type Finding, type ReleaseContext } from './step.ts';

/** The file of an image, and the name that an engine loads from it: that of charts, compose files and the console. */
export function publishedAs(
  { name, file }: Pick<ImageTarget, 'name' | 'file'>,
  version: string,
): { archive: string; reference: string } {
  return file === 'Dockerfile.agent'
    ? {
        archive: `monitor-agent-${name}-${version}.tar`,
        reference: `monitor-agent:${version}-${name}`,
      }
    : {
        archive: `monitor-control-plane-${version}.tar`,
        reference: `monitor-control-plane:${version}`,
      };
}

export async function makeImages(context: ReleaseContext): Promise<Finding> {
  const problem = await buildahProblem();
  if (problem !== null) return { summary: 'no images were made', notChecked: problem };
  const next = 'run `npm run images -- build` and `-- smoke` by hand';
  for (const command of ['build', 'smoke']) {
    const words = ['npm', 'run', 'images', '--', command];
    await runLogged(context, { name: `images-${command}`, words, next });
  }
  const folder = join(context.out, 'images');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const made: Record<string, number> = {};
  for (const { name, image, file } of chooseTargets([])) {
    const { archive, reference } = publishedAs({ name, file }, context.version);
    await buildah('push', image, `docker-archive:${join(folder, archive)}:${reference}`);
    made[archive] = statSync(join(folder, archive)).size;
  }
  return { summary: `built, tried and kept: ${Object.keys(made).join(', ')}`, figures: made };
}
