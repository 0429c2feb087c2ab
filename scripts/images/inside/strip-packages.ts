/**
 * Deletes from folders of installed packages what Node never reads: a third of what the agent would
 * weigh otherwise, and 40 % of a runtime. While an image is built:
 *
 *   node strip-packages.ts [--keep-tests] FOLDER…
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

/** Node runs no TypeScript below `node_modules`; the others are for people and debuggers. A `.min.js` may be what a package exports. */
const unread = /\.(map|[cm]?ts|md|markdown|flow|tsbuildinfo)$/i;
const unreadFolders: ReadonlySet<string> = new Set(['test', 'tests', '__tests__', 'examples']);
/** Licences ask to be passed on, whatever they are called. */
const licence = /licen[cs]e|copying|notice/i;
/** Read files of these kinds: the compiler its libraries, Playwright its templates. */
const readers: ReadonlySet<string> = new Set([
  ...['typescript', 'playwright', 'playwright-core', '@playwright/test'],
]);
/** They carry Node, with headers to compile against and pages for people. */
const nodePackage = /^node(-bin)?-(linux|darwin)-/;

export interface StripOptions {
  /** Folders named `test` stay: among hundreds of packages some may use theirs. */
  keepsTests?: boolean;
}

/** Whether a program that serves no browsers works without this file of a package. */
export function isUnread(path: string, { keepsTests = false }: StripOptions = {}): boolean {
  const parts = path.split('/');
  if (licence.test(parts.at(-1) ?? '')) return false;
  if (unread.test(path)) return true;
  return !keepsTests && parts.slice(0, -1).some((part) => unreadFolders.has(part));
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

function nameOf(folder: string): string {
  const scope = basename(dirname(folder));
  return scope.startsWith('@') ? `${scope}/${basename(folder)}` : basename(folder);
}

function stripPackage(folder: string, options: StripOptions): void {
  const name = nameOf(folder);
  if (readers.has(name)) return;
  if (nodePackage.test(name)) {
    for (const part of ['include', 'share'])
      rmSync(join(folder, part), { recursive: true, force: true });
  }
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const path = file.slice(folder.length + 1);
    if (!path.startsWith('node_modules/') && isUnread(path, options)) rmSync(file);
  }
}

/** Strips every package below a folder `node_modules`. */
export function stripPackages(folder: string, options: StripOptions = {}): void {
  for (const each of packagesIn(folder)) stripPackage(each, options);
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'keep-tests': { type: 'boolean', default: false } },
  });
  for (const folder of positionals) stripPackages(folder, { keepsTests: values['keep-tests'] });
}
