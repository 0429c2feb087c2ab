/** What `monitor-agent run` was given, as addresses and files: folders and globs become the files they hold. */
import { globSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { AgentError } from '../../errors.ts';

export type Source =
  | { kind: 'address'; argument: string }
  /** `name` is its path as a person would type it. */
  | { kind: 'file'; file: string; name: string };

export interface FoundSources {
  sources: Source[];
  /** True for one address or one file, named as such. */
  isSingle: boolean;
  /** Folders in which new files may appear. */
  folders: string[];
}

/** The files that a folder is searched for. */
const checkFiles =
  '**/*.{spec.ts,spec.js,spec.mts,spec.mjs,spec.cts,spec.cjs,check.ts,check.js,check.mts,check.mjs,check.json}';
const endings = '*.spec.ts, *.check.ts, *.check.json (and .js, .mjs, .cjs)';
const isPattern = /[*?[\]{}]/;

/** `node_modules` and folders that begin with a dot hold the files of others. */
const isOthers = (path: string): boolean =>
  /(^|[\\/])(node_modules|\.[^\\/.][^\\/]*)([\\/]|$)/.test(path);

function matches(pattern: string, cwd: string): string[] {
  const paths = globSync(pattern, {
    cwd,
    withFileTypes: true,
    exclude: (entry) => isOthers(entry.name),
  })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return paths.sort();
}

function isFolder(path: string): boolean | null {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? null;
}

/** Throws CONFIG_INVALID for a folder or a glob without checks. */
export function findSources(given: readonly string[], cwd: string): FoundSources {
  const files = new Set<string>();
  const sources: Source[] = [];
  const folders: string[] = [];
  const add = (file: string, name: string): void => {
    if (files.has(file)) return;
    files.add(file);
    sources.push({ kind: 'file', file, name });
  };
  let isSingle = given.length === 1;
  for (const argument of given) {
    if (/^[a-z]+:\/\//i.test(argument)) {
      sources.push({ kind: 'address', argument });
      continue;
    }
    const path = resolve(cwd, argument);
    const folder = isFolder(path);
    if (folder !== true && (folder === false || !isPattern.test(argument))) {
      // One that is not there is refused where it is read, with what may be meant.
      add(path, argument);
      continue;
    }
    isSingle = false;
    if (folder === true) folders.push(path);
    const nameOf = (file: string): string =>
      folder === true ? join(argument, relative(path, file)) : relative(cwd, file);
    const found = folder === true ? matches(checkFiles, path) : matches(argument, cwd);
    if (found.length === 0) {
      throw new AgentError(
        'CONFIG_INVALID',
        folder === true
          ? `the folder "${argument}" holds no checks; they are called ${endings}`
          : `no file matches "${argument}"; quote a pattern so that the shell leaves it as it is`,
      );
    }
    for (const each of found) add(each, nameOf(each));
  }
  return { sources, isSingle, folders };
}
