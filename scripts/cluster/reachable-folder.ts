import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';

const traversableByOthers = 0o001;

function isReachable(folder: string): boolean {
  const stat = statSync(folder, { throwIfNoEntry: false });
  if (stat === undefined || (stat.mode & traversableByOthers) === 0) return false;
  return folder === '/' || isReachable(dirname(folder));
}

/**
 * Where temporary files go that a program of another user reads: the folder of this user, unless others cannot
 * reach it, as one that a session has for itself.
 */
export function reachableFolder(own = tmpdir()): string {
  return [own, '/tmp', '/var/tmp', '/dev/shm'].find(isReachable) ?? own;
}
