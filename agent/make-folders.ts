import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it; gives the outermost that was made. Of all together Node says ENOENT where the first cannot be made, or tries
 * for ever, as in /proc.
 */
export function makeFolders(path: string): string | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return undefined;
  let first = path;
  while (!existsSync(dirname(first))) first = dirname(first);
  mkdirSync(first, { mode: 0o700 });
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return first;
}
