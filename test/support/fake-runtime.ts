/** A runtime of a few local packages: installed by the real npm, without a network. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RuntimePlan } from '../../agent/runtimes/runtime-plan.ts';

/** Writes a package and gives what stands for its version in a `package.json`. */
export function writePackage(folder: string, name: string, files: Record<string, string>): string {
  const target = join(folder, 'packages', name);
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, 'package.json'), JSON.stringify({ name, version: '1.0.0' }));
  for (const [file, content] of Object.entries(files)) writeFileSync(join(target, file), content);
  return `file:${target}`;
}

/** A package that brings this very Node, the way the real ones bring theirs. */
export function writeNodePackage(folder: string): string {
  const target = join(folder, 'packages', 'fake-node');
  mkdirSync(target, { recursive: true });
  writeFileSync(
    join(target, 'package.json'),
    JSON.stringify({ name: 'fake-node', version: '1.0.0', bin: { node: 'node.sh' } }),
  );
  writeFileSync(join(target, 'node.sh'), `#!/bin/sh\nexec "${process.execPath}" "$@"\n`);
  chmodSync(join(target, 'node.sh'), 0o755);
  return `file:${target}`;
}

/** A plan of these packages for a runtime. */
export function fakePlan(
  folder: string,
  packages: Record<string, string>,
  id = '2026.04',
): RuntimePlan {
  return {
    id,
    packages,
    nodePackages: { 'fake-node': writeNodePackage(folder) },
    ...{ nodeVersion: process.versions.node, substitutions: [], heldBack: {}, lockFolder: null },
  };
}

/** What an installation needs of the environment. */
export const npmEnvironment = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
