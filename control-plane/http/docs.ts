/** The API described: `/openapi.json`, and a page to read and try it at `/docs`. Nothing comes from elsewhere. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Router } from 'express';

const require = createRequire(import.meta.url);

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  // Swagger UI sets style attributes.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Monitoring API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
<noscript><p class="plain">This page needs JavaScript to show the API. The description itself is at
<a href="/openapi.json">/openapi.json</a>.</p></noscript>
<main id="api"></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/page.js"></script>
</body>
</html>
`;

const pageScript = `window.ui = SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#api',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  tryItOutEnabled: false,
});
`;

const pageStyle = `body { margin: 0; background: #fafafa; }
.plain { max-width: 40rem; margin: 3rem auto; font: 1rem/1.5 system-ui, sans-serif; }
.swagger-ui .wrapper { box-sizing: border-box; }
.swagger-ui .info { margin: 2rem 0; }
.swagger-ui .info .title small { display: none; }
.swagger-ui .info .title small.version-stamp { display: inline-block; }
@media (max-width: 640px) {
  .swagger-ui .wrapper { padding: 0 .75rem; }
  .swagger-ui .opblock .opblock-summary-description { display: none; }
  .swagger-ui .opblock .opblock-summary-path { max-width: 100%; word-break: break-all; }
}
`;

/** A router of both. The document is the one that `npm run openapi:write` made from the contract. */
export function serveDocs(publicUrl: string): Router {
  const file = new URL('../openapi.json', import.meta.url);
  const document = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  const json = JSON.stringify({ ...document, servers: [{ url: publicUrl }] }).replaceAll(
    '{base}',
    publicUrl,
  );
  const assets = dirname(require.resolve('swagger-ui-dist/package.json'));
  const router = Router();
  router.get('/', (_request, response) => {
    response.redirect(302, '/docs');
  });
  router.get('/openapi.json', (_request, response) => {
    response.type('json').send(json);
  });
  router.get('/docs', (_request, response) => {
    response
      .set('Content-Security-Policy', contentSecurityPolicy)
      .set('X-Content-Type-Options', 'nosniff')
      .set('Referrer-Policy', 'no-referrer')
      .type('html')
      .send(page);
  });
  router.get('/docs/page.js', (_request, response) => {
    response.type('js').send(pageScript);
  });
  router.get('/docs/page.css', (_request, response) => {
    response.type('css').send(pageStyle);
  });
  router.get('/docs/swagger-ui-bundle.js', (_request, response) => {
    response.sendFile(join(assets, 'swagger-ui-bundle.js'), { maxAge: '1d' });
  });
  router.get('/docs/swagger-ui.css', (_request, response) => {
    response.sendFile(join(assets, 'swagger-ui.css'), { maxAge: '1d' });
  });
  return router;
}
