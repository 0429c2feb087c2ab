/** The self-test of an installed runtime: its Node starts, and every one of its packages loads. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { findOfSystem } from '../system/find-program.ts';
import { sheddingRightsOfInstallations } from '../system/shed-rights.ts';
import { loadPackage } from './load-package.ts';
import { fingerprintOf, writeVerification, type Verification } from './verified.ts';

const run = promisify(execFile);
const startWithinMs = 20_000;

export interface Progress {
  phase: 'packages' | 'verification';
  done: number;
  total: number;
}

export interface VerifyOptions {
  id: string;
  folder: string;
  now: () => number;
  /** Exact versions that must be there; by default what `package.json` of the folder asks for. */
  packages?: Readonly<Record<string, string>>;
  onProgress?: (progress: Progress) => void;
  signal?: AbortSignal;
}

const manifest = z.object({
  version: z.string().default(''),
  dependencies: z.record(z.string(), z.string()).default({}),
});

function readManifest(folder: string): z.output<typeof manifest> {
  return manifest.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
}

/** Where the Node of an installed runtime is. */
export const nodePathOf = (folder: string): string => join(folder, 'node_modules', '.bin', 'node');

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true });
  const sizes = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? sizeOf(path) : (await lstat(path)).size;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function versionOf(words: readonly string[], cwd: string): Promise<string> {
  const [command = '', ...args] = words;
  const { stdout } = await run(command, args, {
    cwd,
    timeout: startWithinMs,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: cwd, TZ: 'UTC' },
  });
  return stdout.trim().replace(/^(Version )?v?/, '');
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
}

interface Failure {
  package: string;
  error: string;
}

async function checkNode(
  prefix: readonly string[],
  folder: string,
  failures: Failure[],
): Promise<string> {
  try {
    return await versionOf([...prefix, nodePathOf(folder), '--version'], folder);
  } catch (error) {
    const path = nodePathOf(folder);
    const problem = existsSync(path) ? reasonOf(error) : `${path} is not there`;
    failures.push({ package: 'node', error: `does not start: ${problem}` });
    return '';
  }
}

/** Playwright must start and be the version its package says: browsers are chosen by it. */
async function checkPlaywright(
  prefix: readonly string[],
  folder: string,
  installed: string | undefined,
  failures: Failure[],
): Promise<string | null> {
  if (installed === undefined) return null;
  const cli = join(folder, 'node_modules', 'playwright', 'cli.js');
  try {
    const version = await versionOf([...prefix, nodePathOf(folder), cli, '--version'], folder);
    if (version !== installed) {
      failures.push({ package: 'playwright', error: `says it is ${version}, not ${installed}` });
    }
    return version;
  } catch (error) {
    failures.push({ package: 'playwright', error: `does not start: ${reasonOf(error)}` });
    return null;
  }
}

/**
 * Loads every package with the runtime's own Node and writes what it found to `verified.json`. A
 * runtime with a failure is not offered to checks.
 */
export async function verifyRuntime(options: VerifyOptions): Promise<Verification> {
  const { id, folder, now, onProgress, signal } = options;
  const wanted = options.packages ?? readManifest(folder).dependencies;
  const names = Object.keys(wanted);
  const failures: Failure[] = [];
  const packages: Record<string, string> = {};
  const prefix = sheddingRightsOfInstallations(findOfSystem('setpriv'));
  const nodeVersion = await checkNode(prefix, folder, failures);
  let done = 0;
  const queue = nodeVersion === '' ? [] : [...names];
  const work = async (): Promise<void> => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      signal?.throwIfAborted();
      const error = await checkPackage(
        { prefix, folder, name, packages },
        wanted[name] ?? '',
        signal,
      );
      if (error !== null) failures.push({ package: name, error });
      done += 1;
      onProgress?.({ phase: 'verification', done, total: names.length });
    }
  };
  await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, work));
  signal?.throwIfAborted();
  const found: Verification = {
    id,
    fingerprint: fingerprintOf(folder),
    verifiedAt: now(),
    nodeVersion,
    playwrightVersion:
      nodeVersion === ''
        ? null
        : await checkPlaywright(prefix, folder, packages['playwright'], failures),
    packages: Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1))),
    failures: failures.sort((a, b) => (a.package < b.package ? -1 : 1)),
    sizeBytes: await sizeOf(folder),
  };
  writeVerification(folder, found);
  return found;
}

interface Candidate {
  /** What stands before each command. */
  prefix: readonly string[];
  folder: string;
  name: string;
  /** Versions that were found. */
  packages: Record<string, string>;
}

async function checkPackage(
  { prefix, folder, name, packages }: Candidate,
  wanted: string,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  let version: string;
  try {
    ({ version } = readManifest(join(folder, 'node_modules', name)));
  } catch {
    return 'is not installed';
  }
  packages[name] = version;
  if (/^\d/.test(wanted) && version !== wanted) return `is ${version}, not ${wanted}`;
  return loadPackage([...prefix, nodePathOf(folder)], folder, name, signal);
}
