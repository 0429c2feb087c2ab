/**
 * The console, at `/console/`. Paths contain the hash of all files, so browsers cache them for ever: all but those of
 * the page itself and of what browsers keep the address of. What takes long to derive is asked for again, as it is not
 * part of the hash.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Router, type Request, type Response } from 'express';
import { represent, type Representation } from '../http/representation.ts';
import { linkToTestSession } from '../notifications/index.ts';

/** Where `npm run build` puts the files. */
const built = join(import.meta.dirname, '..', 'console-built');

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

const toAsset = (path: string, source: string | Buffer): Representation =>
  represent(source, {
    'Content-Type': contentTypes[extname(path)] ?? 'application/octet-stream',
  });

interface Files {
  /** Hash of all files. */
  version: string;
  page: Representation;
  assets: ReadonlyMap<string, Representation>;
}

async function readSources(): Promise<Map<string, string | Buffer>> {
  if (existsSync(built)) {
    const names = readdirSync(built);
    return new Map(names.map((name) => [name, readFileSync(join(built, name))]));
  }
  const { buildConsole } = await import('../console/build.ts');
  return (await buildConsole()).files;
}

async function readFiles(): Promise<Files> {
  const { 'index.html': page = '', ...sources } = Object.fromEntries(await readSources());
  const hash = createHash('sha256').update(page);
  for (const [path, source] of Object.entries(sources)) hash.update(path).update(source);
  const version = hash.digest('hex').slice(0, 12);
  return {
    version,
    page: toAsset('index.html', String(page).replaceAll('{version}', version)),
    assets: new Map(Object.entries(sources).map(([path, source]) => [path, toAsset(path, source)])),
  };
}

/** Once per process, unless it fails; a process whose console nobody opens does not need it. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    }));
}

const files = once(readFiles);

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
    "manifest-src 'self'",
    "worker-src 'self'",
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

/** Browsers ask again whether it has changed. */
function sendLatest(request: Request, response: Response, asset: Representation): void {
  response
    .set('X-Content-Type-Options', 'nosniff')
    .set('Cache-Control', 'no-cache')
    .set('ETag', asset.etag);
  if (request.fresh) response.status(304).end();
  else send(request, response, asset);
}

/** What an installed console, and its worker, are known by: their addresses stay. */
const kept = ['icon.png', 'manifest.webmanifest', 'service-worker.js'];

/** True for a browser that navigates, false for a program that asks for JSON. */
function wantsPage(request: Request): boolean {
  return (request.get('accept') ?? '').includes('text/html');
}

const derived: Readonly<Record<string, () => Promise<Representation>>> = {
  /** Derived from the whole contract, which takes a while: not before somebody opens a form. */
  'form-facts.js': once(async () => {
    const [facts, { factSource }] = await Promise.all([
      import('../console/form-facts.ts'),
      import('../console/fact-source.ts'),
    ]);
    return toAsset('form-facts.js', factSource(facts));
  }),
  // A program that is installed has it as a file.
  ...(existsSync(built)
    ? {}
    : {
        'script-types.js': once(async () => {
          const { scriptTypesSource } = await import('../console/script-types-source.ts');
          return toAsset('script-types.js', await scriptTypesSource());
        }),
      }),
};

/**
 * The router of the console. Browsers that open `/` are redirected to it. Throws where an installed program lacks its
 * files: what replaces them later is not served by this process.
 */
export async function serveConsole(publicUrl: string): Promise<Router> {
  if (existsSync(built)) await files();
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
  router.get('/console/', async (request, response) => {
    const { version, page } = await files();
    response
      .set('Content-Security-Policy', policy)
      .set('X-Content-Type-Options', 'nosniff')
      .set('Referrer-Policy', 'no-referrer')
      .set('Cache-Control', 'no-cache')
      .set('ETag', `"${version}"`);
    if (request.fresh) response.status(304).end();
    else send(request, response, page);
  });
  for (const [name, derive] of Object.entries(derived)) {
    router.get(`/console/:version/${name}`, async (request, response) => {
      sendLatest(request, response, await derive());
    });
  }
  for (const name of kept) {
    router.get(`/console/${name}`, async (request, response, next) => {
      const asset = (await files()).assets.get(name);
      // A worker reads what this server gives, and nothing else.
      response.set(
        'Content-Security-Policy',
        "default-src 'none'; connect-src 'self'; img-src 'self'",
      );
      if (asset === undefined) next();
      else sendLatest(request, response, asset);
    });
  }
  router.get('/console/:version/*path', async (request, response, next) => {
    const { version, assets } = await files();
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
