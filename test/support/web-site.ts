/** A small site for browsers to visit. */
import { type IncomingHttpHeaders } from 'node:http';
import { httpServer } from './servers.ts';

const page = (title: string, body: string): string =>
  `<!doctype html><title>${title}</title><h1>${title}</h1>${body}`;

const pages: Readonly<Record<string, string>> = {
  '/': page('Shop', '<p>Welcome</p><a href="/second">next</a>'),
  '/second': page('Second', '<p>More</p>'),
  '/errors': page(
    'Errors',
    '<script>console.error("bad thing"); console.log("fine"); setTimeout(() => { throw new Error("page broke"); });</script><img src="/missing.png">',
  ),
  '/loop': page('Loop', '<script>setTimeout(() => { while (true); }, 100);</script>'),
  '/dialogs': page(
    'Dialogs',
    '<script>setTimeout(() => { alert("hello"); document.title = "Answered"; });</script>',
  ),
};

export interface WebSite {
  readonly url: string;
  /** Headers of all requests, by path. */
  readonly seen: Map<string, IncomingHttpHeaders>;
}

/** Serves it until the test ends. */
export async function webSite(t: { after(close: () => unknown): unknown }): Promise<WebSite> {
  const seen = new Map<string, IncomingHttpHeaders>();
  const server = await httpServer((request, response) => {
    const path = request.url ?? '/';
    seen.set(path, request.headers);
    if (path.startsWith('/api/')) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ path, method: request.method }));
      return;
    }
    const text = pages[path];
    response.statusCode = text === undefined ? 404 : 200;
    response.setHeader('content-type', 'text/html');
    response.end(text ?? 'not here');
  });
  t.after(() => server[Symbol.asyncDispose]());
  return { url: server.url, seen };
}
