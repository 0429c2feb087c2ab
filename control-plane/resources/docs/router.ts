/** The API described: `/openapi.json`, and a page to read and try it at `/docs`. Nothing comes from elsewhere. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Router } from 'express';
import { serveDocs } from '../../http/docs.ts';

const require = createRequire(import.meta.url);

/** Mounts both. The document is the one that `npm run openapi:write` made from the contract. */
export function docsRouter(publicUrl: string): Router {
  const file = new URL('../../openapi.json', import.meta.url);
  const document = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  const assets = dirname(require.resolve('swagger-ui-dist/package.json'));
  return serveDocs(
    { ...document, servers: [{ url: publicUrl }] },
    {
      script: join(assets, 'swagger-ui-bundle.js'),
      style: join(assets, 'swagger-ui.css'),
    },
  );
}
