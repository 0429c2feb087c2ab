/**
 * Files in a folder that others can change at any time. A path is walked one step at a time through
 * open descriptors, so that no link, wherever it is put and whenever, leads out of the folder: the
 * agent may well be allowed to write where the run is not.
 */
import { constants } from 'node:fs';
import { chown, mkdir, open, rm, type FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { AgentError } from '../errors.ts';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** The steps of a relative path. Throws RUNNER_BROKEN when it is absolute or leaves its folder. */
export function stepsOf(path: string): string[] {
  const normal = posix.normalize(path);
  const steps = normal.split('/').filter((step) => step !== '' && step !== '.');
  if (posix.isAbsolute(normal) || steps.includes('..') || path.includes('\0')) {
    throw new AgentError(
      'RUNNER_BROKEN',
      `${JSON.stringify(path)} is not inside the folder of the run; give a relative path without ".."`,
    );
  }
  return steps;
}

const at = (folder: FileHandle, name: string): string => `/proc/self/fd/${folder.fd}/${name}`;

async function descend(
  folder: string,
  steps: readonly string[],
  onMissing: ((path: string) => Promise<void>) | null,
): Promise<FileHandle> {
  let current = await open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    for (const step of steps) {
      const path = at(current, step);
      if (onMissing !== null) await onMissing(path);
      const next = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      await current.close();
      current = next;
    }
    return current;
  } catch (error) {
    await current.close();
    throw error;
  }
}

/** Who owns what is written; null for the user of this process. */
export type Owner = { readonly uid: number; readonly gid: number } | null;

/** Makes a folder and those on the way. */
export async function makeFolderInside(folder: string, path: string, owner: Owner): Promise<void> {
  const handle = await descend(folder, stepsOf(path), (missing) => makeFolder(missing, owner));
  await handle.close();
}

async function makeFolder(path: string, owner: Owner): Promise<void> {
  try {
    await mkdir(path, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  if (owner !== null) await chown(path, owner.uid, owner.gid);
}

/** Writes a file; folders on the way are made. */
export async function writeInside(
  folder: string,
  path: string,
  content: string | Uint8Array,
  owner: Owner,
): Promise<void> {
  const steps = stepsOf(path);
  const name = steps.pop();
  if (name === undefined) throw new AgentError('RUNNER_BROKEN', 'a file of a run needs a name');
  const parent = await descend(folder, steps, (missing) => makeFolder(missing, owner));
  try {
    // Always a new file: an existing one may be a link or belong to another user.
    await rm(at(parent, name), { force: true });
    const file = await open(at(parent, name), O_WRONLY | O_CREAT | O_EXCL, 0o600);
    try {
      if (owner !== null) await file.chown(owner.uid, owner.gid);
      await file.writeFile(content);
    } finally {
      await file.close();
    }
  } finally {
    await parent.close();
  }
}

/**
 * Opens a file that a run has written, for reading. Null when it is not there or is anything but a
 * plain file of the run with one name: a link would make the agent read what the run cannot.
 */
export async function openInside(
  folder: string,
  path: string,
  owner: Owner,
): Promise<FileHandle | null> {
  const steps = stepsOf(path);
  const name = steps.pop();
  if (name === undefined) return null;
  const missing = (error: unknown): null => {
    const { code } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO', 'EACCES'].includes(code ?? '')) return null;
    throw error;
  };
  const parent = await descend(folder, steps, null).catch(missing);
  if (parent === null) return null;
  try {
    const file = await open(at(parent, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(missing);
    if (file === null) return null;
    const facts = await file.stat();
    const uid = owner?.uid ?? process.getuid?.();
    if (facts.isFile() && facts.nlink === 1 && facts.uid === uid) return file;
    await file.close();
    return null;
  } finally {
    await parent.close();
  }
}
