/**
 * Deletes from folders of installed packages what Node never reads: a third of what the agent would
 * weigh otherwise. `node strip-packages.ts FOLDER…`, while an image is built.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Node runs no TypeScript below `node_modules`; the others are for people and debuggers. A `.min.js` may be what a package exports. */
const unread = /\.(map|[cm]?ts|md|markdown|flow|tsbuildinfo)$/i;
const unreadFolders: ReadonlySet<string> = new Set(['test', 'tests', '__tests__', 'examples']);
/** Licences ask to be passed on, whatever they are called. */
const licence = /licen[cs]e|copying|notice/i;

/** Whether a program that serves no browsers works without this file of a package. */
export function isUnread(path: string): boolean {
  const parts = path.split('/');
  if (licence.test(parts.at(-1) ?? '')) return false;
  return unread.test(path) || parts.slice(0, -1).some((part) => unreadFolders.has(part));
}

/** The installed packages below a folder `node_modules`, nested ones included. */
export function packagesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory() || entry.name.startsWith('.')) return [];
    if (entry.name.startsWith('@')) return packagesIn(path);
    return [path, ...packagesIn(join(path, 'node_modules'))];
  });
}

function strip(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const path = file.slice(folder.length + 1);
    if (!path.startsWith('node_modules/') && isUnread(path)) rmSync(file);
  }
}

if (import.meta.main) {
  for (const folder of process.argv.slice(2).flatMap(packagesIn)) strip(folder);
}
