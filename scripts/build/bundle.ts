/**
 * What users install: a program and what it imports as a few files of JavaScript, with the other
 * files that it reads beside them. Packages stay outside when they are loaded by name at run time,
 * or contain compiled code.
 */
import { build, type Metafile, type Plugin } from 'esbuild';
import {
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { licencesOf, type BundledPackage } from './licences.ts';

const root = join(import.meta.dirname, '..', '..');
const chunks = 'chunks';

export type ProgramName = 'agent' | 'control-plane';

interface ProgramParts {
  /** The file that starts it. */
  start: string;
  /** Packages that are not in the bundle, by the start of their names. */
  installed: readonly string[];
}

const programs: Readonly<Record<ProgramName, ProgramParts>> = {
  agent: {
    start: 'monitor-agent.js',
    installed: ['@koromix/', '@playwright/test', 'playwright', 'tsx'],
  },
  'control-plane': {
    start: 'control-plane.js',
    installed: ['better-sqlite3', 'playwright-core'],
  },
};

export const programNames = Object.keys(programs) as ProgramName[];

/** Starts of threads: `new URL('ping-worker.ts', import.meta.url)`. */
const threadPattern = /new URL\('([\w-]+)\.ts', import\.meta\.url\)/g;

function sourcesOf(program: ProgramName): string[] {
  return globSync(`${program}/**/*.ts`, { cwd: root, exclude: ['**/node_modules/**'] });
}

/** The files that are started as a thread. */
function threadsOf(program: ProgramName): string[] {
  return sourcesOf(program).flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(threadPattern)].map(([, name]) =>
      join(dirname(file), `${name}.ts`),
    ),
  );
}

/**
 * A source that asks where it is gets the place it has in the package, which is laid out like the
 * source. Every file of the bundle is in one folder.
 */
function placed(program: ProgramName, path: string, source: string): string {
  const file = relative(join(root, program), path).split(sep).join('/');
  const folder = JSON.stringify(`/../${dirname(file)}`);
  return source
    .replaceAll(threadPattern, 'new URL("./$1.js", import.meta.$url)')
    .replaceAll(/import\.meta\.(dirname|filename|url)/g, (_, asked: string) => {
      if (asked === 'dirname') return `(import.meta.dirname + ${folder})`;
      if (asked === 'filename') return `(import.meta.dirname + ${JSON.stringify(`/../${file}`)})`;
      return `new URL(${JSON.stringify(`../${file}`)}, import.meta.url).href`;
    })
    .replaceAll('import.meta.$url', 'import.meta.url');
}

type Edit = (file: string, source: string) => string;

/** `edit` may give a source another text. */
function placeSources(program: ProgramName, edit: Edit): Plugin {
  return {
    name: 'place-sources',
    setup(run) {
      run.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const source = edit(relative(root, path), readFileSync(path, 'utf8'));
        return path.includes(`${sep}node_modules${sep}`)
          ? null
          : { contents: placed(program, path, source), loader: 'ts' };
      });
    },
  };
}

/**
 * A module of Node that is imported makes Node read all that it has, which loads more: `node:http`
 * brings the client of `fetch`. Of one that is asked for by name only what is imported is read.
 */
function askForBuiltins(): Plugin {
  return {
    name: 'ask-for-builtins',
    setup(run) {
      run.onResolve({ filter: /^(node:)?[a-z_0-9/]+$/ }, ({ path, kind }) =>
        kind === 'import-statement' && isBuiltin(path)
          ? { path, namespace: 'builtin', sideEffects: false }
          : null,
      );
      run.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
        const names = Object.keys(process.getBuiltinModule(path) as object).filter(
          (name) => /^[a-z_]\w*$/i.test(name) && name !== 'default',
        );
        return {
          contents: [
            `const builtin = process.getBuiltinModule(${JSON.stringify(path)});`,
            // What nobody imports is left out, since it is said to have no effect.
            ...names.map(
              (name, index) =>
                `const export${index} = /* @__PURE__ */ (() => builtin.${name})();` +
                `export { export${index} as ${name} };`,
            ),
            'export default builtin;',
          ].join('\n'),
          loader: 'js',
        };
      });
    },
  };
}

