/**
 * Files and folders for one user alone. Programs set `umask 077` when they start; this is for what an
 * earlier version, or a folder made by somebody else, has left open. A link is not followed, and what
 * belongs to another user stays as it is.
 */
import { chmodSync, lstatSync, readdirSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Every file and folder that a program makes from now on is its user's alone. */
export function makeFilesPrivate(): void {
  process.umask(0o077);
}

function statOf(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
}

/** Takes the rights of others from a file or a folder: at most 0600 and 0700 stay. */
export function tighten(path: string): void {
  const facts = statOf(path);
  if (facts === null || (facts.mode & 0o077) === 0) return;
  if (!facts.isFile() && !facts.isDirectory()) return;
  try {
    chmodSync(path, facts.mode & 0o700);
  } catch (error) {
    // Another user's, or a file system that knows no modes or is read-only.
    const { code } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'EROFS', 'ENOENT', 'ENOTSUP'].includes(code ?? '')) throw error;
  }
}

/** The same for a folder and all that is in it, but for the paths in `except`. */
export function tightenTree(folder: string, except: readonly string[] = []): void {
  if (except.includes(folder) || statOf(folder)?.isDirectory() !== true) return;
  const hasShared = except.some((path) => path.startsWith(`${folder}/`));
  if (!hasShared) tighten(folder);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) tightenTree(path, except);
    else if (!except.includes(path)) tighten(path);
  }
}

/** The same for an SQLite database and the files beside it that have its name, such as its log and its key. */
export function tightenDatabase(file: string): void {
  const folder = dirname(file);
  if (statOf(file) === null) return;
  for (const name of readdirSync(folder)) {
    if (name.startsWith(basename(file))) tighten(join(folder, name));
  }
}
