/** Programs of this machine. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where programs are looked for without PATH. */
export const defaultPath = '/usr/bin:/bin';

function findIn(folders: readonly string[], program: string): string | null {
  for (const folder of folders) {
    const file = join(folder, program);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

/** The first in the folders of PATH, or null. */
export function findOnPath(
  program: string,
  environment: Readonly<Record<string, string | undefined>>,
): string | null {
  return findIn((environment['PATH'] ?? defaultPath).split(delimiter), program);
}

/** Where the system has a program, whatever PATH says, or null. */
export function findOfSystem(program: 'bwrap' | 'setpriv' | 'unshare'): string | null {
  return findIn(['/usr/bin', '/usr/local/bin', '/bin'], program);
}
