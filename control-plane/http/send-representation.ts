/** Sends a static body: compressed if accepted, or 304. */
import type { Request, Response } from 'express';
import { acceptsGzip, isUnchanged } from './accepted.ts';
import type { Representation } from './representation.ts';

/** `isPrivate` allows only the cache of the browser. */
export function sendRepresentation(
  request: Request,
  response: Response,
  { status, headers, body, etag, packed }: Representation,
  isPrivate: boolean,
): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.vary(isPrivate ? 'Accept-Encoding, Cookie' : 'Accept-Encoding');
  if (status === 200) {
    response.setHeader('ETag', etag);
    response.setHeader(
      'Cache-Control',
      isPrivate ? 'private, no-cache' : 'public, max-age=1, stale-if-error=60',
    );
    if (isUnchanged(request.headers, etag)) {
      response.statusCode = 304;
      response.end();
      return;
    }
  } else {
    response.setHeader('Cache-Control', 'no-store');
  }
  const small = acceptsGzip(request.headers['accept-encoding']) ? packed() : null;
  if (small !== null) response.setHeader('Content-Encoding', 'gzip');
  const sent = small ?? body;
  response.statusCode = status;
  response.setHeader('Content-Length', sent.length);
  response.end(request.method === 'HEAD' ? undefined : sent);
}
