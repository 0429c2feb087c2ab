/** A real OpenID provider. Its sign-in page takes any name, and asks for consent. */
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import Provider from 'oidc-provider';
import type { Page } from 'playwright-core';
import { listening } from './servers.ts';

export interface OpenIdUser {
  name: string;
  email: string;
  email_verified?: boolean;
  groups?: string[];
}

export interface OpenIdProvider extends AsyncDisposable {
  issuer: string;
  users: Map<string, OpenIdUser>;
  /** What the ID token of a user says in place of userinfo; set before `register`. */
  inIdToken: Map<string, object>;
  /** Registers where people are led back to. */
  register(redirectUri: string): void;
  /** Publishes other keys than those that sign, as if somebody else had made the tokens. */
  forge(): void;
}

export const clientId = 'monitor';
export const clientSecret = 'a-secret-of-the-client';

export async function openIdProvider(): Promise<OpenIdProvider> {
  const users = new Map<string, OpenIdUser>();
  const inIdToken = new Map<string, object>();
  const server = createServer();
  const opened = await listening(server);
  const issuer = opened.url;
  return {
    issuer,
    users,
    inIdToken,
    register(redirectUri) {
      const provider = new Provider(issuer, {
        clients: [
          {
            ...{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] },
            token_endpoint_auth_method: 'client_secret_post',
          },
        ],
        claims: {
          openid: ['sub'],
          email: ['email', 'email_verified'],
          profile: ['name', 'groups'],
        },
        conformIdTokenClaims: inIdToken.size === 0,
        cookies: { keys: ['a key of the provider'] },
        findAccount: (_context: unknown, accountId: string) => ({
          accountId,
          claims: (use: string) => ({
            sub: accountId,
            ...((use === 'id_token' ? inIdToken.get(accountId) : undefined) ??
              users.get(accountId)),
          }),
        }),
      });
      server.removeAllListeners('request');
      server.on('request', provider.callback());
    },
    forge() {
      const own = server.listeners('request')[0] as RequestListener;
      const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      const key = { ...publicKey.export({ format: 'jwk' }), kid: 'keystore-CHANGE-ME', use: 'sig' };
      server.removeAllListeners('request');
      server.on('request', (request, response) => {
        if (request.url === '/jwks') {
          response.setHeader('content-type', 'application/jwk-set+json');
          response.end(JSON.stringify({ keys: [{ ...key, alg: 'RS256' }] }));
        } else own(request, response);
      });
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

/** Signs in on the page of the provider and gives consent. */
export async function signInAtProvider(page: Page, user: string): Promise<void> {
  await page.locator('input[name="login"]').fill(user);
  await page.locator('input[name="password"]').fill('any');
  await page.locator('button[type="submit"]').click();
  await page.getByRole('button', { name: /continue/i }).click();
}
