/** Builds images with buildah. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { architectureProblem, thisArchitecture, type Architecture } from './architecture.ts';
import { ensureAlpineImage, ensureBaseImage } from './base-image.ts';
import { hasImage, runShown } from './buildah.ts';
import type { ImageTarget } from './targets.ts';

const git = (...words: string[]): string => execFileSync('git', words, { encoding: 'utf8' }).trim();

/** Settings of this machine that reach builds: how to get out, and whom to trust. None stays in an image. */
function surroundings(): string[] {
  const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'].flatMap((name) => {
    const value = process.env[name] ?? process.env[name.toLowerCase()];
    return value === undefined || value === '' ? [] : ['--build-arg', `${name}=${value}`];
  });
  const authorities = process.env['NODE_EXTRA_CA_CERTS'];
  const login = process.env['NPMRC'];
  return [
    ...proxies,
    ...(authorities !== undefined && existsSync(authorities)
      ? ['--secret', `id=ca,src=${authorities}`]
      : []),
    ...(login === undefined ? [] : ['--secret', `id=npmrc,src=${login}`]),
  ];
}

function versionOf(file: string): string {
  const workspace = file === 'Dockerfile.control-plane' ? 'control-plane' : 'agent';
  const manifest = JSON.parse(readFileSync(`${workspace}/package.json`, 'utf8')) as {
    version: string;
  };
  return manifest.version;
}

/** Builds these targets, in order. `buildArgs` as NAME=value. */
export async function buildImages(
  targets: readonly ImageTarget[],
  buildArgs: readonly string[],
  arch: Architecture = thisArchitecture,
): Promise<void> {
  const problem = architectureProblem(arch);
  if (problem !== null) throw new Error(problem);
  const revision = git('rev-parse', 'HEAD');
  const epoch = git('log', '-1', '--format=%ct');
  const created = new Date(Number(epoch) * 1000).toISOString();
  for (const target of targets) {
    if (target.after !== undefined && !(await hasImage(target.after.image))) {
      throw new Error(`${target.name} is built from ${target.after.name}; build that first`);
    }
    await ensureBaseImage(target.file, arch);
    if (target.base === 'alpine') await ensureAlpineImage(target.file, arch);
    const all = {
      VERSION: versionOf(target.file),
      REVISION: revision,
      CREATED: created,
      SOURCE_DATE_EPOCH: epoch,
      ...target.buildArgs,
    };
    const started = performance.now();
    await runShown(
      'buildah',
      // Docker's own format knows health checks; layers are kept for the next build.
      ...['build', '--format', 'docker', '--layers', '--pull=never', '--timestamp', epoch],
      ...['--arch', arch],
      ...['--file', target.file, '--target', target.stage, '--tag', target.image],
      ...surroundings(),
      ...Object.entries(all).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
      ...buildArgs.flatMap((pair) => ['--build-arg', pair]),
      '.',
    );
    const seconds = Math.round((performance.now() - started) / 1000);
    console.log(`built ${target.image} in ${seconds} s`);
  }
}
