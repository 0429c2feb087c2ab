/** `npm run images -- smoke`: the images, looked at and run, in a network of their own. */
import { execFileSync } from 'node:child_process';
import { hasImage } from '../buildah.ts';
import { imageTargets, type ImageTarget } from '../targets.ts';
import { table } from '../../../agent/commands/output.ts';
import { lookAt } from './look.ts';
import type { Scenario } from './scenarios.ts';
import { tryAgent } from './try-agent.ts';
import { openWorld } from './world.ts';

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** Tries these images. Throws after the first that does not do what it should. */
export async function smoke(
  targets: readonly ImageTarget[],
  scenarios: readonly Scenario[],
): Promise<void> {
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  const controlPlane = imageTargets.find(({ name }) => name === 'control-plane');
  if (controlPlane === undefined) throw new Error('there is no control plane');
  for (const { image, name } of new Set([...targets, controlPlane])) {
    if (!(await hasImage(image))) {
      throw new Error(`${image} is not there; "npm run images -- build ${name}" makes it`);
    }
  }
  const rows = [['IMAGE', 'HOW', 'PACKAGES AND SOURCE', 'READY', 'IDLE RSS', 'RESULTS', 'DRAINED']];
  for (const target of targets) {
    const { ownBytes, problems } = await lookAt(target);
    if (problems.length > 0) throw new Error(`${target.image}:\n  ${problems.join('\n  ')}`);
    if (target.name === 'control-plane') {
      rows.push([target.name, 'looked at; runs below', megabytes(ownBytes), '', '', '', '']);
      continue;
    }
    await using world = await openWorld(controlPlane.image);
    for (const [index, scenario] of scenarios.entries()) {
      console.log(`${target.name}: ${scenario.says}`);
      const trial = await tryAgent(target, scenario, world, `${target.name}-${index}`);
      rows.push([
        target.name,
        scenario.says,
        megabytes(ownBytes),
        seconds(trial.readyMs),
        megabytes(trial.idleRssBytes),
        String(trial.results),
        seconds(trial.drainMs),
      ]);
    }
  }
  console.log(table(rows));
}
