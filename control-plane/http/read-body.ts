/** Reads bodies of requests, within limits of size and time. */
import { isUtf8 } from 'node:buffer';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { repeatedField } from '@monitor/shared/read-json.ts';
import { defaultBodyLimitBytes, type Route } from '@monitor/shared/contract/route.ts';
import { ApiError, invalidField } from '../errors/api-error.ts';

/** A client that stops sending for this long is disconnected. */
const silenceMs = 60_000;
/** How long the rest of a refused body is read and dropped. */
const discardWithinMs = 5_000;

const parsers = new Map<number, RequestHandler>();
/** Sizes of parsed bodies. */
const parsedBytes = new WeakMap<object, number>();

/** Texts of bodies that people send, until they are known to be JSON. */
const unread = new WeakMap<object, Buffer | null>();

export const bytesOfBody = (request: Request): number => parsedBytes.get(request) ?? 0;

function bodyParser(limitBytes: number): RequestHandler {
  const known = parsers.get(limitBytes);
  if (known !== undefined) return known;
  const parser = express.json({
    limit: limitBytes,
    strict: false,
    inflate: true,
    // `readBody` has checked the type; the default would refuse `application/merge-patch+json`.
    type: () => true,
    verify: (request, _response, bytes, charset) => {
      parsedBytes.set(request, bytes.length);
      if (unread.has(request) && charset === 'utf-8') unread.set(request, bytes);
      // They would be replaced, and stored as something else than what was sent.
      if (charset === 'utf-8' && !isUtf8(bytes)) {
        throw Object.assign(new Error('the body is not in UTF-8'), { type: 'charset.wrong' });
      }
    },
  });
  parsers.set(limitBytes, parser);
  return parser;
}

/** Refuses what parsing has dropped: of a field that is given twice, the first value. */
function refuseRepeated(request: Request): void {
  const bytes = unread.get(request);
  unread.delete(request);
  const field = bytes == null ? null : repeatedField(bytes.toString());
  if (field !== null) throw invalidField(field, 'is given twice');
}

/**
 * Parses the body of a route that takes one. Refuses other types than JSON, and `ofPeople` also a field that is given
 * twice.
 */
export function readBody(
  route: Pick<Route, 'bodyLimitBytes'>,
  request: Request,
  response: Response,
  { withinMs, ofPeople = false }: { withinMs: number | undefined; ofPeople?: boolean },
): Promise<unknown> {
  const hasBody =
    request.headers['transfer-encoding'] !== undefined ||
    Number(request.headers['content-length'] ?? 0) > 0;
  if (!hasBody) return Promise.resolve(undefined);
  if (request.is('json') === false && request.is('+json') === false) {
    throw new ApiError(
      'UNSUPPORTED_MEDIA_TYPE',
      `the body must be JSON: send "Content-Type: application/json" instead of "${request.get('content-type') ?? 'none'}"`,
      { source: 'headers', keys: ['content-type'] },
    );
  }
  if (ofPeople) unread.set(request, null);
  return new Promise((resolve, reject) => {
    const parse = bodyParser(route.bodyLimitBytes ?? defaultBodyLimitBytes);
    const timer =
      withinMs === undefined
        ? undefined
        : setTimeout(() => {
            response.setHeader('Connection', 'close');
            reject(new ApiError('REQUEST_TIMEOUT', 'the body took too long to arrive'));
          }, withinMs);
    parse(request, response, (error?: unknown) => {
      clearTimeout(timer);
      if (error === undefined) resolve(request.body);
      else reject(error instanceof Error ? error : new Error(String(error)));
    });
  }).then((body) => {
    refuseRepeated(request);
    return body;
  });
}

/**
 * Keeps reading after an early answer: a client that is disconnected while it sends may never see
 * the answer.
 */
export function watchStream(request: Request, response: Response): void {
  request.setTimeout(silenceMs, () => {
    request.destroy();
  });
  response.once('finish', () => {
    if (request.complete || request.destroyed) return;
    const timer = setTimeout(() => {
      request.destroy();
    }, discardWithinMs);
    request.once('close', () => {
      clearTimeout(timer);
    });
    request.resume();
  });
}
