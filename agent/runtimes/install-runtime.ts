/** Puts a runtime into the runtimes folder: whole and tested, or not at all. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { AgentError } from '../errors.ts';
import { listRuntimes } from './installed-runtimes.ts';
import { runNpm } from './npm.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { manifestOf, thisPlatform, type RuntimePlan } from './runtime-plan.ts';
import type { Verification } from './verified.ts';
import { nodePathOf, verifyRuntime, type Progress } from './verify-runtime.ts';

/** A runtime takes up to 1.1 GB, and npm keeps what it downloads. */
const roomNeededBytes = 1_600_000_000;

export interface InstallOptions {
  plan: RuntimePlan;
  /** The folder of all runtimes. */
  directory: string;
  environment: Readonly<Record<string, string | undefined>>;
  now: () => number;
  /** Replaces one that is ready. */
  force?: boolean;
  freeBytes?: (directory: string) => number;
  onProgress?: (progress: Progress) => void;
  /** Given the folder when its packages are there and not yet tested. */
  onUnpacked?: (folder: string) => void;
  signal?: AbortSignal;
}

export interface Installation {
  /** False when it was there already. */
  isNew: boolean;
  verification: Verification;
}

function freeBytesOf(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

function requireRoom({ plan, directory, freeBytes = freeBytesOf }: InstallOptions): void {
  const free = freeBytes(directory);
  if (free >= roomNeededBytes) return;
  const megabytes = (bytes: number): string => `${Math.floor(bytes / 1e6)} MB`;
  throw new AgentError(
    'RUNTIME_BROKEN',
    `runtime ${plan.id} needs ${megabytes(roomNeededBytes)} while it is installed, and ${directory} has ${megabytes(free)}; make room or name another folder with AGENT_RUNTIMES_DIR`,
  );
}

/** Files that say what to install. What an earlier attempt left stays, and npm makes use of it. */
function prepare(plan: RuntimePlan, folder: string): void {
  mkdirSync(folder, { recursive: true });
  // The agent makes private files, and runs have users of their own.
  chmodSync(folder, 0o755);
  if (plan.lockFolder === null) {
    rmSync(join(folder, 'package-lock.json'), { force: true });
    writeFileSync(join(folder, 'package.json'), manifestOf(plan));
    return;
  }
  for (const name of ['package.json', 'package-lock.json']) {
    copyFileSync(join(plan.lockFolder, name), join(folder, name));
  }
}

function packagesInLock(folder: string): number {
  try {
    const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, unknown>;
    };
    return Object.keys(packages).length - 1;
  } catch {
    return 0;
  }
}

async function fetchPackages(options: InstallOptions, folder: string): Promise<void> {
  const { plan, environment, onProgress, signal } = options;
  prepare(plan, folder);
  const total = plan.lockFolder === null ? 0 : packagesInLock(folder);
  let done = 0;
  onProgress?.({ phase: 'packages', done, total });
  await runNpm({
    args: plan.lockFolder === null ? ['install'] : ['ci'],
    folder,
    environment,
    ...(signal === undefined ? {} : { signal }),
    onFetched() {
      done += 1;
      onProgress?.({ phase: 'packages', done, total: Math.max(done, total) });
    },
  });
  if (!existsSync(nodePathOf(folder))) {
    throw new AgentError(
      'RUNTIME_BROKEN',
      `runtime ${plan.id} needs Node ${plan.nodeVersion}, and the registry has none for ${thisPlatform}; install the runtime on linux-x64`,
    );
  }
}

function failuresOf({ failures }: Verification): string {
  return failures.map((failure) => `  ${failure.package}: ${failure.error}`).join('\n');
}

function moveIntoPlace(from: string, to: string): void {
  const aside = `${to}.old`;
  rmSync(aside, { recursive: true, force: true });
  if (existsSync(to)) renameSync(to, aside);
  renameSync(from, to);
  rmSync(aside, { recursive: true, force: true });
}

/**
 * Installs a runtime into `<id>.partial`, tests every package, and only then gives it its name. An
 * interrupted installation is continued by the next one, and begun anew when what it left does not work. Throws RUNTIME_BROKEN with the cause and
 * what to do.
 */
export async function installRuntime(options: InstallOptions): Promise<Installation> {
  const { plan, directory, now, force = false, onProgress, onUnpacked, signal } = options;
  return oneAtATime(directory, async () => {
    const present = listRuntimes(directory).find(
      ({ id, state }) => id === plan.id && state === 'ready',
    );
    if (present?.verification && !force) {
      return { isNew: false, verification: present.verification };
    }
    requireRoom(options);
    const partial = join(directory, `${plan.id}.partial`);
    const unpack = async (): Promise<Verification> => {
      try {
        await fetchPackages(options, partial);
      } catch (error) {
        if (!(error instanceof AgentError)) throw error;
        throw new AgentError(
          error.code,
          `runtime ${plan.id} could not be installed into ${directory}: ${error.message}`,
          { cause: error },
        );
      }
      onUnpacked?.(partial);
      const found = await verifyRuntime({
        id: plan.id,
        folder: partial,
        packages: plan.packages,
        now,
        ...(onProgress === undefined ? {} : { onProgress }),
        ...(signal === undefined ? {} : { signal }),
      });
      // npm takes what is half unpacked for done. What it has fetched is in its cache.
      if (found.failures.length > 0) rmSync(partial, { recursive: true, force: true });
      return found;
    };
    const isResumed = existsSync(partial);
    let verification = await unpack();
    if (isResumed && verification.failures.length > 0) verification = await unpack();
    if (verification.failures.length > 0) {
      throw new AgentError(
        'RUNTIME_BROKEN',
        `runtime ${plan.id} was fetched, but does not work here and is not offered to checks:\n${failuresOf(verification)}`,
      );
    }
    moveIntoPlace(partial, join(directory, plan.id));
    return { isNew: true, verification };
  });
}

/** Removes a runtime and what an unfinished installation of it left. Gives false when there was neither. */
export function removeRuntime(directory: string, id: string): Promise<boolean> {
  return oneAtATime(directory, () => {
    const found = [id, `${id}.partial`, `${id}.old`]
      .map((name) => join(directory, name))
      .filter((folder) => existsSync(folder));
    // Renamed first, so that no run sees an incomplete runtime.
    for (const folder of found) {
      const doomed = `${folder}.removed`;
      rmSync(doomed, { recursive: true, force: true });
      renameSync(folder, doomed);
      rmSync(doomed, { recursive: true, force: true });
    }
    return Promise.resolve(found.length > 0);
  });
}
