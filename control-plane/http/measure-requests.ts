/** Counts and times requests by operation. */
import type { RequestHandler } from 'express';
import type { Clock } from '@monitor/shared/clock.ts';
import type { ControlPlaneMetrics } from '../observability/metrics.ts';

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);
/** Status of requests whose client disconnected before the answer, as nginx logs them. */
const hungUp = 499;

/** The first middleware; `implement` sets the operation in `response.locals`. */
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
