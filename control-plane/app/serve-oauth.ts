/**
 * OAuth for clients of `/mcp`: a client registers, sends a person to the console, and exchanges the code that comes back
 * for a key. Sources: RFC 6749, 7591, 7636, 8414, 8707, 9207, 9728; authorization of the Model Context Protocol.
 */
import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import { z } from 'zod';
import { codeChallenge, maxStateLength } from '@monitor/shared/contract/account.ts';
import {
  clientKeyMs,
  maxClientIdLength,
  OAuthClients,
  redirectProblem,
} from '../accounts/index.ts';
import { recordDone } from '../audit/index.ts';
import { doors } from '../core/doors.ts';
import { html } from '../core/html.ts';
import type { Services } from '../core/services.ts';
import { ApiError } from '../errors/api-error.ts';
import { sendPage } from '../http/plain-page.ts';
import type { RateLimiter } from '../http/rate-limit.ts';
import { visitorOf } from '../http/visitor.ts';

/** Where a client of `/mcp` learns how to get a key; `search` is the query of the address that it asked. */
export const resourceMetadata = (publicUrl: string, search: string) =>
  `${publicUrl}/.well-known/oauth-protected-resource/mcp${search}`;

export const searchOf = ({ originalUrl }: Request): string =>
  new URL(originalUrl, 'http://localhost').search;

