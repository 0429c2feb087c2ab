/** The Express application: the order of middleware, routes and the last error handler. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Router,
} from 'express';
import { jsonProblem } from '@monitor/shared/read-json.ts';
import type { Logger } from 'pino';
import { databaseFailure } from '../db/failure.ts';
import { ApiError, invalidHeader } from '../errors/api-error.ts';
import { visitorOf } from '../http/visitor.ts';
import type { doors } from '../core/doors.ts';
import { html } from '../core/html.ts';
import { sendPage } from '../http/plain-page.ts';
import type { WriteWatch } from '../core/write-watch.ts';

interface AppParts {
  publicUrl: string;
  /** What each request passes before it comes to a door. */
  before: readonly RequestHandler[];
  /** In the order they are tried. A door that has no row does not compile. */
  doors: Readonly<Record<keyof typeof doors, RequestHandler | Router>>;
  /** Addresses and networks of proxies whose `X-Forwarded-*` headers are trusted. */
  trustedProxies: readonly string[];
  logger: Logger;
  writes: WriteWatch;
}

/** A harmless request id of the caller is kept, so that the logs of both sides can be joined. */
const nameRequest: RequestHandler = (request, response, next) => {
  const given = request.get('x-request-id');
  const id = given !== undefined && /^[\w-]{8,64}$/.test(given) ? given : randomUUID();
  response.locals['requestId'] = id;
  response.setHeader('x-request-id', id);
  next();
};

function notJson(error: object): string {
  const problem = 'body' in error ? jsonProblem(String(error.body)) : null;
  return `the body is not valid JSON${problem === null ? '' : `: ${problem}`}`;
}

/** Errors of the body parser have a `type`; these are the ones that a client can cause. */
function fromBodyParser(error: unknown): ApiError | undefined {
  if (typeof error !== 'object' || error === null || !('type' in error)) return undefined;
  switch (error.type) {
    case 'entity.parse.failed':
      return new ApiError('MALFORMED_JSON', notJson(error), { source: 'payload' });
    case 'charset.wrong':
      return new ApiError('MALFORMED_JSON', 'the body is not in UTF-8', { source: 'payload' });
    case 'entity.too.large': {
      const limit = 'limit' in error ? ` of ${String(error.limit)} bytes` : '';
      return new ApiError('PAYLOAD_TOO_LARGE', `the body is over the limit${limit}`);
    }
    case 'parameters.too.many':
      return new ApiError('PAYLOAD_TOO_LARGE', 'the body has too many fields');
    case 'charset.unsupported':
    case 'encoding.unsupported': {
      const header = error.type === 'charset.unsupported' ? 'content-type' : 'content-encoding';
      const message = `"${header}" names an encoding that is not supported`;
      return new ApiError('UNSUPPORTED_MEDIA_TYPE', message, { source: 'headers', keys: [header] });
    }
    case 'request.aborted':
    case 'request.size.invalid':
      return new ApiError('MALFORMED_JSON', 'the body ended early', { source: 'payload' });
    default:
      return undefined;
  }
}

function toApiError(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error;
  const parsed = fromBodyParser(error);
  if (parsed !== undefined) return parsed;
  // Express throws these for paths such as /%ff, zlib for bodies that are not what they claim to
  // be.
  if (error instanceof URIError) {
    return new ApiError('VALIDATION', 'the path is not valid', { source: 'params' });
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  // Codes of zlib, brotli and zstd, in this order.
  if (/^(Z_|ERR__ERROR_|ZSTD_)/.test(code)) {
    return new ApiError('MALFORMED_JSON', 'the body is not validly compressed', {
      source: 'payload',
    });
  }
  const failure = databaseFailure(error);
  if (failure === 'conflict') {
    return new ApiError('UNAVAILABLE', 'others write the same at this moment; ask again');
  }
  if (failure === 'unique') {
    return new ApiError('CONFLICT', 'another request has just stored the same; read it first');
  }
  if (code.startsWith('SQLITE_BUSY')) {
    return new ApiError('UNAVAILABLE', 'the database is being written to by another process');
  }
  return undefined;
}

function notFound(request: Request): ApiError {
  return new ApiError('NOT_FOUND', `there is nothing at ${request.method} ${request.path}`);
}

/** A client that waits for a WebSocket would take any other answer for a redirect, or for its begin. */
const refuseWebSockets: RequestHandler = (request, _response, next) => {
  if (request.get('upgrade')?.toLowerCase() === 'websocket') {
    throw invalidHeader('upgrade', 'must not be "websocket": nothing here speaks WebSocket');
  }
  next();
};

/** The address of a client whose request does not pass through the app: an upgrade. */
export function visitorAt(app: Express, { headers, socket }: IncomingMessage): string {
  const asRequest = { headers: { value: headers }, socket: { value: socket } };
  return visitorOf(Object.create(app.request, asRequest) as Request);
}

export function buildApp(parts: AppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');
  app.set('trust proxy', parts.trustedProxies);
  app.use(nameRequest);
  app.use(refuseWebSockets);
  for (const step of [...parts.before, ...Object.values(parts.doors)]) app.use(step);
  app.use((request, response) => {
    const isPage = request.method === 'GET' && !request.path.startsWith('/v1/');
    if (!isPage || request.accepts(['json', 'html']) !== 'html') throw notFound(request);
    const home = html`<p><a href="${parts.publicUrl}/console/">Open the console</a></p>`;
    sendPage(response, 404, 'Page not found', home);
  });
  const answerError: ErrorRequestHandler = (error: unknown, request, response, next) => {
    const requestId = String(response.locals['requestId']);
    let known = parts.writes.noteFailure(error)
      ? new ApiError('UNAVAILABLE', parts.writes.problem ?? 'nothing can be written at the moment')
      : toApiError(error);
    if (known === undefined) {
      parts.logger.error(
        { err: error, requestId, method: request.method, path: request.path },
        'request failed',
      );
      known = new ApiError('INTERNAL', 'internal error; the log has its details under requestId');
    }
    if (response.headersSent) {
      next(error);
      return;
    }
    if (known.code === 'BAD_TOKEN' && !response.hasHeader('WWW-Authenticate')) {
      response.setHeader('WWW-Authenticate', 'Bearer');
    }
    const { retryAfterSeconds } = known.attributes;
    if (retryAfterSeconds !== undefined) {
      response.setHeader('Retry-After', String(retryAfterSeconds));
    }
    if (known.code === 'UNAVAILABLE') {
      response.setHeader('Retry-After', String(parts.writes.retryAfterSeconds));
    }
    response.status(known.statusCode).json(known.toBody(requestId));
  };
  app.use(answerError);
  return app;
}
