/**
 * API documentation: `/openapi.json`, and a page at `/docs` to read and try the API. All files come
 * from this server.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Router } from 'express';
import { represent, type Representation } from '../http/representation.ts';
import { sendRepresentation } from '../http/send-representation.ts';

export const policyOfDocs = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Monitoring API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/page.css">
<script src="docs/page.js" defer></script>
</head>
<body>
<header>
<h1>Monitoring API</h1>
<noscript><p>This page needs JavaScript to show the API.</p></noscript>
<p>The description for programs is at <a href="openapi.json">openapi.json</a>. The <a href="guide/api.html">guide</a> shows the usual tasks.</p>
<div id="about"></div>
<div class="tools">
<label>Find an operation<input id="filter" type="search" autocomplete="off" spellcheck="false"></label>
<label>API key, to try operations with; this page forgets it<input id="key" type="password" autocomplete="off" spellcheck="false"></label>
</div>
<p id="count" role="status">Loading …</p>
</header>
<main id="operations"></main>
</body>
</html>
`;

const paths = ['/openapi.json', '/docs', '/docs/page.js', '/docs/page.css'] as const;
type Path = (typeof paths)[number];

/** The served files by path. `npm run openapi:write` writes the document from the contract. */
function filesFor(publicUrl: string): Record<Path, Representation> {
  const file = new URL('../openapi.json', import.meta.url);
  const document = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  const json = JSON.stringify({ ...document, servers: [{ url: publicUrl }] }).replaceAll(
    '{base}',
    publicUrl,
  );
  const folder = join(import.meta.dirname, '..', 'docs');
  const asset = (name: string, type: string) =>
    represent(readFileSync(join(folder, name), 'utf8'), { 'Content-Type': type });
  return {
    '/openapi.json': represent(json, { 'Content-Type': 'application/json; charset=utf-8' }),
    '/docs': represent(page, {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policyOfDocs,
      'Referrer-Policy': 'no-referrer',
    }),
    '/docs/page.js': asset('page.js', 'text/javascript; charset=utf-8'),
    '/docs/page.css': asset('page.css', 'text/css; charset=utf-8'),
  };
}

/** The router of both. The document has a megabyte, so it is read at the first request. */
export function serveDocs(publicUrl: string): Router {
  let files: Record<Path, Representation> | undefined;
  const router = Router({ strict: true });
  router.get('/', (_request, response) => {
    response.redirect(302, '/docs');
  });
  for (const path of paths) {
    router.get(path, (request, response) => {
      files ??= filesFor(publicUrl);
      sendRepresentation(request, response, files[path], false);
    });
  }
  return router;
}
