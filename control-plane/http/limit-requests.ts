/** Limits of requests as callers see them: headers, and 429. */
import type { Request, Response } from 'express';
import type { RateLimit } from '@monitor/shared/contract/route.ts';
import { ApiError } from '../errors/api-error.ts';
import type { RateDecision, RateLimiter } from './rate-limit.ts';
import { visitorOf } from './visitor.ts';

/** Counts a request, sends the rate limit headers, and refuses too many requests. */
export function count(
  limiter: RateLimiter,
  response: Response,
  key: string,
  whole: RateLimit,
): void {
  const decision = limiter.take(key, whole);
  const { remaining, resetMs, limit } = decision;
  const resetSeconds = Math.max(1, Math.ceil(resetMs / 1000));
  response.setHeader('RateLimit-Limit', String(limit.requests));
  response.setHeader('RateLimit-Remaining', String(remaining));
  response.setHeader('RateLimit-Reset', String(resetSeconds));
  response.setHeader('RateLimit-Policy', `${limit.requests};w=${limit.seconds}`);
  refuseUnless(decision);
}

/** Throws 429 for a request beyond the limit. */
export function refuseUnless({ isAllowed, resetMs, limit }: RateDecision): void {
  if (isAllowed) return;
  const resetSeconds = Math.max(1, Math.ceil(resetMs / 1000));
  throw new ApiError(
    'TOO_MANY_REQUESTS',
    `more than ${limit.requests} requests within ${limit.seconds} seconds; try again in ${resetSeconds} seconds`,
    { retryAfterSeconds: resetSeconds },
  );
}

/** Statuses that reveal which keys, tokens and addresses do not exist. */
const guesses: ReadonlySet<number> = new Set([401, 403, 404]);

/**
 * Counts refusals of anonymous clients by address. A valid key is not affected by refusals from the
 * same address, which may be that of a whole office.
 */
export function countRefusal(
  limiter: RateLimiter,
  request: Request,
  limit: RateLimit,
  error: unknown,
): void {
  if (!(error instanceof ApiError) || !guesses.has(error.statusCode)) return;
  refuseUnless(limiter.take(`refused ${visitorOf(request)}`, limit));
}
