/**
 * Images without a Docker engine, by way of buildah:
 *
 *   npm run images -- build [TARGET …] [--build-arg NAME=value] [--arch amd64|arm64]
 *   npm run images -- smoke [TARGET …] [--how WORDS]   runs them: as root and not, with and without
 *                                          NET_RAW; WORDS pick one way by its name
 *   npm run images -- clean                removes what was built
 *
 * Targets: control-plane, uptime, full, migration, dev, or all of these, and uptime-alpine; without any,
 * the first two.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readOptions, runScript } from '../options.ts';
import { architectures, parseArchitecture } from './architecture.ts';
import { buildah, buildahProblem, hasImage } from './buildah.ts';
import { buildImages } from './build.ts';
import { chooseScenarios } from './smoke/scenarios.ts';
import { smoke } from './smoke/smoke.ts';
import { chooseTargets, imageTargetsFor } from './targets.ts';

const usage = 'npm run images -- build|smoke|clean [TARGET …]';

/** Starts this command again in a network of its own, so that its ports are nobody else's. */
async function inOwnNetwork(names: readonly string[]): Promise<number> {
  const self = [process.execPath, import.meta.filename, 'smoke-here', ...names];
  const child = spawn('unshare', ['--net', '--', ...self], { stdio: 'inherit' });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}

/** Removes the images that were built, and layers that no image has any more. */
async function clean(): Promise<void> {
  for (const { image } of architectures.flatMap(imageTargetsFor).reverse()) {
    if (await hasImage(image)) await buildah('rmi', '--force', image);
  }
  await buildah('rmi', '--prune', '--force');
}

async function main(): Promise<void> {
  const { values, positionals } = readOptions({
    allowPositionals: true,
    options: {
      arch: { type: 'string' },
      how: { type: 'string', default: '' },
      'build-arg': { type: 'string', multiple: true, default: [] },
    },
  });
  const [command = '', ...names] = positionals;
  const arch = parseArchitecture(values.arch);
  const problem = await buildahProblem();
  if (problem !== null) throw new Error(problem);
  switch (command) {
    case 'build':
      await buildImages(chooseTargets(names, arch), values['build-arg'], arch);
      break;
    case 'smoke':
      process.exitCode = await inOwnNetwork([...names, '--arch', arch, '--how', values.how]);
      break;
    case 'smoke-here':
      await smoke(chooseTargets(names, arch), chooseScenarios(values.how));
      break;
    case 'clean':
      await clean();
      break;
    default:
      throw new Error(usage);
  }
}

await runScript(main);
