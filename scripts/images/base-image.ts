/** The base images in the store of this machine, tagged as the Dockerfiles name them. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { architectureOf, type Architecture } from './architecture.ts';
import { buildah, missingProgram, runShown } from './buildah.ts';

const suite = 'bookworm';

/** The version of Node that the Dockerfiles ask for. */
export function nodeVersionOf(dockerfile: string): string {
  const version = /^ARG NODE_VERSION=(\S+)$/m.exec(readFileSync(dockerfile, 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${dockerfile} names no NODE_VERSION`);
  return version;
}

/** Makes sure that Node on Alpine is in the store. It comes from a registry alone: throws where that cannot be reached. */
export async function ensureAlpineImage(dockerfile: string, arch: Architecture): Promise<void> {
  const name = `docker.io/library/node:${nodeVersionOf(dockerfile)}-alpine`;
  if ((await architectureOf(name)) === arch) return;
  try {
    await buildah('pull', '--arch', arch, name);
  } catch (error) {
    const why = error instanceof Error ? error.message.trim().split('\n').at(-1) : String(error);
    throw new Error(
      `${name} cannot be pulled, and there is no other way to it: ${why}. Load it into the store of this machine, or build "uptime"`,
      { cause: error },
    );
  }
}

/** Makes sure that the base image is in the store: the registry's, or else one of our own making. */
export async function ensureBaseImage(dockerfile: string, arch: Architecture): Promise<void> {
  const version = nodeVersionOf(dockerfile);
  const name = `docker.io/library/node:${version}-${suite}-slim`;
  if ((await architectureOf(name)) === arch) return;
  // The Dockerfiles know one name for every architecture; this one keeps each.
  const kept = `localhost/node:${version}-${suite}-slim-${arch}`;
  if ((await architectureOf(kept)) !== arch) {
    const isPulled = await buildah('pull', '--arch', arch, name).then(
      () => true,
      () => false,
    );
    if (isPulled) {
      await buildah('tag', name, kept);
      return;
    }
    console.log(`${name} cannot be pulled; making it from packages of Debian and npm`);
    if (spawnSync('debootstrap', ['--version']).error !== undefined)
      throw new Error(missingProgram('debootstrap'));
    const script = join(import.meta.dirname, 'base-image.sh');
    await runShown('sh', script, kept, version, suite, arch);
  }
  await buildah('tag', kept, name);
}
