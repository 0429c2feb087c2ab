/**
 * The guide, at `/guide/`: the documents of the repository as a site, which `npm run guide` builds into
 * `guide/` and a package brings along. It is public and knows no account.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Router } from 'express';
import { represent, type Representation } from '../http/representation.ts';
import { sendRepresentation } from '../http/send-representation.ts';
import { policyOfDocs } from './docs.ts';

/** Scripts, styles and pictures of this server alone; pages have neither inline. */
const contentSecurityPolicy = policyOfDocs.replace('img-src', "img-src 'self'");

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
};

const notBuilt = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="3">
<title>The guide is not built yet</title>
</head>
<body>
<h1>The guide is not built yet</h1>
<p>In a clone of the repository, <code>npm start</code> builds it beside what it starts, and
<code>npm run guide</code> builds it at once. This page looks again every three seconds.</p>
<p>The same pages are Markdown in the folder <code>docs/</code>. The API is at <a href="../docs">/docs</a>.</p>
</body>
</html>
`;

type Files = ReadonlyMap<string, Representation>;

/** No link is as deep. With thousands of slashes, each link of the page would become as long. */
const deepestBelow = 20;

/** A page of the site. Its links are relative to its folder, so they are amended for an address below that. */
function pageNotFound(site: Files, address: string): Representation | undefined {
  const page = site.get('404.html');
  const below = address.split('/').length - '/guide/page'.split('/').length;
  if (page === undefined || below > deepestBelow) return undefined;
  if (below <= 0) return { ...page, status: 404 };
  const html = page.body
    .toString()
    .replaceAll(/ (href|src)="(?!#|\w+:)/g, `$&${'../'.repeat(below)}`);
  return represent(html, page.headers, 404);
}

function headersOf(path: string): Record<string, string> {
  const type = contentTypes[extname(path)] ?? 'application/octet-stream';
  return {
    'Content-Type': type,
    'Content-Security-Policy': contentSecurityPolicy,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  };
}

async function readSite(folder: string): Promise<Files> {
  const files = new Map<string, Representation>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const path = file.slice(folder.length + 1).replaceAll('\\', '/');
    files.set(path, represent(await readFile(file), headersOf(path)));
  }
  return files;
}

/** The router of the guide. What was built is read at the first visit, and again after a new build. */
export function serveGuide(folder = join(import.meta.dirname, '..', 'guide')): Router {
  let built: Promise<Files> | undefined;
  let builtAt: number | undefined;
  const waiting = represent(notBuilt, headersOf('index.html'), 503);
  const read = async (): Promise<Files | undefined> => {
    const first = await stat(join(folder, 'index.html')).catch(() => undefined);
    if (first === undefined) return undefined;
    if (built === undefined || builtAt !== first.mtimeMs) {
      builtAt = first.mtimeMs;
      built = readSite(folder);
      // A build that replaces the folder meanwhile is read by the next visit.
      built.catch(() => (built = undefined));
    }
    return built;
  };
  const router = Router({ strict: true });
  router.get('/guide', (_request, response) => {
    response.redirect(302, 'guide/');
  });
  router.get(['/guide/', '/guide/*path'], async (request, response, next) => {
    const parts = request.params['path'] as unknown as string[] | undefined;
    const path = parts?.join('/') ?? 'index.html';
    const site = await read().catch(() => undefined);
    const early = ['', '.html'].includes(extname(path)) ? waiting : undefined;
    const unknown = site === undefined ? early : pageNotFound(site, request.path);
    const file = site?.get(path) ?? unknown;
    if (file === undefined) next();
    else sendRepresentation(request, response, file, false);
  });
  return router;
}