const registration = z.object({
  client_name: z
    .string()
    // Marks of direction and quotes would let a name go on in the words around it.
    .transform(
      (name) =>
        name
          .replaceAll(/[\p{C}\p{Zl}\p{Zp}"“”«»]/gu, '')
          .trim()
          .slice(0, 100) || 'A program',
    )
    .default('A program'),
  redirect_uris: z
    .array(
      z
        .string()
        .max(1_000)
        .superRefine((address, context) => {
          const problem = redirectProblem(address);
          if (problem !== null) context.addIssue(problem);
        }),
    )
    .min(1)
    .max(5),
});
const text = z.string().min(1).max(8_192);

/** As clients of OAuth read it, and as every other error of the API. */
function refuse(response: Response, code: string, message: string, path?: string): void {
  response.status(400).json({
    ...{ error: code, error_description: message, statusCode: 400, message },
    attributes: { code: 'VALIDATION', ...(path !== undefined && { keys: [path] }) },
  });
}

/** Null after it has refused what does not fit. */
function parsed<Shape extends z.ZodType>(
  shape: Shape,
  given: unknown,
  response: Response,
  codeOf: (path: string) => string,
): z.output<Shape> | null {
  const read = shape.safeParse(given);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const path = String(issue?.path[0] ?? '');
  refuse(response, codeOf(path), `"${issue?.path.join('.')}" ${issue?.message ?? ''}`, path);
  return null;
}

function refusePage(response: Response, says: string): void {
  sendPage(response, 400, 'This program cannot be connected', html`<p>${says}</p>`);
}

interface OAuthParts {
  services: Services;
  attempts: RateLimiter;
  bodyWithinMs: number;
}

/** Comes before a body is read: what cannot be parsed counts too. */
function limited({ attempts }: OAuthParts, name: keyof typeof doors.oauth.address): RequestHandler {
  return (request, _response, next) => {
    attempts.refuseMany(`oauth ${name} ${visitorOf(request)}`, doors.oauth.address[name]);
    next();
  };
}

/** Parses a body within a time. */
function timed({ bodyWithinMs }: OAuthParts, parser: RequestHandler): RequestHandler {
  return (request, response, next) => {
    const timer = setTimeout(() => {
      response.setHeader('Connection', 'close');
      next(new ApiError('REQUEST_TIMEOUT', 'the body took too long to arrive'));
    }, bodyWithinMs);
    void parser(request, response, (error?: unknown) => {
      clearTimeout(timer);
      if (!response.headersSent) next(error);
    });
  };
}

function serveMetadata(router: Router, publicUrl: string): void {
  const server = {
    issuer: publicUrl,
    authorization_endpoint: `${publicUrl}/oauth/authorize`,
    token_endpoint: `${publicUrl}/oauth/token`,
    registration_endpoint: `${publicUrl}/oauth/register`,
    ...{ response_types_supported: ['code'], grant_types_supported: ['authorization_code'] },
    ...{ code_challenge_methods_supported: ['S256'] },
    ...{ token_endpoint_auth_methods_supported: ['none'] },
    authorization_response_iss_parameter_supported: true,
  };
  router.get('/.well-known/oauth-protected-resource{/*path}', (request, response) => {
    response.json({
      // Some clients compare it with the address that they were given, query and all.
      ...{ resource: `${publicUrl}/mcp${searchOf(request)}`, authorization_servers: [publicUrl] },
      ...{ bearer_methods_supported: ['header'], resource_name: 'Control plane' },
    });
  });
  // A path of PUBLIC_URL comes behind it.
  router.get('/.well-known/oauth-authorization-server{/*path}', (_request, response) => {
    response.json(server);
  });
}

export function serveOAuth(parts: OAuthParts): Router {
  const { services } = parts;
  const { publicUrl } = services;
  const clients = new OAuthClients(services);
  const router = Router();
  const resource = z
    .string()
    .refine((given) => given === publicUrl || given.startsWith(`${publicUrl}/`), {
      error: 'is another resource',
    })
    .optional();
  const authorizationRequest = z.object({
    response_type: z.literal('code'),
    code_challenge: codeChallenge,
    code_challenge_method: z.literal('S256'),
    state: z.string().max(maxStateLength).optional(),
    resource,
  });
  const tokenRequest = z.object({
    grant_type: z.literal('authorization_code'),
    ...{ code: text, client_id: text, redirect_uri: text.optional(), resource },
    code_verifier: z.string().min(43).max(128),
  });
  serveMetadata(router, publicUrl);
  router.use('/oauth', (_request, response, next) => {
    response.set('Cache-Control', 'no-store');
    next();
  });

  const json = timed(parts, express.json({ limit: 16_384 }));
  router.post('/oauth/register', limited(parts, 'registrations'), json, (request, response) => {
    const given = parsed(registration, request.body ?? {}, response, (path) =>
      path === 'redirect_uris' ? 'invalid_redirect_uri' : 'invalid_client_metadata',
    );
    if (given === null) return;
    const { client_name: name, redirect_uris: redirectUris } = given;
    const clientId = clients.register({ name, redirectUris });
    if (clientId.length > maxClientIdLength) {
      const problem = '"redirect_uris" are too long together';
      refuse(response, 'invalid_redirect_uri', problem, 'redirect_uris');
      return;
    }
    response.status(201).json({
      ...{ client_id: clientId, ...given },
      ...{ grant_types: ['authorization_code'], response_types: ['code'] },
      token_endpoint_auth_method: 'none',
    });
  });

  router.get('/oauth/authorize', limited(parts, 'authorizations'), (request, response) => {
    const { client_id: clientId, redirect_uri: redirectUri } = request.query;
    const isGiven = typeof clientId === 'string' && typeof redirectUri === 'string';
    const client = isGiven ? clients.findFor(clientId, redirectUri) : null;
    // Anybody can register an address: nobody is redirected there before they consented or refused.
    if (!isGiven || client === null) {
      const says = 'The program that sent you here is not registered.';
      refusePage(response, `${says} Connect it again in the program.`);
      return;
    }
    const asked = authorizationRequest.safeParse(request.query);
    if (!asked.success) {
      const [issue] = asked.error.issues;
      const problem = `"${issue?.path.join('.')}" ${issue?.message}`;
      refusePage(response, `The program asked in a way that is not supported: ${problem}.`);
      return;
    }
    const { state, code_challenge } = asked.data;
    const query = new URLSearchParams({
      ...{ clientId, redirectUri, codeChallenge: code_challenge, name: client.name },
      ...(state !== undefined && { state }),
    });
    response.redirect(302, `${publicUrl}/console/#/connect?${query.toString()}`);
  });

  const form = timed(parts, express.urlencoded({ extended: false, limit: 32_768 }));
  router.post('/oauth/token', limited(parts, 'tokens'), form, async (request, response) => {
    const body = (request.body ?? {}) as Record<string, unknown>;
    const given = parsed(tokenRequest, body, response, (path) => {
      if (path === 'resource') return 'invalid_target';
      const isOther = path === 'grant_type' && typeof body['grant_type'] === 'string';
      return isOther ? 'unsupported_grant_type' : 'invalid_request';
    });
    if (given === null) return;
    const { code, client_id: clientId, redirect_uri: redirectUri } = given;
    if (clients.find(clientId) === null) {
      refuse(response, 'invalid_client', 'this client is not registered', 'client_id');
      return;
    }
    const key = await clients
      .takeKey({ code, clientId, redirectUri, codeVerifier: given.code_verifier })
      .catch((error: unknown) => {
        // The person has lost the role since.
        if (error instanceof ApiError && error.code === 'FORBIDDEN') return null;
        throw error;
      });
    if (key === null) {
      const problem = 'this code was used, has expired, or belongs to another client';
      refuse(response, 'invalid_grant', problem, 'code');
      return;
    }
    const { accountId, id, rawKey, maker, name, role } = key;
    await recordDone(services, {
      ...{ accountId, operation: 'createApiKey', outcome: 'DONE' },
      actor: { kind: maker.isPerson ? 'PERSON' : 'API_KEY', id: maker.id },
      ...{ address: request.ip ?? null, resource: { type: 'api-keys', id }, after: { name, role } },
    });
    services.afterDeployment.announce(accountId, new Set(['api-keys']));
    const expiresIn = Math.floor(clientKeyMs / 1000);
    response.json({ access_token: rawKey, token_type: 'Bearer', expires_in: expiresIn });
  });
  return router;
}
