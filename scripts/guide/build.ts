/**
 * Builds the documents in `docs/` as a site, for `/guide/` of a control plane. Every address in it is
 * relative, so it works below any path; it needs no other host, no inline script and no inline style.
 *
 * Decided in November 2026: Eleventy with MiniSearch. VitePress was tried: its addresses are absolute, so it
 * breaks below another path, its code blocks need inline styles, and it brings four times as much (102 MB).
 */
import { build, type Metafile } from 'esbuild';
import Eleventy from '@11ty/eleventy';
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { contents, source, summaryOf, titleOf, urlOf } from './contents.ts';
import { deadLinks } from './dead-links.ts';
import type { PageData } from './eleventy.d.ts';
import { amendMarkdown } from './markdown.ts';
import { searchIndex } from './search-index.ts';

/** What the control plane answers for an address that leads nowhere. */
const notFound = '404.html';
const notFoundText = `# There is no such page

The address leads nowhere: the page may have another name now. Search for what you need with the key \`/\`, choose a
page from the list, or begin at [the first page of the guide](README.md).
`;

const root = join(import.meta.dirname, '..', '..');
const theme = join(import.meta.dirname, 'theme');
/** Where the control plane serves it from. */
export const guideFolder = 'control-plane/guide';

async function writePages(folder: string): Promise<void> {
  const sections = contents();
  const order = sections.flatMap(({ entries }) => entries);
  const site = new Eleventy(source, folder, {
    quietMode: true,
    configPath: 'scripts/guide/eleventy.config.js',
    config(config) {
      config.setQuietMode(true);
      // The built site is not in the repository.
      config.setUseGitIgnore(false);
      config.setTemplateFormats(['md']);
      config.setIncludesDirectory('../scripts/guide/theme');
      config.addPassthroughCopy({ 'docs/images': 'images' });
      config.amendLibrary('md', amendMarkdown);
      config.addTemplate(notFound.replace('.html', '.md'), notFoundText);
      config.addGlobalData('sections', sections);
      config.addGlobalData('layout', 'page.liquid');
      config.addGlobalData(
        'permalink',
        () =>
          ({ page }: PageData) =>
            urlOf(`${page.filePathStem.slice(1)}.md`),
      );
      config.addGlobalData('eleventyComputed', {
        title: ({ page }: PageData) => titleOf(page.rawInput),
        summary: ({ page }: PageData) => summaryOf(page.rawInput),
        url: ({ page }: PageData) => urlOf(`${page.filePathStem.slice(1)}.md`),
        next: ({ page }: PageData) => neighbour(order, page.filePathStem, 1),
        previous: ({ page }: PageData) => neighbour(order, page.filePathStem, -1),
      });
    },
  });
  await site.write();
}

function neighbour<Entry extends { file: string }>(
  order: readonly Entry[],
  stem: string,
  step: number,
): Entry | null {
  const at = order.findIndex(({ file }) => `/${file}` === `${stem}.md`);
  const isListed = at !== -1 || (stem === '/README' && step > 0);
  return isListed ? (order[at + step] ?? null) : null;
}

function writeSearchIndex(folder: string): void {
  const pages = new Map(
    globSync('**/*.html', { cwd: folder, exclude: [notFound] }).map((url) => {
      const html = readFileSync(join(folder, url), 'utf8');
      const [, title = ''] = /<h1[^>]*>([^]*?)<\/h1>/.exec(html) ?? [];
      const [, body = ''] = /<article>([^]*)<\/article>/.exec(html) ?? [];
      return [url, { title: title.replaceAll(/<[^>]+>/g, ''), body }] as const;
    }),
  );
  writeFileSync(join(folder, 'search.json'), searchIndex(pages));
}

/** Gives what the script of the pages is made of, for the list of licences. */
async function writeAssets(folder: string): Promise<Metafile['inputs']> {
  const { metafile } = await build({
    absWorkingDir: root,
    metafile: true,
    entryPoints: [join(theme, 'guide.js'), join(theme, 'style.css')],
    outdir: resolve(folder),
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  return metafile.inputs;
}

/** Replaces the folder once all of it is there. Throws when a link leads nowhere. */
export async function buildGuide(
  folder: string,
): Promise<{ pages: number; bytes: number; inputs: Metafile['inputs'] }> {
  const making = `${folder}.making-${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  let inputs: Metafile['inputs'];
  try {
    await writePages(making);
    writeSearchIndex(making);
    inputs = await writeAssets(making);
    const dead = deadLinks(making);
    if (dead.length > 0) throw new Error(dead.join('\n'));
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(dirname(folder), { recursive: true });
    renameSync(making, folder);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  const files = globSync('**/*.*', { cwd: folder });
  return {
    pages: files.filter((file) => file.endsWith('.html')).length,
    bytes: files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0),
    inputs,
  };
}

/** False while no source is newer than what was built. */
export function isStale(folder: string): boolean {
  const built = join(folder, 'index.html');
  if (!existsSync(built)) return true;
  const builtAt = statSync(built).mtimeMs;
  return globSync(['docs/**/*.*', 'scripts/guide/**/*.*']).some(
    (file) => statSync(file).mtimeMs > builtAt,
  );
}
