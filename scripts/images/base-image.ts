/**
 * The base image, for machines that reach no image registry: Debian's own packages, and Node from npm.
 * Tagged as the Dockerfiles name it, so that they need not know.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
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
import { buildah, hasImage } from './buildah.ts';

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

/** Node as the packages of this repository bring it. */
function installNode(root: string, version: string): void {
  if (process.versions.node !== version) {
    throw new Error(
      `the Dockerfiles ask for Node ${version} and the package "node" of this repository is ${process.versions.node}; make them the same`,
    );
  }
  copyFileSync(realpathSync(process.execPath), join(root, 'usr/local/bin/node'));
  const npm = process.env['npm_execpath'];
  if (npm === undefined) throw new Error('start this with "npm run images"');
  const modules = join(root, 'usr/local/lib/node_modules');
  mkdirSync(modules, { recursive: true });
  execFileSync('cp', ['-r', realpathSync(join(npm, '..', '..')), join(modules, 'npm')]);
  for (const name of ['npm', 'npx']) {
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(root, 'usr/local/bin', name));
  }
}

function makeRoot(root: string, version: string): void {
  execFileSync('debootstrap', ['--variant=minbase', suite, root, mirror], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
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
  installNode(root, version);
}

/** Makes sure that the base image is in the store: the registry's, or else one of our own making. */
export async function ensureBaseImage(dockerfile: string): Promise<void> {
  const version = nodeVersionOf(dockerfile);
  const name = `docker.io/library/node:${version}-${suite}-slim`;
  if (await hasImage(name)) return;
  try {
    await buildah('pull', name);
    return;
  } catch {
    console.log(`${name} cannot be pulled; making it from packages of Debian and npm`);
  }
  const folder = mkdtempSync(join(tmpdir(), 'base-image-'));
  try {
    const root = join(folder, 'root');
    makeRoot(root, version);
    if (!existsSync(join(root, 'usr/bin/perl'))) throw new Error('the base has no perl');
    const container = await buildah('from', 'scratch');
    await buildah('add', '--quiet', container, root, '/');
    await buildah(
      ...['config', '--env', `NODE_VERSION=${version}`],
      ...['--env', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
      container,
    );
    await buildah('commit', '--quiet', '--rm', container, name);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
