/** Answers the requests of all routes. */
import type { RequestHandler } from 'express';
import type { HTTPMethod } from 'find-my-way';
import { nearestWord } from '@monitor/shared/nearest-word.ts';
import { ApiError } from '../errors/api-error.ts';
import { valueOfAnswer } from './answer.ts';
import { AuditedCalls } from './audited-calls.ts';
import type { BoundRoute } from './handlers.ts';
import { RateLimiter } from './rate-limit.ts';
import { type Found, routerOf } from './router-of.ts';
import { entryOf, type ImplementOptions, pathOf, serveRoute } from './serve-route.ts';
import { Turns } from './turns.ts';

const methods: readonly HTTPMethod[] = ['HEAD', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * The known last path segments beside this one for the method: check types, when `POST
 * /v1/checks/grpc` names none of them. Empty for an id, because ids take other methods.
 */
function siblingsOf(routes: readonly BoundRoute[], method: string, path: string): string[] {
  const end = path.lastIndexOf('/');
  const last = path.slice(end + 1);
  const isPlace = routes.some(({ route }) => route.path === path);
  if (isPlace || last === '' || /^\d+$|^[\da-f]{8}-[\da-f-]{27}$/i.test(last)) return [];
  return routes.flatMap(({ route }) => {
    const own = route.path.lastIndexOf('/');
    const isBeside = route.method === method && route.path.slice(0, own) === path.slice(0, end);
    const part = route.path.slice(own + 1);
    return isBeside && !part.startsWith('{') ? [part] : [];
  });
}

function notThere(method: string, path: string, siblings: readonly string[]): ApiError {
  const parent = path.slice(0, path.lastIndexOf('/'));
  const meant = nearestWord(path.slice(parent.length + 1), siblings);
  const hint =
    meant === null ? `${parent}/ has ${siblings.join(', ')}` : `did you mean ${parent}/${meant}?`;
  return new ApiError('NOT_FOUND', `${method} ${path} does not exist; ${hint}`);
}

/**
 * All routes as one middleware: matching two hundred routes one after the other would cost more
 * than the answer. Known paths answer other methods with 405 and `Allow`; unknown paths go to the
 * next middleware.
 */
export function implement(
  routes: readonly BoundRoute[],
  options: ImplementOptions,
): RequestHandler {
  const router = routerOf(routes);
  const readers = Map.groupBy(
    routes.filter(
      ({ route }) =>
        route.method === 'GET' && route.authentication === 'apiKey' && route.hasEffects !== true,
    ),
    ({ route }) => entryOf(route),
  );
  const audited =
    options.audit === undefined
      ? null
      : new AuditedCalls(routes, { write: options.audit, parse: valueOfAnswer });
  const limiter = new RateLimiter(options.monotonic, options.shareOfLimit);
  const shared = { options, limiter, turns: new Turns(), audited };
  const serves = routes.map((one) => ({
    run: serveRoute(one, readers.get(entryOf(one.route)) ?? [], shared),
    operationId: one.route.operationId,
  }));
  return async (request, response, next) => {
    const path = pathOf(request);
    const found = router.find(request.method as HTTPMethod, path);
    const known = found === null ? undefined : serves[(found.store as Found).place];
    if (found !== null && known !== undefined) {
      response.locals['operationId'] = known.operationId;
      await known.run(request, response, found.params);
      return;
    }
    // Throws for an invalid percent escape.
    decodeURIComponent(path);
    const allow = methods.filter((other) => router.find(other, path) !== null);
    if (allow.length === 0) {
      next();
      return;
    }
    const siblings = siblingsOf(routes, request.method, path);
    if (siblings.length > 0) throw notThere(request.method, path, siblings);
    response.setHeader('Allow', allow.join(', '));
    throw new ApiError(
      'METHOD_NOT_ALLOWED',
      `${request.method} is not allowed here; allowed: ${allow.join(', ')}`,
      { allow },
    );
  };
}