/** The packages of which a bundle contains files. */
function packagesIn(inputs: Metafile['inputs']): BundledPackage[] {
  const folders = new Set(
    Object.keys(inputs).flatMap((path) => {
      const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
      return found === undefined ? [] : [found];
    }),
  );
  return [...folders].map((folder) => {
    const manifest = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8'),
    ) as BundledPackage;
    const { name, version, license } = manifest;
    return { name, version, license, folder: join(root, folder) };
  });
}

interface Manifest {
  devDependencies?: object;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

function manifestOf(program: ProgramName): object {
  const { installed } = programs[program];
  const file = join(root, program, 'package.json');
  const {
    dependencies,
    optionalDependencies,
    devDependencies: _,
    ...manifest
  } = JSON.parse(readFileSync(file, 'utf8')) as Manifest;
  const kept = (from: Record<string, string> = {}): Record<string, string> =>
    Object.fromEntries(
      Object.entries(from).filter(([name]) => installed.some((start) => name.startsWith(start))),
    );
  return {
    ...manifest,
    dependencies: kept(dependencies),
    optionalDependencies: kept(optionalDependencies),
  };
}

/** The files that a program reads, and those for people. */
function copyOthers(program: ProgramName, folder: string): void {
  const source = join(root, program);
  const isLeftOut =
    /\.ts$|^package\.json$|tsconfig\.json$|\/[^/]*\.md$|(^|\/)node_modules\/|^console\//;
  for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
    const path = relative(source, join(entry.parentPath, entry.name));
    if (entry.isFile() && !isLeftOut.test(path)) cpSync(join(source, path), join(folder, path));
  }
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
}

/** Not there where images of agents are made, as what builds the guide. */
async function writeConsole(folder: string): Promise<Pick<Metafile, 'inputs'>> {
  const [{ buildConsole }, { scriptTypesSource }] = await Promise.all([
    import('../../control-plane/console/build.ts'),
    import('../../control-plane/console/script-types-source.ts'),
  ]);
  const { files, inputs } = await buildConsole();
  files.set('script-types.js', await scriptTypesSource());
  mkdirSync(join(folder, 'console-built'));
  for (const [name, text] of files) writeFileSync(join(folder, 'console-built', name), text);
  return { inputs };
}

/** The documents as a site. */
async function bundleGuide(folder: string): Promise<Pick<Metafile, 'inputs'>> {
  const { buildGuide } = await import('../guide/build.ts');
  return buildGuide(join(folder, 'guide'));
}

/**
 * Writes the package of a program into a folder, which is emptied first. Gives the number of bytes
 * of the bundle.
 */
export async function bundle(
  program: ProgramName,
  folder: string,
  edit: Edit = (_file, source) => source,
): Promise<number> {
  const { start, installed } = programs[program];
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(program, 'main.ts'), ...threadsOf(program)],
    outdir: join(folder, chunks),
    entryNames: '[name]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    // Names stay: stack traces and errors show them.
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: 'linked',
    sourcesContent: false,
    legalComments: 'none',
    metafile: true,
    // Sources alone are bundled when they are asked for.
    external: [...installed.map((name) => `${name}*`), 'pg-native', 'esbuild'],
    // Packages of the older module system ask for those of Node.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    plugins: [placeSources(program, edit), askForBuiltins()],
    logLevel: 'warning',
  });
  copyOthers(program, folder);
  const starter = join(folder, start);
  const source = readFileSync(starter, 'utf8');
  const started = source.replace("'./main.ts'", `'./${chunks}/main.js'`);
  if (started === source) throw new Error(`${program}/${start} does not import ./main.ts`);
  writeFileSync(starter, started);
  const isControlPlane = program === 'control-plane';
  const pages = isControlPlane ? [await writeConsole(folder), await bundleGuide(folder)] : [];
  const inputs = [metafile, ...pages].map((each) => each.inputs);
  const packages = packagesIn(Object.assign({}, ...inputs) as Metafile['inputs']);
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifestOf(program), null, 2)}\n`);
  writeFileSync(
    join(folder, 'bundled-packages.json'),
    `${JSON.stringify(packages, ['name', 'version', 'license'], 1)}\n`,
  );
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), licencesOf(packages));
  return Object.values(metafile.outputs).reduce((sum, { bytes }) => sum + bytes, 0);
}
