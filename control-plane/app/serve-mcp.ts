/**
 * The Model Context Protocol at `/mcp`. A call of a tool is a request to the API in this process, with the key of who
 * asks: so it has the same guards, limits and entries of the audit log as any other request.
 */
import { once } from 'node:events';
import { request, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, duplexPair, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { Router, type Request, type Response as ExpressResponse } from 'express';
import type { Logger } from 'pino';
import { readAtMost } from '@monitor/shared/read-at-most.ts';
import { doors } from '../core/doors.ts';
import { version } from '../core/version.ts';
import { ApiError, invalidField, invalidHeader, invalidQuery } from '../errors/api-error.ts';
import { authenticate, checkAccount, type KeyFinder } from '../http/authenticate.ts';
import { countRefusal } from '../http/limit-requests.ts';
import type { RateLimiter } from '../http/rate-limit.ts';
import { readBody } from '../http/read-body.ts';
import { resourceMetadata, searchOf } from './serve-oauth.ts';
import type { CallApi } from '../mcp/index.ts';

interface McpParts {
  keys: KeyFinder;
  publicUrl: string;
  attempts: RateLimiter;
  bodyWithinMs: number;
  /** Of this process. */
  server: Server;
  logger: Logger;
}

/** Of the API, before it is cut. */
const maxAnswerBytes = 16 * 1_048_576;
const passedOn = ['authorization', 'x-service-account', 'host'] as const;

/** A connection within this process to its own server, of the client with an address. */
function connect(server: Server, address: string | undefined): Duplex {
  const [near, far] = duplexPair();
  server.emit('connection', Object.assign(far, { remoteAddress: address }));
  return near;
}

/** Calls the API as the client of a request. */
function callAs(asking: Request, server: Server): CallApi {
  const own = Object.fromEntries(
    passedOn.flatMap((name) => {
      const value = asking.get(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  return async ({ method, path, headers, body = '' }) => {
    const sent = request({
      ...{ method, path, headers: { ...own, ...headers, connection: 'close' } },
      // Types of Node want a socket, and any stream does.
      createConnection: () => connect(server, asking.ip) as Socket,
    });
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const { etag = null, 'content-range': range = null } = answer.headers;
    const read = await readAtMost(answer, maxAnswerBytes).catch(() => null);
    if (read === null) {
      const problem = `the answer has more than ${maxAnswerBytes} bytes: ask for a part of it`;
      return { status: 413, etag: null, range: null, text: problem };
    }
    return { status: answer.statusCode ?? 0, etag, range, text: read };
  };
}

export function serveMcp({
  keys,
  publicUrl,
  attempts,
  bodyWithinMs,
  server,
  logger,
}: McpParts): Router {
  const { address, account } = doors.mcp;
  const router = Router();

  /** A client without a key learns nothing, not even which tools there are. */
  const identify = async (request: Request, response: ExpressResponse) => {
    try {
      // Without cookies: another page of the browser must not call in the name of who reads it.
      const principal = await authenticate(request, 'apiKey', keys, undefined);
      if (principal.kind !== 'apiKey') throw new Error('a key of the API has another kind');
      checkAccount(request, principal.accountId);
      return principal;
    } catch (error) {
      countRefusal(attempts, request, address.refusals, error);
      if (error instanceof ApiError && error.statusCode === 401) {
        const metadata = resourceMetadata(publicUrl, searchOf(request));
        response.setHeader('WWW-Authenticate', `Bearer resource_metadata="${metadata}"`);
      }
      throw error;
    }
  };

  const answer = async (request: Request, response: ExpressResponse): Promise<void> => {
    const origin = request.get('origin');
    if (origin !== undefined && origin !== new URL(publicUrl).origin) {
      throw invalidHeader('origin', 'must be absent: no other page may call this');
    }
    const principal = await identify(request, response);
    attempts.refuseMany(`mcp ${principal.keyId}`, account.messages);
    if (request.method !== 'POST') {
      response.setHeader('Allow', 'POST');
      throw new ApiError('METHOD_NOT_ALLOWED', 'messages are sent by POST; nothing is streamed');
    }
    const body = await readBody({}, request, response, { withinMs: bodyWithinMs });
    // Each message counts.
    if (Array.isArray(body)) throw invalidField('', 'must be one message, not a list of them');
    const { openMcpServer, readTags } = await import('../mcp/index.ts');
    const { createMcpHandler } = await import('@modelcontextprotocol/server');
    const { tags: given } = request.query;
    const chosen = readTags(typeof given === 'string' ? given : undefined);
    if ('problem' in chosen) throw invalidQuery('tags', chosen.problem);
    const callApi = callAs(request, server);
    const handler = createMcpHandler(() => openMcpServer(callApi, version, chosen.tags), {
      onerror: (error) => {
        logger.debug({ err: error }, 'a message of the Model Context Protocol was refused');
      },
    });
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers)) {
      if (typeof value === 'string' && name !== 'content-length') headers.set(name, value);
    }
    const asked = new globalThis.Request(`${publicUrl}/mcp`, { method: request.method, headers });
    const answered = await handler.fetch(asked, { parsedBody: body });
    response.status(answered.status);
    for (const [name, value] of answered.headers) response.setHeader(name, value);
    if (answered.body === null) response.end();
    else await pipeline(Readable.fromWeb(answered.body as ReadableStream), response);
  };

  router.all('/mcp', answer);
  return router;
}
