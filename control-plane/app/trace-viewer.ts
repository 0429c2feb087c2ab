/**
 * The viewer for Playwright traces, on a host of its own (`TRACE_VIEWER_URL`). A trace contains
 * what visited pages sent, and the service worker of the viewer serves files of it. On this origin
 * there is no session, API or console to attack. The page opens only signed links of this
 * installation; `trace-viewer-worker.js` and `trace-viewer-page.js` enforce this in the browser.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { Request, RequestHandler, Response } from 'express';
import { Router } from 'express';
import type { ArtifactLinks } from '../results/index.ts';
import { html } from '../core/html.ts';
import { sendPage } from '../http/plain-page.ts';

const require = createRequire(import.meta.url);

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
};

const ownScript = 'guard.js';

interface ViewerFile {
  type: string;
  body: Buffer;
  isHashed: boolean;
}

interface Viewer {
  page: string;
  snapshotPage: string;
  files: ReadonlyMap<string, ViewerFile>;
  pagePolicy: string;
}

const beside = (name: string): string => readFileSync(join(import.meta.dirname, name), 'utf8');

/** `'sha256-…'` of every inline script of a page. */
function hashesOf(page: string): string[] {
  return [...page.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(
    ([, script = '']) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`,
  );
}

/** Reads the viewer of the installed Playwright. */
function readViewer(): Viewer {
  const root = join(
    dirname(require.resolve('playwright-core/package.json')),
    'lib',
    'vite',
    'traceViewer',
  );
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const files = new Map<string, ViewerFile>();
  for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const type = contentTypes[extname(path)];
    if (type === undefined) continue;
    files.set(path.replaceAll('\\', '/'), {
      type,
      body: readFileSync(join(root, path)),
      isHashed: /[.-][\w-]{8}\.(js|css|ttf|svg)$/.test(path),
    });
  }
  const ownFile = (source: string): ViewerFile => ({
    type: contentTypes['.js'] ?? '',
    body: Buffer.from(source),
    isHashed: false,
  });
  files.set(ownScript, ownFile(beside('trace-viewer-page.js')));
  files.set(
    'sw.bundle.js',
    ownFile(`${beside('trace-viewer-worker.js')}\n${read('sw.bundle.js')}`),
  );
  const withGuard = (page: string): string => {
    const guarded = page.replace(
      '<script type="module"',
      `<script src="./${ownScript}"></script>\n    <script type="module"`,
    );
    if (guarded === page) throw new Error('expected the page of the trace viewer to have a module');
    return guarded;
  };
  const page = withGuard(read('index.html'));
  return {
    page,
    snapshotPage: withGuard(read('snapshot.html')),
    files,
    pagePolicy: [
      "default-src 'none'",
      `script-src 'self' ${hashesOf(page).join(' ')}`,
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data: blob:",
      "media-src 'self' blob:",
      "font-src 'self' data:",
      "connect-src 'self'",
      "worker-src 'self'",
      // A frame without a snapshot is an empty `data:` page; it inherits this policy.
      "frame-src 'self' data:",
      "manifest-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
  };
}

let installed: Viewer | undefined;

const refusals = {
  foreign: {
    status: 400,
    title: 'This is not a trace of this installation',
    text: 'Open a trace from the files of a result.',
  },
  altered: {
    status: 403,
    title: 'This link is not valid',
    text: 'It was altered on its way. Open the trace from the files of the result again.',
  },
  expired: {
    status: 403,
    title: 'This link has expired',
    text: 'Links are valid for one hour. Open the trace from the files of the result again.',
  },
};

function refuse(
  response: Response,
  { status, title, text }: { status: number; title: string; text: string },
): void {
  sendPage(response, status, title, html`<p>${text}</p>`);
}

/**
 * Origin of the viewer. On one machine a host of its own costs nothing, because browsers resolve
 * every name below `localhost` to this machine. Otherwise only the operator can provide one.
 */
export function traceViewerUrl(setting: string | undefined, publicUrl: string): string | null {
  if (setting !== undefined) return new URL(setting).origin;
  const { protocol, hostname, port } = new URL(publicUrl);
  if (protocol !== 'http:' || !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
    return null;
  return `http://traces.localhost${port === '' ? '' : `:${port}`}`;
}

export interface TraceViewerParts {
  /** Origin of the viewer; null when it is not served. */
  viewerUrl: string | null;
  publicUrl: string;
  links: ArtifactLinks;
  /** In milliseconds since the epoch. */
  now: () => number;
}

/** Allowed query parameters of the page besides the trace. */
const pageParameters: Readonly<Record<string, readonly string[]>> = {
  '/': ['trace'],
  '/index.html': ['trace'],
  '/snapshot.html': ['trace', 'r', 'name', 'phase', 'pageId'],
};

/**
 * Middleware that answers every request to the host of the viewer. For other hosts it answers only
 * the path of the previous viewer's worker, with a worker that removes itself.
 */
export function serveTraceViewer(parts: TraceViewerParts): RequestHandler {
  const { viewerUrl, publicUrl, links, now } = parts;
  const router = Router();
  // Browsers keep a worker that was once served beside the console until another one replaces
  // it.
  router.get('/trace-viewer/sw.bundle.js', (_request, response) => {
    response.set('Cache-Control', 'no-store').type('js')
      .send(`self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', () => self.registration.unregister());
`);
  });
  if (viewerUrl === null) return router;

  const { hostname } = new URL(viewerUrl);
  // Two megabytes, read and kept once in a process.
  const viewer = (installed ??= readViewer());
  const workerPolicy = `default-src 'none'; connect-src 'self' ${publicUrl}/v1/artifacts/`;
  const isViewer = (request: Request): boolean =>
    (request.headers.host ?? '').toLowerCase().replace(/:\d{1,5}$/, '') === hostname;

  return (request, response, next) => {
    if (!isViewer(request)) {
      router(request, response, next);
      return;
    }
    response.set('X-Content-Type-Options', 'nosniff').set('Referrer-Policy', 'no-referrer');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      refuse(response, { ...refusals.foreign, status: 405 });
      return;
    }
    const { path } = request;
    const allowed = pageParameters[path];
    if (allowed !== undefined) {
      const mark = request.url.indexOf('?');
      const query = new URLSearchParams(mark === -1 ? '' : request.url.slice(mark + 1));
      const hasOthers = [...query.keys()].some((name) => !allowed.includes(name));
      const worth =
        hasOthers || query.getAll('trace').length !== 1
          ? 'foreign'
          : links.checkLink(query.get('trace') ?? '', now());
      if (worth !== 'valid') {
        refuse(response, refusals[worth]);
        return;
      }
      response
        .set('Content-Security-Policy', viewer.pagePolicy)
        .set('Cache-Control', 'no-cache')
        .type('html')
        .send(path === '/snapshot.html' ? viewer.snapshotPage : viewer.page);
      return;
    }
    const file = viewer.files.get(path.slice(1));
    if (file === undefined) {
      refuse(response, { ...refusals.foreign, status: 404 });
      return;
    }
    response
      .set('Content-Type', file.type)
      .set('Cache-Control', file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
      .set(
        'Content-Security-Policy',
        path === '/sw.bundle.js' ? workerPolicy : "default-src 'none'",
      )
      .end(file.body);
  };
}
