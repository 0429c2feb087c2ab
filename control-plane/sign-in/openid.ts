/**
 * Signs in with an OpenID provider: the authorization code flow with PKCE, state and nonce. What the
 * answer is compared with stands in an encrypted cookie of ten minutes, so no replica must remember it.
 */
import { Router, type Request, type Response } from 'express';
import type { Configuration } from 'openid-client';
import { isLoopback, type Config } from '../core/config.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import type { SecretCipher } from '../core/secret-cipher.ts';
import { ApiError } from '../errors/api-error.ts';
import type { Identity } from '../people/index.ts';

export type OpenIdSettings = Pick<
  Config,
  | 'OIDC_ISSUER'
  | 'OIDC_CLIENT_ID'
  | 'OIDC_CLIENT_SECRET'
  | 'OIDC_SCOPES'
  | 'OIDC_TRUSTS_EMAIL'
  | 'OIDC_GROUPS_CLAIM'
  | 'OIDC_NAME'
  | 'OIDC_ROLES'
>;

interface OpenIdParts {
  settings: OpenIdSettings;
  clock: Clock;
  secrets: SecretCipher;
  publicUrl: string;
  /** Counts the beginnings of a visitor, or throws. */
  limit(request: Request): void;
  /** Counts the answers to one beginning, which have no cookie that says who comes, or throws. */
  limitAnswers(state: string): void;
  /** The session that a browser has when it begins: the provider leads back without its cookie. */
  sessionOf(request: Request): string | null;
  /** Starts a session of the person that the provider has proved, and ends that of the beginning. */
  onIdentity(
    request: Request,
    response: Response,
    identity: Identity,
    session: string | null,
  ): Promise<void>;
  /** Keeps why nobody was signed in, for the sign-in page. */
  onRefusal(request: Request, response: Response, reason: string): void;
  onFailure(error: unknown): void;
}

interface Flow {
  state: string;
  nonce: string;
  verifier: string;
  session: string | null;
  until: number;
}

const flowMs = 600_000;
const cookieName = 'console_openid';
const path = '/console/session/oidc';
/** Also the additional data of the encryption: a value of another purpose is none of these. */
const purpose = 'openid-flow';
const maxGroups = 1_000;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Groups are a list, or one text. */
function groupsIn(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((group) => typeof group === 'string').slice(0, maxGroups);
}

/** Loaded with the first sign-in; a provider that is away is asked again by the next one. */
function providerOf(issuer: URL, clientId: string, secret: string | undefined) {
  let discovered: Promise<Configuration> | undefined;
  return async () => {
    const client = await import('openid-client');
    discovered ??= client
      .discovery(
        issuer,
        clientId,
        undefined,
        secret === undefined ? client.None() : client.ClientSecretPost(secret),
        {
          // Without it the library trusts any token that came through the connection.
          execute: [
            client.enableNonRepudiationChecks,
            ...(issuer.protocol === 'http:' ? [client.allowInsecureRequests] : []),
          ],
        },
      )
      .then((config) => {
        // An issuer on this machine may name others, which need TLS all the same.
        for (const [name, value] of Object.entries(config.serverMetadata())) {
          const url = typeof value === 'string' ? URL.parse(value) : null;
          if (url === null || url.protocol !== 'http:' || isLoopback(url.hostname)) continue;
          throw new Error(`the provider's ${name} is not at https:`);
        }
        return config;
      })
      .catch((error: unknown) => {
        discovered = undefined;
        throw error;
      });
    return { client, config: await discovered };
  };
}

