/** Finds out whether a folder can be written, by doing it, and leaves nothing behind. */
import { randomUUID } from 'node:crypto';
import { existsSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolders } from '@monitor/shared/private-files.ts';
import { codeOf } from '../net/failure.ts';

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

export interface FolderProblem {
  code: string;
  message: string;
}

/** What there is can be read, and room may be made. */
export const isFull = ({ code }: FolderProblem): boolean => /^(ENOSPC|EDQUOT|EFBIG)$/.test(code);

/** As large as a new outbox: limits of the size of files count from there. */
const probeBytes = 65_536;

/** Null when it worked. */
export function probeFolder(path: string): FolderProblem | null {
  const probe = join(path, `.probe-${randomUUID()}`);
  let made: string | undefined;
  try {
    made = makeFolders(path);
    // With content: an empty file fits onto a full disk.
    writeFileSync(probe, Buffer.alloc(probeBytes), { mode: 0o600, flag: 'wx' });
    return null;
  } catch (error) {
    return { code: codeOf(error), message: error instanceof Error ? error.message : String(error) };
  } finally {
    removeProbe(probe);
    if (made !== undefined) removeEmpty(path, made);
  }
}

/** Of an agent that runs: a file that was removed is written all the same, until its process ends. */
export function probeDataFolder(path: string): FolderProblem | null {
  const isThere = existsSync(join(path, 'outbox.db'));
  const message = 'outbox.db was removed while the agent runs: restart it';
  return probeFolder(path) ?? (isThere ? null : { code: 'REMOVED', message });
}
