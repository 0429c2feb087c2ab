/** What the processes of a run use of this machine. */
import { lstatSync, readdirSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as others } from 'node:timers/promises';
import { linkOf, readOf } from './processes.ts';

/** Bytes of a page of /proc/PID/statm on the machines that runs are limited on. */
const pageBytes = 4_096;
const blockBytes = 512;
/** Folders where every user may write. */
const sharedFolders = ['/tmp', '/var/tmp', '/dev/shm'];

/**
 * Bytes of memory that processes have together. What they share is counted once; measured in full
 * only when that decides whether it is more than `limit`.
 */
export function memoryOf(pids: readonly number[], limit: number): number {
  let [resident, own, mostShared] = [0, 0, 0];
  for (const pid of pids) {
    const [, all = 0, shared = 0] = readOf(pid, 'statm').split(' ').map(Number);
    resident += all;
    own += all - shared;
    mostShared = Math.max(mostShared, shared);
  }
  const estimate = (own + mostShared) * pageBytes;
  if (resident * pageBytes <= limit || estimate > limit) return estimate;
  const proportional = pids.reduce((sum, pid) => {
    const kib = /^Pss:\s+(\d+)/m.exec(readOf(pid, 'smaps_rollup'))?.[1];
    return sum + Number(kib ?? 0) * 1_024;
  }, 0);
  return Math.max(proportional, estimate);
}

/** Names may be of any bytes: as latin1 none is lost. */
const bytesOf = (path: string): Buffer => Buffer.from(path, 'latin1');

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(bytesOf(folder), { encoding: 'latin1' });
  } catch {
    return [];
  }
}

/** Null for what is gone or must not be looked at. */
function factsOf(path: string, stat: (path: Buffer) => Stats): Stats | null {
  try {
    return stat(bytesOf(path));
  } catch {
    return null;
  }
}

interface Disk {
  bytes: number;
  files: number;
}

/** The ids of the mounts that processes see. */
function mountsOf(pids: readonly (number | 'self')[]): Set<string> {
  const lines = pids.flatMap((pid) => readOf(pid, 'mountinfo').split('\n'));
  return new Set(lines.map((line) => line.slice(0, line.indexOf(' '))));
}

/**
 * Files that have no name any more still take room. Those of mounts that a program made are left out:
 * its own file system need not answer, and the agent would wait for it.
 */
function addNameless(used: Disk, pids: readonly number[], mounts: ReadonlySet<string>): void {
  const seen = new Set<string>();
  for (const pid of pids) {
    for (const descriptor of entriesOf(`/proc/${pid}/fd`)) {
      if (!linkOf(pid, `fd/${descriptor}`).endsWith(' (deleted)')) continue;
      const [, mount = ''] = /^mnt_id:\s+(\d+)/m.exec(readOf(pid, `fdinfo/${descriptor}`)) ?? [];
      if (!mounts.has(mount)) continue;
      const facts = factsOf(`/proc/${pid}/fd/${descriptor}`, statSync);
      if (facts === null || !facts.isFile() || facts.nlink > 0) continue;
      const name = `${facts.dev}:${facts.ino}`;
      if (!seen.has(name)) used.bytes += facts.blocks * blockBytes;
      seen.add(name);
    }
  }
}

export interface DiskLimits {
  readonly diskBytes: number;
  readonly files: number;
}

/** Longer paths cannot be looked at, and no honest program makes them. */
const longestPath = 3_800;

/** How long a look at files may hold up everything else. */
const sliceMs = 2;

/** Counts the time that work takes of this thread, and lets others have their turn. */
class Slices {
  #beforeMs = 0;
  #since = performance.now();

  get tookMs(): number {
    return this.#beforeMs + performance.now() - this.#since;
  }

  async letOthers(): Promise<void> {
    const tookMs = performance.now() - this.#since;
    if (tookMs < sliceMs) return;
    this.#beforeMs += tookMs;
    await others();
    this.#since = performance.now();
  }
}

/** What a user has in the folders that are open to all. */
export async function* sharedFilesOf(uid: number, slices = new Slices()): AsyncGenerator<string> {
  for (const shared of sharedFolders) {
    for (const name of entriesOf(shared)) {
      const path = join(shared, name);
      if (factsOf(path, lstatSync)?.uid === uid) yield path;
      await slices.letOthers();
    }
  }
}

export interface DiskUse {
  readonly isTooMuch: boolean;
  /** Time that the look took of this thread. */
  readonly tookMs: number;
}

/**
 * Whether a folder, files without a name that processes have open, and what a user has in the shared
 * folders are together more than the limits. `wrappers` are processes that the agent put
 * around the program, in the mounts of the run.
 */
export async function lookAtDisk(
  folder: string,
  uid: number | null,
  { pids, wrappers }: { pids: readonly number[]; wrappers: readonly number[] },
  limits: DiskLimits,
): Promise<DiskUse> {
  const slices = new Slices();
  const used: Disk = { bytes: 0, files: 0 };
  const isTooMuch = (): boolean => used.bytes > limits.diskBytes || used.files > limits.files;
  const folders = [Buffer.from(folder).toString('latin1')];
  const add = (path: string): void => {
    const facts = factsOf(path, lstatSync);
    if (facts === null) return;
    used.files += 1;
    used.bytes += facts.blocks * blockBytes;
    if (facts.isDirectory()) folders.push(path);
  };
  const isFull = async (): Promise<boolean> => {
    addNameless(used, pids, mountsOf(['self', ...wrappers]));
    if (uid !== null) for await (const path of sharedFilesOf(uid, slices)) add(path);
    for (let next = folders.pop(); next !== undefined && !isTooMuch(); next = folders.pop()) {
      if (next.length > longestPath) return true;
      for (const name of entriesOf(next)) {
        add(`${next}/${name}`);
        if (isTooMuch()) return true;
        await slices.letOthers();
      }
    }
    return isTooMuch();
  };
  return { isTooMuch: await isFull(), tookMs: slices.tookMs };
}
