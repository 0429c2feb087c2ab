/** Binds handlers to route declarations: authenticate, parse, call, check the answer, send. */
import express, { Router, type Request, type RequestHandler, type Response } from 'express';
import type { z } from 'zod';
import {
  defaultBodyLimitBytes,
  type Route,
  type RouteInput,
  type RouteOutput,
} from '@monitor/shared/contract/route.ts';
import { ApiError } from '../api-error.ts';
import { authenticate, type KeyFinder, type Principal } from './authenticate.ts';
import { validate } from './validate.ts';

/** What a handler may know of the call besides its parsed input. */
export interface CallContext<P extends Principal = Principal> {
  principal: P;
  /** When the request arrived, milliseconds since the epoch. */
  receivedAt: number;
  /** Aborted when the caller hangs up before the answer. */
  signal: AbortSignal;
  userAgent: string | null;
  /** `Origin` or `Referer`. */
  source: string | null;
  /** Total of a paged list; goes into `Content-Range`. */
  setTotal(total: number, offset: number, count: number): void;
}

type PrincipalOf<R extends Route> = Extract<Principal, { kind: R['authentication'] }>;

export type Handler<R extends Route> = (
  input: RouteInput<R>,
  context: CallContext<PrincipalOf<R>>,
) => Promise<RouteOutput<R>>;

/** One function per declared route: a missing or misnamed one does not compile. */
export type Handlers<Routes extends Record<string, Route>> = {
  [Name in keyof Routes]: Handler<Routes[Name]>;
};

export interface BoundRoute {
  route: Route;
  handle: (input: never, context: never) => Promise<unknown>;
}

/** Pairs routes with their handlers. */
export function bind<Routes extends Record<string, Route>>(
  routes: Routes,
  handlers: Handlers<Routes>,
): BoundRoute[] {
  return Object.entries(routes).map(([name, route]) => ({
    route,
    handle: handlers[name as keyof Routes] as BoundRoute['handle'],
  }));
}

export interface ImplementOptions {
  keys: KeyFinder;
  now: () => number;
  /** Parses every answer with its schema before sending: always in tests and development. */
  checkResponses: boolean;
}

const parsers = new Map<number, RequestHandler>();

function bodyParser(limitBytes: number): RequestHandler {
  const known = parsers.get(limitBytes);
  if (known !== undefined) return known;
  const parser = express.json({ limit: limitBytes, strict: false, inflate: true });
  parsers.set(limitBytes, parser);
  return parser;
}

/** Parses the body when the route takes one. Other types than JSON are refused rather than dropped. */
function readBody(route: Route, request: Request, response: Response): Promise<unknown> {
  if (route.body === undefined) return Promise.resolve(undefined);
  const hasBody =
    request.headers['transfer-encoding'] !== undefined ||
    Number(request.headers['content-length'] ?? 0) > 0;
  if (hasBody && request.is('json') === false && request.is('+json') === false) {
    throw new ApiError(
      'UNSUPPORTED_MEDIA_TYPE',
      `the body must be JSON: send "Content-Type: application/json" instead of "${request.get('content-type') ?? 'none'}"`,
      { source: 'headers', keys: ['content-type'] },
    );
  }
  return new Promise((resolve, reject) => {
    const parse = bodyParser(route.bodyLimitBytes ?? defaultBodyLimitBytes);
    parse(request, response, (error?: unknown) => {
      if (error === undefined) resolve(request.body);
      else reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
}

function callContext(
  request: Request,
  response: Response,
  principal: Principal,
  receivedAt: number,
): CallContext {
  let controller: AbortController | undefined;
  return {
    principal,
    receivedAt,
    get signal() {
      if (controller === undefined) {
        const made = new AbortController();
        controller = made;
        response.once('close', () => {
          made.abort();
        });
      }
      return controller.signal;
    },
    userAgent: request.get('user-agent') ?? null,
    source: request.get('origin') ?? request.get('referer') ?? null,
    setTotal(total, offset, count) {
      const range = count === 0 ? '*' : `${offset}-${offset + count - 1}`;
      response.setHeader('Content-Range', `items ${range}/${total}`);
    },
  };
}

/** In development an answer that breaks its own contract is a bug to see at once. */
function assertAnswer(route: Route, schema: z.ZodType, value: unknown): void {
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    throw new Error(`${route.operationId} answered against its contract: ${parsed.error.message}`);
  }
}

/** A router of these routes. Paths that exist answer other methods with 405 and `Allow`. */
export function implement(bound: readonly BoundRoute[], options: ImplementOptions): Router {
  const router = Router({ caseSensitive: true });
  const methodsOf = new Map<string, string[]>();
  for (const { route, handle } of bound) {
    const path = route.path.replace(/\{(\w+)\}/g, ':$1');
    methodsOf.set(path, [...(methodsOf.get(path) ?? []), route.method]);
    const method = route.method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
    router[method](path, async (request: Request, response: Response) => {
      const receivedAt = options.now();
      const principal = await authenticate(request, route.authentication, options.keys);
      const body = await readBody(route, request, response);
      const input = {
        params: route.params && validate(route.params, request.params, 'params'),
        query: route.query && validate(route.query, request.query, 'query'),
        body: route.body && validate(route.body, body, 'payload'),
      };
      const context = callContext(request, response, principal, receivedAt);
      const answer = await handle(input as never, context as never);
      if (response.destroyed) return;
      response.status(route.status);
      if (route.response === undefined) {
        response.end();
        return;
      }
      if (options.checkResponses) assertAnswer(route, route.response, answer);
      response.json(answer);
    });
  }
  for (const [path, methods] of methodsOf) {
    const allow = methods.includes('GET') ? ['HEAD', ...methods] : methods;
    router.all(path, (request: Request, response: Response) => {
      response.setHeader('Allow', allow.join(', '));
      throw new ApiError(
        'METHOD_NOT_ALLOWED',
        `${request.method} is not allowed here; allowed: ${allow.join(', ')}`,
        { allow },
      );
    });
  }
  return router;
}
