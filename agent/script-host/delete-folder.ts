/** Deleting what a run leaves, whatever it did to it. Its processes must be gone. */
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { sharedFilesOf } from './usage.ts';

const execute = promisify(execFile);

/**
 * Deletes a folder; links in it are never followed. What Node cannot delete (paths longer than the
 * system takes, folders without permissions) is left to the programs that can.
 */
export async function deleteFolder(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
    return;
  } catch {
    // The ordinary way out for hostile folders.
  }
  const options = { env: { PATH: '/usr/bin:/bin' }, cwd: '/' };
  await execute('chmod', ['-R', 'u+rwx', '--', folder], options).catch(() => undefined);
  await execute('rm', ['-rf', '--', folder], options);
}

/** Deletes what a user left in the folders that are open to all. */
export async function deleteSharedFilesOf(uid: number): Promise<void> {
  for await (const path of sharedFilesOf(uid)) await deleteFolder(path);
}
