/** A script of a folder, with the files that it imports from there: what a check has as `script` and `dependencies`. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { AgentError } from '../../errors.ts';

export interface ScriptFiles {
  script: string;
  /** From `root`, with `/`. */
  scriptPath: string;
  dependencies: { path: string; content: string }[];
  /** The folder that paths begin in: the one with the configuration of the test runner, or the working folder. */
  root: string;
  /** All of them, with whole paths. */
  files: string[];
}

/** `from './a'`, `import './a'`, `import('./a')`, `require('./a')`. One in a comment adds a file that is not used. */
const relativeImport = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(['"])(\.{1,2}\/[^'"\n]+)\1/g;
const codeFile = /\.[cm]?[jt]sx?$/;
const endings = ['', '.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs', '.json'];
const configNames = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].map(
  (ending) => `playwright.config.${ending}`,
);
const maxFiles = 500;

const isFile = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** The file that an import means; null for one that is not there, which the script itself reports. */
function resolveImport(from: string, specifier: string): string | null {
  const path = resolve(dirname(from), specifier);
  // TypeScript writes the name that the file has once it is compiled.
  const source = path.replace(/\.([cm]?)js$/, '.$1ts');
  const candidates = [
    ...endings.map((ending) => path + ending),
    source,
    ...endings.slice(1).map((ending) => join(path, `index${ending}`)),
  ];
  return candidates.find(isFile) ?? null;
}

/** All files that a file reaches by relative imports, itself first. */
function reachedFrom(file: string): string[] {
  const reached = new Set([file]);
  for (const each of reached) {
    if (!codeFile.test(each)) continue;
    for (const [, , specifier = ''] of readFileSync(each, 'utf8').matchAll(relativeImport)) {
      const found = resolveImport(each, specifier);
      if (found !== null) reached.add(found);
    }
    if (reached.size > maxFiles) {
      throw new AgentError(
        'CONFIG_INVALID',
        `"${file}" imports more than ${maxFiles} files; a check can have as many. Pack the project as the code bundle of a check of type PLAYWRIGHT instead`,
      );
    }
  }
  return [...reached];
}

function isWithin(folder: string, path: string): boolean {
  const from = relative(folder, path);
  return from !== '' && from !== '..' && !from.startsWith(`..${sep}`) && !isAbsolute(from);
}

/** The nearest configuration of the test runner, up to the root of its project. */
function findConfig(file: string): string | null {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const found = configNames.map((name) => join(folder, name)).find(isFile);
    if (found !== undefined) return found;
    const isProject = ['package.json', '.git'].some((name) => existsSync(join(folder, name)));
    if (isProject || folder === dirname(folder)) return null;
  }
}

/** Throws CONFIG_INVALID for an import of a file outside of the folder that the check may have. */
export function readScriptFiles(file: string, cwd: string): ScriptFiles {
  const config = findConfig(file);
  const root = config === null ? (isWithin(cwd, file) ? cwd : dirname(file)) : dirname(config);
  const files = [
    ...new Set([...reachedFrom(file), ...(config === null ? [] : reachedFrom(config))]),
  ];
  const pathOf = (path: string): string => {
    if (isWithin(root, path)) return relative(root, path).replaceAll(sep, '/');
    throw new AgentError(
      'CONFIG_INVALID',
      `"${file}" imports ${path}, which is outside of ${root}; run it from a folder that holds both`,
    );
  };
  const [, ...others] = files;
  return {
    script: readFileSync(file, 'utf8'),
    scriptPath: pathOf(file),
    // The schema of a check knows no empty files; one that is imported has nothing to give.
    dependencies: others.map((path) => ({
      path: pathOf(path),
      content: readFileSync(path, 'utf8') || '\n',
    })),
    ...{ root, files },
  };
}
