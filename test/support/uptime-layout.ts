/**
 * The folder that the uptime image has, put together from the packages of this repository: what the lock
 * file says `npm ci --omit=dev --omit=optional` installs for the agent, stripped as in the image.
 */
import { copyFileSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isUnread } from '../../scripts/images/inside/strip-packages.ts';

interface Locked {
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

/** Where npm put a package for one that needs it: the nearest folder upwards. */
function placeOf(name: string, from: string, packages: Record<string, Locked>): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const place = folder === '.' ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (packages[place] !== undefined) return place;
    if (folder === '.') return null;
  }
}

/** The places of the packages that the agent needs, as `node_modules/zod`. */
export function packagesOfUptime(): string[] {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, Locked>;
  };
  const found = new Set<string>();
  const visit = (place: string): void => {
    const {
      dependencies = {},
      peerDependencies = {},
      peerDependenciesMeta = {},
    } = packages[place] ?? {};
    const peers = Object.keys(peerDependencies).filter(
      (name) => peerDependenciesMeta[name]?.optional !== true,
    );
    for (const name of [...Object.keys(dependencies), ...peers]) {
      if (name === '@monitor/shared') {
        if (!found.has('shared')) visit('shared');
        found.add('shared');
        continue;
      }
      const next = placeOf(name, place, packages);
      if (next === null || found.has(next)) continue;
      found.add(next);
      visit(next);
    }
  };
  visit('agent');
  found.delete('shared');
  return [...found].sort();
}

/** Links where that is possible: nobody writes to these files. */
function place(file: string, target: string): void {
  try {
    linkSync(file, target);
  } catch {
    copyFileSync(file, target);
  }
}

function layOut(from: string, to: string, isLeftOut: (path: string) => boolean, path = ''): void {
  mkdirSync(join(to, path), { recursive: true });
  for (const entry of readdirSync(join(from, path), { withFileTypes: true })) {
    const inner = path === '' ? entry.name : `${path}/${entry.name}`;
    if (entry.name === 'node_modules' || isLeftOut(inner)) continue;
    if (entry.isDirectory()) layOut(from, to, isLeftOut, inner);
    else if (entry.isFile()) place(join(from, inner), join(to, inner));
  }
}

/** Puts it all into a folder. */
export function layOutUptime(folder: string): void {
  for (const name of packagesOfUptime()) layOut(name, join(folder, name), isUnread);
  for (const workspace of ['agent', 'shared']) {
    layOut(workspace, join(folder, workspace), (path) => path.endsWith('README.md'));
  }
  mkdirSync(join(folder, 'node_modules/@monitor'), { recursive: true });
  symlinkSync('../../shared', join(folder, 'node_modules/@monitor/shared'));
}
