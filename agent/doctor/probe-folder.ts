/** Finds out whether a folder can be written, by doing it, and leaves nothing behind. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../net/failure.ts';
import { fail, type Finding } from './finding.ts';
import { nearestFolder, type Machine } from './machine.ts';

/** Folders that were made, innermost first; `made` is the outermost. */
function removeEmpty(path: string, made: string): void {
  for (let folder = path; folder.startsWith(made); folder = dirname(folder)) {
    try {
      rmdirSync(folder);
    } catch {
      // Another process has begun to use it.
      return;
    }
  }
}

/** A probe that was begun may have a part on a full disk. One that was not cannot even be asked for. */
function removeProbe(probe: string): void {
  try {
    rmSync(probe, { force: true });
  } catch {
    // A user who may not enter the folder has written nothing there.
  }
}

/** Null when it worked. */
export function probeFolder(path: string): { code: string; message: string } | null {
  const probe = join(path, `.doctor-${randomUUID()}`);
  let made: string | undefined;
  try {
    made = mkdirSync(path, { recursive: true, mode: 0o700 });
    // With content: an empty file fits onto a full disk.
    writeFileSync(probe, 'x'.repeat(4_096), { mode: 0o600, flag: 'wx' });
    return null;
  } catch (error) {
    return { code: codeOf(error), message: error instanceof Error ? error.message : String(error) };
  } finally {
    removeProbe(probe);
    if (made !== undefined) removeEmpty(path, made);
  }
}

export interface WritingFacts {
  path: string;
  /** Code and words of a failed attempt to write; null where it worked, or an agent shows that it does. */
  problem: { code: string; message: string } | null;
  owner: ReturnType<typeof ownerOf>;
  uid: number;
}

/** Of the folder, or of the nearest one above it. */
export function ownerOf(
  machine: Machine,
  path: string,
): { folder: string; uid: number; gid: number; mode: number } | null {
  const folder = nearestFolder(machine, path);
  const stat = machine.stat(folder);
  return stat === null ? null : { folder, uid: stat.uid, gid: stat.gid, mode: stat.mode & 0o7777 };
}

/** Why a folder cannot be written. `mount` is what keeps it writable on a system that is read-only. */
export function judgeWriting(
  { path, problem, owner, uid }: WritingFacts,
  { setting, mount }: { setting: string; mount: string },
): Finding | null {
  if (problem === null) return null;
  const { code, message } = problem;
  const whose =
    owner === null
      ? ''
      : ` (${owner.folder} is owned by ${owner.uid}:${owner.gid}, mode ${owner.mode.toString(8)}; this is uid ${uid})`;
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return fail(
        `${path} cannot be written${whose}`,
        `mkdir -p ${path} && chown -R ${uid} ${path}, or run as its owner, or set ${setting} to another folder; in Kubernetes set fsGroup`,
      );
    case 'ENOSPC':
      return fail(
        `${path}: no space is left, or no inode`,
        `make room on that disk (see df -h and df -i), or set ${setting} to a folder on another one`,
      );
    case 'EDQUOT':
      return fail(`${path}: the quota of uid ${uid} is used up`, 'raise the quota, or make room');
    case 'ENOTDIR':
    case 'EEXIST':
      return fail(`${path} is, or lies below, a file`, `set ${setting} to a folder`);
    case 'EROFS':
      return fail(
        `${setting} (${path}) lies on a read-only file system`,
        `mount ${mount} at ${path}`,
      );
    default:
      return fail(`${path} cannot be written: ${message}`, `set ${setting} to another folder`);
  }
}
