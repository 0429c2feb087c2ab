/** A script of a folder, with the files that it imports from there: what a check has as `script` and `dependencies`. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { AgentError } from '../../errors.ts';
import { type Aliases, pathsOf, readAliases } from './path-aliases.ts';

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
const anyImport = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*(['"])([^'"\n]+)\1/g;
const codeFile = /\.[cm]?[jt]sx?$/;
const endings = ['', '.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs', '.json'];
const configNames = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].map(
  (ending) => `playwright.config.${ending}`,
);
const maxFiles = 500;

const isFile = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** The file that a path means; null for one that is not there, which the script itself reports. */
function fileAt(path: string): string | null {
  // TypeScript writes the name that the file has once it is compiled.
  const source = path.replace(/\.([cm]?)js$/, '.$1ts');
  const candidates = [
    ...endings.map((ending) => path + ending),
    source,
    ...endings.slice(1).map((ending) => join(path, `index${ending}`)),
  ];
  return candidates.find(isFile) ?? null;
}

/** The nearest file of some names, up to the root of the project. */
function nearest(file: string, names: readonly string[]): string | null {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const found = names.map((name) => join(folder, name)).find(isFile);
    if (found !== undefined) return found;
    const isProject = ['package.json', '.git'].some((name) => existsSync(join(folder, name)));
    if (isProject || folder === dirname(folder)) return null;
  }
}

/** What the imports of files mean, and which aliases they use. */
class Imports {
  /** From the patterns that are used to whole paths. */
  readonly used = new Map<string, readonly string[]>();
  readonly #aliases = new Map<string | null, Aliases>([[null, new Map()]]);

  resolve(from: string, specifier: string): string | null {
    if (/^\.{1,2}\//.test(specifier)) return fileAt(resolve(dirname(from), specifier));
    const config = nearest(from, ['tsconfig.json', 'jsconfig.json']);
    const aliases = this.#aliases.get(config) ?? readAliases(config ?? '');
    this.#aliases.set(config, aliases);
    for (const { pattern, path } of pathsOf(specifier, aliases)) {
      const found = fileAt(path);
      if (found === null || found.includes(`${sep}node_modules${sep}`)) continue;
      this.used.set(pattern, aliases.get(pattern) ?? []);
      return found;
    }
    return null;
  }
}

/** All files that a file reaches by its imports, itself first. */
function reachedFrom(file: string, imports: Imports): string[] {
  const reached = new Set([file]);
  for (const each of reached) {
    if (!codeFile.test(each)) continue;
    for (const [, , specifier = ''] of readFileSync(each, 'utf8').matchAll(anyImport)) {
      const found = imports.resolve(each, specifier);
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

/** Of the project what decides how its files are read: its aliases, as far as they are used, and modules. */
function projectFiles(file: string, root: string, used: Aliases): ScriptFiles['dependencies'] {
  const from = (path: string): string => `./${relative(root, path).replaceAll(sep, '/')}`;
  const paths = Object.fromEntries([...used].map(([key, targets]) => [key, targets.map(from)]));
  const manifest = nearest(file, ['package.json']);
  const isModule =
    manifest !== null && /"type"\s*:\s*"module"/.test(readFileSync(manifest, 'utf8'));
  return [
    ...(used.size === 0
      ? []
      : [
          {
            path: 'tsconfig.json',
            content: JSON.stringify({ compilerOptions: { allowJs: true, paths } }),
          },
        ]),
    ...(isModule ? [{ path: 'package.json', content: '{"type":"module"}' }] : []),
  ];
}

/** Throws CONFIG_INVALID for an import of a file outside of the folder that the check may have. */
export function readScriptFiles(file: string, cwd: string): ScriptFiles {
  const config = nearest(file, configNames);
  const imports = new Imports();
  const root = config === null ? (isWithin(cwd, file) ? cwd : dirname(file)) : dirname(config);
  const files = [...new Set([file, config ?? file].flatMap((each) => reachedFrom(each, imports)))];
  const pathOf = (path: string): string => {
    if (isWithin(root, path)) return relative(root, path).replaceAll(sep, '/');
    throw new AgentError(
      'CONFIG_INVALID',
      `"${file}" imports ${path}, which is outside of ${root}; run it from a folder that holds both`,
    );
  };
  const own = projectFiles(file, root, imports.used);
  const others = files.slice(1).map((path) => ({
    path: pathOf(path),
    // The schema of a check knows no empty files; one that is imported has nothing to give.
    content: readFileSync(path, 'utf8') || '\n',
  }));
  return {
    script: readFileSync(file, 'utf8'),
    scriptPath: pathOf(file),
    dependencies: [...others.filter((one) => !own.some(({ path }) => path === one.path)), ...own],
    ...{ root, files },
  };
}
