/** Finds out whether a folder can be written, by doing it, and leaves nothing behind. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

/** Null when it worked. */
export function probeFolder(path: string): { code: string; message: string } | null {
  const probe = join(path, `.probe-${randomUUID()}`);
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