/** Null where no provider is set. */
export function serveOpenId(parts: OpenIdParts): Router | null {
  const { settings, clock, secrets, publicUrl } = parts;
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: secret } = settings;
  if (issuer === undefined || clientId === undefined) return null;
  const redirectUri = `${publicUrl}${path}/callback`;
  const isSecure = publicUrl.startsWith('https:');
  const open = providerOf(new URL(issuer), clientId, secret);

  const setFlow = (response: Response, flow: Flow | null): void => {
    const value = flow === null ? '' : secrets.encrypt(JSON.stringify(flow), purpose);
    response.cookie(cookieName, value, {
      // The provider leads back here from another site.
      ...{ path, httpOnly: true, sameSite: 'lax', secure: isSecure },
      expires: new Date(flow?.until ?? 0),
    });
  };
  const flowOf = (request: Request): Flow => {
    const [, value = ''] =
      new RegExp(`(?:^|; *)${cookieName}=([^;]+)`).exec(request.headers.cookie ?? '') ?? [];
    try {
      const flow = JSON.parse(secrets.decrypt(decodeURIComponent(value), purpose)) as Flow;
      if (flow.until > clock.now()) return flow;
    } catch {
      // Forged, of another key, or none at all.
    }
    throw new ApiError('FORBIDDEN', 'the sign-in took too long, or was begun in another browser');
  };

  const readIdentity = async (request: Request, flow: Flow): Promise<Identity> => {
    const { client, config } = await open();
    const search = request.originalUrl.slice(request.originalUrl.indexOf('?'));
    const tokens = await client.authorizationCodeGrant(config, new URL(search, redirectUri), {
      pkceCodeVerifier: flow.verifier,
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      idTokenExpected: true,
    });
    const ofToken = tokens.claims();
    if (ofToken === undefined) throw new Error('the provider gave no ID token');
    // Many providers put the address and the groups there alone.
    const ofUser =
      config.serverMetadata().userinfo_endpoint === undefined
        ? {}
        : await client.fetchUserInfo(config, tokens.access_token, ofToken.sub);
    const claims: Record<string, unknown> = { ...ofToken, ...ofUser };
    // Verified is the address beside which it says so.
    const address: Record<string, unknown> = 'email' in ofUser ? ofUser : ofToken;
    const email = textOf(address['email']);
    if (email === '') throw new ApiError('FORBIDDEN', 'the provider gives no e-mail address');
    return {
      issuer: ofToken.iss,
      subject: ofToken.sub,
      email: email.slice(0, 254),
      name: (textOf(claims['name']) || email).slice(0, 255),
      isEmailVerified: settings.OIDC_TRUSTS_EMAIL || address['email_verified'] === true,
      groups: groupsIn(claims[settings.OIDC_GROUPS_CLAIM]),
    };
  };

  /** To the sign-in page, which says why: not in its address, where anybody could write anything. */
  const refuse = (request: Request, response: Response, error: unknown): void => {
    const isKnown = error instanceof ApiError && error.statusCode < 500;
    if (!isKnown) parts.onFailure(error);
    const reason = isKnown ? error.message : 'the provider could not be asked, or refused';
    parts.onRefusal(request, response, reason);
    response.redirect(303, `${publicUrl}/console/#/sign-in`);
  };

  const router = Router({ strict: true });
  router.get(path, async (request, response) => {
    response.setHeader('Cache-Control', 'no-store');
    try {
      parts.limit(request);
      const { client, config } = await open();
      const flow = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
        session: parts.sessionOf(request),
        until: clock.now() + flowMs,
      };
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: settings.OIDC_SCOPES,
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: 'S256',
      });
      setFlow(response, flow);
      response.redirect(303, url.href);
    } catch (error) {
      refuse(request, response, error);
    }
  });
  router.get(`${path}/callback`, async (request, response) => {
    response.setHeader('Cache-Control', 'no-store');
    try {
      const flow = flowOf(request);
      parts.limitAnswers(flow.state);
      const identity = await readIdentity(request, flow);
      await parts.onIdentity(request, response, identity, flow.session);
      setFlow(response, null);
      response.redirect(303, `${publicUrl}/console/`);
    } catch (error) {
      setFlow(response, null);
      refuse(request, response, error);
    }
  });
  return router;
}
