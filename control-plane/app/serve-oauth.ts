/**
 * How a program gets a key without anybody copying one: it registers, sends a person to the console, and exchanges the
 * code that comes back for a key. Sources: RFC 6749, 7591, 7636, 8414, 9728; authorization of the Model Context Protocol.
 */
import express, { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import { codeChallenge } from '@monitor/shared/contract/account.ts';
import { programKeyMs, Programs, redirectProblem } from '../accounts/index.ts';
import { recordDone } from '../audit/index.ts';
import { doors } from '../core/doors.ts';
import { html } from '../core/html.ts';
import type { Services } from '../core/services.ts';
import { ApiError } from '../errors/api-error.ts';
import { sendPage } from '../http/plain-page.ts';
import type { RateLimiter } from '../http/rate-limit.ts';
import { visitorOf } from '../http/visitor.ts';

/** Where a client of `/mcp` learns how to get a key. */
export const resourceMetadataPath = '/.well-known/oauth-protected-resource/mcp';

const registration = z.object({
  client_name: z.string().trim().min(1).max(100).default('A program'),
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
const text = z.string().max(8_192);
const question = z.object({
  response_type: z.literal('code'),
  code_challenge: codeChallenge,
  code_challenge_method: z.literal('S256'),
});
const exchange = z.object({
  grant_type: z.literal('authorization_code'),
  ...{ code: text.min(1), client_id: text.min(1), redirect_uri: text.min(1) },
  code_verifier: z.string().min(43).max(128),
});

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

export function serveOAuth(services: Services, attempts: RateLimiter): Router {
  const { publicUrl } = services;
  const { address } = doors.oauth;
  const programs = new Programs(services);
  const router = Router();
  const limited = (name: keyof typeof address) => (request: Request) => {
    attempts.refuseMany(`oauth ${name} ${visitorOf(request)}`, address[name]);
  };
  const resource = {
    ...{ resource: `${publicUrl}/mcp`, authorization_servers: [publicUrl] },
    ...{ bearer_methods_supported: ['header'], resource_name: 'Control plane' },
  };
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
  for (const path of ['/.well-known/oauth-protected-resource', resourceMetadataPath]) {
    router.get(path, (_request, response) => void response.json(resource));
  }
  router.get('/.well-known/oauth-authorization-server', (_request, response) => {
    response.json(server);
  });
  router.use('/oauth', (_request, response, next) => {
    response.set('Cache-Control', 'no-store');
    next();
  });

  const mayRegister = limited('registrations');
  router.post('/oauth/register', express.json({ limit: 16_384 }), (request, response) => {
    mayRegister(request);
    const given = parsed(registration, request.body ?? {}, response, (path) =>
      path === 'redirect_uris' ? 'invalid_redirect_uri' : 'invalid_client_metadata',
    );
    if (given === null) return;
    const { client_name: name, redirect_uris: redirectUris } = given;
    response.status(201).json({
      ...{ client_id: programs.register({ name, redirectUris }), ...given },
      ...{ grant_types: ['authorization_code'], response_types: ['code'] },
      token_endpoint_auth_method: 'none',
    });
  });

  const mayAsk = limited('questions');
  router.get('/oauth/authorize', (request, response) => {
    mayAsk(request);
    const { client_id: clientId, redirect_uri: redirectUri, state } = request.query;
    const program =
      typeof clientId === 'string' && typeof redirectUri === 'string'
        ? programs.find({ clientId, redirectUri })
        : null;
    // To an address that nobody has registered nobody is sent.
    if (program === null) {
      const says =
        'The program that sent you here is not registered. Connect it again in the program.';
      sendPage(response, 400, 'This program cannot be connected', html`<p>${says}</p>`);
      return;
    }
    const asked = question.safeParse(request.query);
    // Anybody can register an address: without a person's word nobody is sent there, also not with a refusal.
    if (!asked.success) {
      const [issue] = asked.error.issues;
      const says = `The program asked in a way that is not supported: "${issue?.path.join('.')}" ${issue?.message}.`;
      sendPage(response, 400, 'This program cannot be connected', html`<p>${says}</p>`);
      return;
    }
    const { code_challenge } = asked.data;
    const query = new URLSearchParams({
      ...({ clientId, redirectUri } as Record<string, string>),
      ...(typeof state === 'string' && { state }),
      ...{ codeChallenge: code_challenge, name: program.name },
    });
    response.redirect(302, `${publicUrl}/console/#/connect?${query.toString()}`);
  });

  const mayExchange = limited('exchanges');
  const form = express.urlencoded({ extended: false, limit: 32_768 });
  router.post('/oauth/token', form, async (request, response) => {
    mayExchange(request);
    const given = parsed(exchange, request.body ?? {}, response, (path) =>
      path === 'grant_type' ? 'unsupported_grant_type' : 'invalid_request',
    );
    if (given === null) return;
    const key = await programs
      .takeKey({
        ...{ code: given.code, clientId: given.client_id, redirectUri: given.redirect_uri },
        codeVerifier: given.code_verifier,
      })
      .catch((error: unknown) => {
        // Who agreed may do so no more.
        if (error instanceof ApiError && error.code === 'FORBIDDEN') return null;
        throw error;
      });
    if (key === null) {
      refuse(
        response,
        'invalid_grant',
        'this code does not work: it was used or is too old',
        'code',
      );
      return;
    }
    const { accountId, id, rawKey, name } = key;
    await recordDone(services, {
      ...{ accountId, operation: 'createApiKey', outcome: 'DONE' },
      actor: { kind: 'NOBODY', name: `${name}, a connected program` },
      ...{ address: request.ip ?? null, resource: { type: 'api-keys', id } },
    });
    services.afterDeployment.announce(accountId, new Set(['api-keys']));
    const expiresIn = Math.floor(programKeyMs / 1000);
    response.json({ access_token: rawKey, token_type: 'Bearer', expires_in: expiresIn });
  });
  return router;
}
