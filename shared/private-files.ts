/**
 * Private files, folders and memory. Programs set `umask 077` at their start; this repairs what earlier
 * versions or other users left readable. Links are not followed, and files of other users are left
 * alone.
 */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  type Stats,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** New files and folders are readable by their owner only. */
export function makeFilesPrivate(): void {
  process.umask(0o077);
}

/** Without a listener, SIGUSR1 opens a debugger at which every program of the machine may read the memory. */
export function refuseDebugger(): void {
  process.on('SIGUSR1', () => undefined);
}

const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/**
 * Makes a folder and those above it; gives the outermost that was made. Of all together Node says ENOENT where
 * the first cannot be made, or tries for ever, as in /proc.
 */
export function makeFolders(path: string): string | undefined {
  if (isFolder(path)) return undefined;
  let first = path;
  while (!existsSync(dirname(first))) first = dirname(first);
  try {
    mkdirSync(first, { mode: 0o700 });
  } catch (error) {
    // Another process that starts may have made it just now.
    if (!isFolder(first)) throw error;
  }
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return first;
}

function statOf(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
}

/** Removes the rights of group and others: at most 0600 and 0700 remain. */
export function tighten(path: string): void {
  const facts = statOf(path);
  if (facts === null || (facts.mode & 0o077) === 0) return;
  if (!facts.isFile() && !facts.isDirectory()) return;
  try {
    chmodSync(path, facts.mode & 0o700);
  } catch (error) {
    // A file of another user, or a file system without modes or read-only.
    const { code } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'EROFS', 'ENOENT', 'ENOTSUP'].includes(code ?? '')) throw error;
  }
}

/** The same for a folder and its content, except for the paths in `except`. */
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

/** The same for an SQLite database and the files beside it with its name, such as log and key. */
export function tightenDatabase(file: string): void {
  const folder = dirname(file);
  if (statOf(file) === null) return;
  for (const name of readdirSync(folder)) {
    if (name.startsWith(basename(file))) tighten(join(folder, name));
  }
}
