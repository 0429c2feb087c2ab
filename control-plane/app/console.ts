/**
 * The console, at `/console/`. Its files in `console/` are served as they are; libraries come from
 * their installed packages, and `facts.js` and `form-facts.js` have the values of `console/facts.ts`
 * and `console/form-facts.ts`. Every path but the page itself contains the hash of all files, so
 * browsers cache them for ever.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Router, type Request, type Response } from 'express';
import * as facts from '../console/facts.ts';
import { represent, type Representation } from '../http/representation.ts';
import { linkToTestSession } from '../notifications/index.ts';

const folder = join(import.meta.dirname, '..', 'console');

/** Modules that import packages. */
const withImports = ['vendor/codemirror.js', 'vendor/encryption.js'];

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Modules of dialogs and views that few pages need. */
const loadedLate: ReadonlySet<string> = new Set([
  'parts/palette.js',
  'parts/qr-code.js',
  'passkeys.js',
  'views/audit.js',
  'views/bulk.js',
  'views/passkeys.js',
  'views/people.js',
  'views/profile.js',
]);

/** Libraries that every page needs. */
const loadedFirst: ReadonlySet<string> = new Set([
  'vendor/preact.js',
  'vendor/preact-hooks.js',
  'vendor/htm.js',
]);

/** Loaded with the first chart, form, script or selection, not with the page. */
function isLoadedLate(path: string): boolean {
  return (
    loadedLate.has(path) ||
    path.startsWith('forms/') ||
    (path.startsWith('vendor/') && !loadedFirst.has(path))
  );
}

/** Without its types. Node warns that this is new, which nobody who runs the sources can change. */
function withoutTypes(source: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Path of a file in a package, by its import name. */
function packageFile(name: string): string {
  const source = readFileSync(fileURLToPath(import.meta.resolve(name)), 'utf8');
  return name.endsWith('.ts') ? withoutTypes(source) : source;
}

/**
 * Replaces a bare import with a path: browsers need an import map otherwise, which would have to be
 * inline.
 */
function withPath(source: string, name: string, path: string): string {
  const rewritten = source.replaceAll(`"${name}"`, `"${path}"`);
  if (rewritten === source) throw new Error(`expected an import of ${name} in a library`);
  return rewritten;
}

/** An import or a re-export by the name of a package; comments have them further right. */
const bareImport = /^((?:import|export|\})[^'"\n]*\bfrom )(['"])([@a-z][\w@/.-]*)\2/gm;

/**
 * A module with the packages that it imports, and those that they import, each a file beside it.
 * The built program has one file of them all, which imports nothing.
 */
function withPackages(path: string, source: string): [path: string, source: string][] {
  const found = new Map<string, string>();
  const visit = (text: string): string =>
    text.replaceAll(bareImport, (_, before: string, quote: string, name: string) => {
      const file = `${name.replace('@', '').replaceAll('/', '-')}.js`;
      const at = `vendor/${file}`;
      if (!found.has(at)) {
        found.set(at, '');
        found.set(at, visit(packageFile(name)));
      }
      return `${before}${quote}./${file}${quote}`;
    });
  const own = visit(source);
  return [[path, own], ...found];
}

function vendorSources(): [path: string, source: string][] {
  const hooks = withPath(packageFile('preact/hooks'), 'preact', './preact.js');
  return [
    ['vendor/preact.js', packageFile('preact')],
    ['vendor/preact-hooks.js', hooks],
    ['vendor/htm.js', packageFile('htm')],
    // The minified build defines a global; this makes it a module.
    ['vendor/uplot.js', `${packageFile('uplot/dist/uPlot.iife.min.js')}\nexport { uPlot };\n`],
    ['vendor/uqr.js', packageFile('uqr')],
    ['vendor/uplot.css', packageFile('uplot/dist/uPlot.min.css')],
    ...withImports.flatMap((path) => withPackages(path, readFileSync(join(folder, path), 'utf8'))),
  ];
}

function ownSources(): [path: string, source: string][] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => extname(path) in contentTypes)
    .map((path) => [path.replaceAll('\\', '/'), readFileSync(join(folder, path), 'utf8')]);
}

