/**
 * The viewer for traces of Playwright, at `/trace-viewer/`: static files, whose service worker reads the
 * trace named by `?trace=`. Everything is relative, so a prefix before the path does no harm.
 */
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import express, { Router } from 'express';

const require = createRequire(import.meta.url);

/** Snapshots of foreign pages are shown here: they may look as they looked, and reach nothing else. */
function contentSecurityPolicy(publicUrl: string): string {
  return [
    "default-src 'self' data: blob:",
    "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'",
    "style-src 'self' 'unsafe-inline' data: blob:",
    `connect-src 'self' data: blob: ${new URL(publicUrl).origin}`,
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; ');
}

/** A router of the viewer's files. Those with a hash in their name never change. */
export function serveTraceViewer(publicUrl: string): Router {
  const root = join(
    dirname(require.resolve('playwright-core/package.json')),
    'lib',
    'vite',
    'traceViewer',
  );
  const policy = contentSecurityPolicy(publicUrl);
  const router = Router({ strict: true });
  router.get('/trace-viewer', (request, response) => {
    const query = request.originalUrl.indexOf('?');
    response.redirect(302, `trace-viewer/${query === -1 ? '' : request.originalUrl.slice(query)}`);
  });
  router.use(
    '/trace-viewer',
    express.static(root, {
      redirect: false,
      setHeaders(response, path) {
        const name = path.slice(path.lastIndexOf(sep) + 1);
        const isHashed = /[.-][\w-]{8}\.(js|css|ttf|svg)$/.test(name);
        response.setHeader(
          'Cache-Control',
          isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
        );
        response.setHeader('Content-Security-Policy', policy);
        response.setHeader('X-Content-Type-Options', 'nosniff');
        response.setHeader('Referrer-Policy', 'no-referrer');
      },
    }),
  );
  return router;
}
