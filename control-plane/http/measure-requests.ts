/** Counts and times every request, by the operation that answered it. */
import type { RequestHandler } from 'express';
import type { Clock } from '@monitor/shared/clock.ts';
import type { ControlPlaneMetrics } from '../observability/metrics.ts';

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);
/** Whoever hangs up before the answer has no status; proxies of the field call it this. */
const hungUp = 499;

/** The first step of the application; `implement` says which operation it was in `response.locals`. */
export function measureRequests(
  { requests, requestDuration }: Pick<ControlPlaneMetrics, 'requests' | 'requestDuration'>,
  clock: Clock,
): RequestHandler {
  return (request, response, next) => {
    const begunAt = clock.monotonic();
    response.once('close', () => {
      const route = String(response.locals['operationId'] ?? 'other');
      const status = String(response.writableFinished ? response.statusCode : hungUp);
      const method = methods.has(request.method) ? request.method : 'other';
      requests.inc({ route, method, status });
      requestDuration.observe({ route }, (clock.monotonic() - begunAt) / 1000);
    });
    next();
  };
}