function factSource(values: object): string {
  return Object.entries(values)
    .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};\n`)
    .join('');
}

function toAsset(path: string, source: string): Representation {
  return represent(source.replaceAll(/^\/\/# sourceMappingURL=.*$/gm, ''), {
    'Content-Type': contentTypes[extname(path)] ?? 'application/octet-stream',
  });
}

interface Files {
  /** Hash of all files. */
  version: string;
  page: Representation;
  assets: ReadonlyMap<string, Representation>;
}

let read: Files | undefined;

/** Reads the files once per process: about a hundred kilobytes, kept in memory. */
function readFiles(): Files {
  read ??= readSources();
  return read;
}

function readSources(): Files {
  const { 'index.html': page = '', ...sources } = Object.fromEntries([
    ...ownSources(),
    ...vendorSources(),
    ['facts.js', factSource(facts)],
  ]);
  const hash = createHash('sha256').update(page);
  for (const [path, source] of Object.entries(sources)) hash.update(path).update(source);
  const version = hash.digest('hex').slice(0, 12);
  const preloads = Object.keys(sources)
    .filter((path) => extname(path) === '.js' && !isLoadedLate(path))
    .map((path) => `<link rel="modulepreload" href="${version}/${path}" />`)
    .join('\n    ');
  return {
    version,
    page: toAsset(
      'index.html',
      page.replaceAll('{version}', version).replace('<!-- modules -->', preloads),
    ),
    assets: new Map(Object.entries(sources).map(([path, source]) => [path, toAsset(path, source)])),
  };
}

/**
 * Only scripts of this server, and nothing from other hosts; files of results come from the public
 * address.
 */
function contentSecurityPolicy(publicUrl: string): string {
  const files = `'self' ${new URL(publicUrl).origin}`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    `img-src data: ${files}`,
    `media-src ${files}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function send(request: Request, response: Response, asset: Representation): void {
  response.set(asset.headers).set('Vary', 'Accept-Encoding');
  const packed = request.acceptsEncodings('gzip') === 'gzip' ? asset.packed() : null;
  if (packed !== null) response.setHeader('Content-Encoding', 'gzip');
  response.end(packed ?? asset.body);
}

/** True for a browser that navigates, false for a program that asks for JSON. */
function wantsPage(request: Request): boolean {
  return (request.get('accept') ?? '').includes('text/html');
}

let formFacts: Promise<Representation> | undefined;

/** Derived from the whole contract, which takes a while: not before somebody opens a form. */
function readFormFacts(): Promise<Representation> {
  formFacts ??= import('../console/form-facts.ts').then((facts) =>
    toAsset('form-facts.js', factSource(facts)),
  );
  return formFacts;
}

/** The router of the console. Browsers that open `/` are redirected to it. */
export function serveConsole(publicUrl: string): Router {
  const { version, page, assets } = readFiles();
  const policy = contentSecurityPolicy(publicUrl);
  const router = Router({ strict: true });
  router.get('/', (request, response, next) => {
    if (wantsPage(request)) response.redirect(302, 'console/');
    else next();
  });
  router.get('/console', (_request, response) => {
    response.redirect(302, 'console/');
  });
  // compatibility: the link to a test session that clients print.
  router.get('/accounts/:accountId/test-sessions/:sessionId', ({ params }, response) => {
    response.redirect(302, linkToTestSession(publicUrl, encodeURIComponent(params.sessionId)));
  });
  router.get('/console/', (request, response) => {
    response
      .set('Content-Security-Policy', policy)
      .set('X-Content-Type-Options', 'nosniff')
      .set('Referrer-Policy', 'no-referrer')
      .set('Cache-Control', 'no-cache')
      .set('ETag', `"${version}"`);
    if (request.fresh) response.status(304).end();
    else send(request, response, page);
  });
  // Not part of the hash, so browsers ask whether it is still the same.
  router.get('/console/:version/form-facts.js', async (request, response) => {
    const asset = await readFormFacts();
    const etag = `"${createHash('sha256').update(asset.body).digest('hex').slice(0, 12)}"`;
    response
      .set('X-Content-Type-Options', 'nosniff')
      .set('Cache-Control', 'no-cache')
      .set('ETag', etag);
    if (request.fresh) response.status(304).end();
    else send(request, response, asset);
  });
  router.get('/console/:version/*path', (request, response, next) => {
    const path = (request.params.path as unknown as string[]).join('/');
    const asset = request.params.version === version ? assets.get(path) : undefined;
    if (asset === undefined) {
      next();
      return;
    }
    response
      .set('X-Content-Type-Options', 'nosniff')
      .set('Cache-Control', 'public, max-age=31536000, immutable');
    send(request, response, asset);
  });
  return router;
}
