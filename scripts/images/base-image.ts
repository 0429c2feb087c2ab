/**
 * The base image, for machines that reach no image registry: Debian's own packages, and Node from npm.
 * Tagged as the Dockerfiles name it, so that they need not know.
 */
import { execFileSync, spawnSync, type StdioOptions } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { architectureOf, thisArchitecture, type Architecture } from './architecture.ts';
import { buildah, missingProgram } from './buildah.ts';

const suite = 'bookworm';
const mirror = process.env['DEBIAN_MIRROR'] ?? 'http://deb.debian.org/debian';
const securityMirror =
  process.env['DEBIAN_SECURITY_MIRROR'] ?? 'http://deb.debian.org/debian-security';

/** The version of Node that the Dockerfiles ask for. */
export function nodeVersionOf(dockerfile: string): string {
  const version = /^ARG NODE_VERSION=(\S+)$/m.exec(readFileSync(dockerfile, 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${dockerfile} names no NODE_VERSION`);
  return version;
}

/** Node and its headers from the package that carries them for an architecture, npm from this machine. */
function installNode(root: string, version: string, arch: Architecture): void {
  const npm = process.env['npm_execpath'];
  if (npm === undefined) throw new Error('start this with "npm run images"');
  const name = `node-linux-${arch === 'amd64' ? 'x64' : 'arm64'}`;
  const folder = mkdtempSync(join(tmpdir(), 'node-'));
  try {
    // Asked for by name: npm would refuse a package for another machine.
    execFileSync(
      process.execPath,
      [npm, 'install', '--force', '--no-save', '--ignore-scripts', `${name}@${version}`],
      { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] },
    );
    const found = join(folder, 'node_modules', name);
    const local = join(root, 'usr/local');
    copyFileSync(join(found, 'bin/node'), join(local, 'bin/node'));
    execFileSync('cp', ['-r', join(found, 'include'), local]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const modules = join(root, 'usr/local/lib/node_modules');
  mkdirSync(modules, { recursive: true });
  execFileSync('cp', ['-r', realpathSync(join(npm, '..', '..')), join(modules, 'npm')]);
  for (const each of ['npm', 'npx']) {
    symlinkSync(`../lib/node_modules/npm/bin/${each}-cli.js`, join(root, 'usr/local/bin', each));
  }
}

/** Debian for another architecture is set up by its own programs: the kernel must know who runs them. */
function debootstrap(root: string, arch: Architecture): void {
  if (spawnSync('debootstrap', ['--version']).error !== undefined) {
    throw new Error(missingProgram('debootstrap'));
  }
  const quiet: StdioOptions = ['ignore', 'ignore', 'inherit'];
  const words = ['--variant=minbase', `--arch=${arch}`];
  if (arch === thisArchitecture) {
    execFileSync('debootstrap', [...words, suite, root, mirror], { stdio: quiet });
    return;
  }
  execFileSync('debootstrap', ['--foreign', ...words, suite, root, mirror], { stdio: quiet });
  execFileSync('chroot', [root, '/debootstrap/debootstrap', '--second-stage'], { stdio: quiet });
}

function makeRoot(root: string, version: string, arch: Architecture): void {
  debootstrap(root, arch);
  writeFileSync(
    join(root, 'etc/apt/sources.list'),
    [
      `deb ${mirror} ${suite} main`,
      `deb ${mirror} ${suite}-updates main`,
      `deb ${securityMirror} ${suite}-security main`,
      '',
    ].join('\n'),
  );
  execFileSync('sh', [
    '-c',
    'rm -rf "$0"/var/cache/apt/archives/*.deb "$0"/var/lib/apt/lists/* "$0"/usr/share/man/* "$0"/usr/share/locale/* "$0"/var/log/* "$0"/dev/*',
    root,
  ]);
  for (const file of ['etc/resolv.conf', 'etc/hostname']) rmSync(join(root, file), { force: true });
  installNode(root, version, arch);
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
  if ((await architectureOf(kept)) === arch) {
    await buildah('tag', kept, name);
    return;
  }
  try {
    await buildah('pull', '--arch', arch, name);
    await buildah('tag', name, kept);
    return;
  } catch {
    console.log(`${name} cannot be pulled; making it from packages of Debian and npm`);
  }
  const folder = mkdtempSync(join(tmpdir(), 'base-image-'));
  try {
    const root = join(folder, 'root');
    makeRoot(root, version, arch);
    const container = await buildah('from', '--arch', arch, 'scratch');
    await buildah('add', '--quiet', container, root, '/');
    await buildah(
      ...['config', '--arch', arch, '--env', `NODE_VERSION=${version}`],
      ...['--env', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
      container,
    );
    await buildah('commit', '--quiet', '--rm', container, kept);
    await buildah('tag', kept, name);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
