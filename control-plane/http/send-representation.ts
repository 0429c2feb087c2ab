/** Sends bytes that were made once: packed for those who accept it, or only that nothing has changed. */
import type { Request, Response } from 'express';
import type { Representation } from '../status-pages/representation.ts';

function isKnown(request: Request, etag: string): boolean {
  const given = request.headers['if-none-match'];
  if (given === undefined) return false;
  return given.split(',').some((one) => ['*', etag].includes(one.trim()));
}

function acceptsGzip(request: Request): boolean {
  const accepted = request.headers['accept-encoding'] ?? '';
  return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(accepted);
}

/** `isPrivate` keeps it out of every cache but the visitor's own. */
export function sendRepresentation(
  request: Request,
  response: Response,
  { status, headers, body, etag, packed }: Representation,
  isPrivate: boolean,
): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader('Vary', isPrivate ? 'Accept-Encoding, Cookie' : 'Accept-Encoding');
  if (status === 200) {
    response.setHeader('ETag', etag);
    response.setHeader(
      'Cache-Control',
      isPrivate ? 'private, no-cache' : 'public, max-age=1, stale-if-error=60',
    );
    if (isKnown(request, etag)) {
      response.statusCode = 304;
      response.end();
      return;
    }
  } else {
    response.setHeader('Cache-Control', 'no-store');
  }
  const small = acceptsGzip(request) ? packed() : null;
  if (small !== null) response.setHeader('Content-Encoding', 'gzip');
  const sent = small ?? body;
  response.statusCode = status;
  response.setHeader('Content-Length', sent.length);
  response.end(request.method === 'HEAD' ? undefined : sent);
}
