/** Why a folder cannot be written, and what helps. */
import { fail, type Finding } from './finding.ts';
import { nearestFolder, type Machine } from './machine.ts';

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
): Finding[] {
  if (problem === null) return [];
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
