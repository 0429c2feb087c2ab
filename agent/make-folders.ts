import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

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
