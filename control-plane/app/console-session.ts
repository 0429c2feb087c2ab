/** Signs in to the console and out of it: an API key is exchanged for a session. */
import express, { Router, type Request, type RequestHandler } from 'express';
import { z } from 'zod';
import type { RateLimit } from '@monitor/shared/contract/route.ts';
import { ApiError, badToken } from '../errors/api-error.ts';
import { sha256Hex } from '../core/keys.ts';
import {
  endConsoleSession,
  type KeyStore,
  rotateConsoleSession,
  startConsoleSession,
} from '../accounts/index.ts';
import type { Services } from '../core/services.ts';
import type { ConsoleCookie } from '../http/console-cookie.ts';
import { RateLimiter } from '../http/rate-limit.ts';
import { validate } from '../http/validate.ts';
import { visitorOf } from '../http/visitor.ts';

const credentials = z.object({
  key: z.string().min(1).max(512),
  account: z.string().max(100).default(''),
  isKept: z.boolean().default(false),
});

const signInsOfVisitor: RateLimit = { requests: 30, seconds: 60 };

/** The routes below `/console/session`. They are not part of the API, which takes keys. */
export function serveConsoleSessions(
  services: Pick<Services, 'clock' | 'db' | 'newId'>,
  keys: KeyStore,
  cookie: ConsoleCookie,
): Router {
  const { clock, db } = services;
  const limiter = new RateLimiter(() => clock.monotonic());
  const router = Router({ strict: true });
  const ownRequests: RequestHandler = (request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    if (!cookie.isFromConsole(request)) {
      throw new ApiError('FORBIDDEN', 'only the console itself may ask for this');
    }
    next();
  };
  const end = async (request: Request): Promise<void> => {
    const token = cookie.tokenOf(request);
    if (token === undefined) return;
    await endConsoleSession(db, token);
    keys.forget();
  };

  router.get('/console/session', ownRequests, async (request, response) => {
    const token = cookie.tokenOf(request);
    const found = token === undefined ? undefined : await keys.findSession(sha256Hex(token));
    if (token !== undefined && found !== undefined) {
      const next = await rotateConsoleSession(services, token);
      if (next !== null) cookie.set(request, response, next);
    }
    response.json({ isSignedIn: found !== undefined });
  });

  router.post(
    '/console/session',
    ownRequests,
    express.json({ limit: 4_096 }),
    async (request, response) => {
      const { isAllowed, resetMs } = limiter.take(visitorOf(request), signInsOfVisitor);
      if (!isAllowed) {
        const seconds = Math.max(1, Math.ceil(resetMs / 1000));
        response.setHeader('Retry-After', String(seconds));
        throw new ApiError(
          'TOO_MANY_REQUESTS',
          `too many attempts; try again in ${seconds} seconds`,
          {
            retryAfterSeconds: seconds,
          },
        );
      }
      const { key, account, isKept } = validate(credentials, request.body, 'payload');
      const principal = await keys.findApiKey(sha256Hex(key));
      if (principal === undefined) throw badToken();
      if (account !== '' && account.trim().toLowerCase() !== principal.accountId) {
        throw new ApiError('FORBIDDEN', 'the key does not belong to this account', {
          source: 'payload',
          keys: ['account'],
        });
      }
      await end(request);
      cookie.set(request, response, await startConsoleSession(services, principal, isKept));
      response.status(204).end();
    },
  );

  router.delete('/console/session', ownRequests, async (request, response) => {
    await end(request);
    cookie.clear(request, response);
    response.status(204).end();
  });
  return router;
}
