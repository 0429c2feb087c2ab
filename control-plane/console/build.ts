/**
 * Bundles the console for browsers: a file for what the first page needs, and one for each view that is
 * loaded when it is opened. A program that is installed has them in `console-built/`; one that runs from
 * its sources bundles them when the console is first opened.
 */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Metafile, Plugin } from 'esbuild';
import { factSource } from './fact-source.ts';
import * as facts from './facts.ts';

const folder = import.meta.dirname;

/** `facts.ts` stands as its values. Those that take long to derive are served by themselves. */
const placeFacts: Plugin = {
  name: 'facts',
  setup(run) {
    run.onResolve({ filter: /\/facts\.ts$/ }, () => ({ path: 'facts', namespace: 'facts' }));
    run.onLoad({ filter: /.*/, namespace: 'facts' }, () => ({ contents: factSource(facts) }));
    run.onResolve({ filter: /\/(form-facts|script-types)\.ts$/ }, ({ path }) => ({
      path: `./${basename(path, '.ts')}.js`,
      external: true,
    }));
  },
};

/**
 * Modules that are loaded late import the first page as well, which is there by then: what it has is one file
 * in place of one for each set of modules that share something.
 */
const withFirstPage: Plugin = {
  name: 'first-page',
  setup(run) {
    const late = new Set<string>();
    run.onResolve({ filter: /^\.\.?\// }, ({ kind, path, resolveDir }) => {
      if (kind === 'dynamic-import') late.add(join(resolveDir, path));
      return null;
    });
    run.onLoad({ filter: /\.tsx?$/ }, ({ path }) =>
      late.has(path)
        ? {
            contents: `${readFileSync(path, 'utf8')}\nimport '${join(folder, 'main.tsx')}';`,
            loader: path.endsWith('x') ? 'tsx' : 'ts',
          }
        : null,
    );
  },
};

/** Modules that the page needs at once, by the name of the file. */
function loadedAtOnce(outputs: Metafile['outputs']): string[] {
  const main = Object.keys(outputs).find((path) => basename(path) === 'main.js') ?? '';
  const found = new Set([main]);
  for (const path of found) {
    for (const { path: next, kind, external } of outputs[path]?.imports ?? [])
      if (kind === 'import-statement' && external !== true) found.add(next);
  }
  return [...found].map((path) => basename(path));
}

export interface BuiltConsole {
  /** By file name. `index.html` asks for the others in the folder `{version}`. */
  files: Map<string, string | Buffer>;
  /** What the files were made of. */
  inputs: Metafile['inputs'];
}

export async function buildConsole(): Promise<BuiltConsole> {
  const { build } = await import('esbuild');
  const { outputFiles, metafile } = await build({
    // Paths in what it was made of begin at the root.
    absWorkingDir: join(folder, '..', '..'),
    entryPoints: ['main.tsx', 'service-worker.ts', 'style.css'].map((name) => join(folder, name)),
    outdir: 'built',
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    legalComments: 'none',
    metafile: true,
    plugins: [placeFacts, withFirstPage],
    logLevel: 'warning',
  });
  const preloads = loadedAtOnce(metafile.outputs)
    .map((name) => `<link rel="modulepreload" href="{version}/${name}" />`)
    .join('\n    ');
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  return {
    files: new Map<string, string | Buffer>([
      ...outputFiles.map(({ path, text }) => [basename(path), text] as const),
      ['icon.svg', read('icon.svg')],
      ['icon.png', readFileSync(join(folder, 'icon.png'))],
      ['manifest.webmanifest', read('manifest.webmanifest')],
      ['index.html', read('index.html').replace('<!-- modules -->', preloads)],
    ]),
    inputs: metafile.inputs,
  };
}
