/** Authentication. Keys are long and random, so their SHA-256 is stored and looked up. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Request } from 'express';
import type { Role, RouteAuthentication } from '@monitor/shared/contract/route.ts';
import { ApiError, badToken } from '../errors/api-error.ts';
import { isSame, sha256Hex } from '../core/keys.ts';
import type { ConsoleCookie } from './console-cookie.ts';

/** A key of the API, or a person who has signed in to the console. */
export interface ApiPrincipal {
  kind: 'apiKey';
  accountId: string;
  /** Of the key or of the person. */
  keyId: string;
  role: Role;
  /** The console session of a person; absent for a key. */
  sessionId?: string;
}

/** An agent, which may act for one location of one account. */
export interface LocationPrincipal {
  kind: 'locationKey';
  accountId: string;
  keyId: string;
  location: string;
}

export interface AnonymousPrincipal {
  kind: 'none';
}

/** Who has a key. */
export type KeyHolder = ApiPrincipal | LocationPrincipal;

export type Principal = KeyHolder | AnonymousPrincipal;

/** Finds keys by their hash; undefined for unknown, expired and revoked ones alike. */
export interface KeyFinder {
  findApiKey(keyHash: string): Promise<(ApiPrincipal & { keyHash: string }) | undefined>;
  findLocationKey(keyHash: string): Promise<(LocationPrincipal & { keyHash: string }) | undefined>;
  /** Whose key it is or was, also an expired or revoked one and one of another kind: for the audit log alone. */
  findHolder(keyHash: string): Promise<KeyHolder | undefined>;
  /** Notes that an agent with this key was refused: why, and from which address. */
  noteRefusal(
    holder: LocationPrincipal,
    how: { because: string; from: string | null },
  ): Promise<void>;
  /** The key or the person of a console session, by the hash of the session token. */
  findSession(tokenHash: string): Promise<ApiPrincipal | undefined>;
}

const headerOfClients = 'x-checkly-account';
const accountHeaders = ['x-service-account', headerOfClients];

/** True for clients of this kind of API that were not made for this product. */
export function isExistingClient(headers: IncomingHttpHeaders): boolean {
  return headers[headerOfClients] !== undefined;
}

/** Spec: Authentication 2. The header is optional; when it is sent, it must name the account of the key. */
export function checkAccount(request: Request, accountId: string): void {
  for (const name of accountHeaders) {
    const given = request.get(name);
    if (given !== undefined && !isSame(given.trim().toLowerCase(), accountId)) {
      throw new ApiError('FORBIDDEN', `the key does not belong to the account in "${name}"`, {
        source: 'headers',
        keys: [name],
      });
    }
  }
}

function bearerOf(request: Request): string | undefined {
  return /^Bearer +(\S{8,512})$/i.exec(request.get('authorization') ?? '')?.[1];
}

/** Whose key was refused; undefined for one that nobody ever had. */
export async function holderOf(request: Request, keys: KeyFinder): Promise<KeyHolder | undefined> {
  const token = bearerOf(request);
  return token === undefined ? undefined : keys.findHolder(sha256Hex(token));
}

/**
 * The principal of a request to a route of this kind, or 401. A console session stands for its key
 * or person in requests without a key.
 */
export async function authenticate(
  request: Request,
  kind: RouteAuthentication,
  keys: KeyFinder,
  cookie: ConsoleCookie | undefined,
): Promise<Principal> {
  if (kind === 'none') return { kind };
  if (kind === 'apiKey' && request.headers.authorization === undefined) {
    const session = cookie?.tokenOf(request);
    const principal =
      session === undefined ? undefined : await keys.findSession(sha256Hex(session));
    if (principal === undefined) throw badToken();
    return principal;
  }
  const token = bearerOf(request);
  if (token === undefined) {
    // It reveals nothing that an agent does not know, and what stands in between may have taken it away.
    throw badToken(
      kind === 'locationKey' ? { source: 'headers', keys: ['authorization'] } : undefined,
    );
  }
  const keyHash = sha256Hex(token);
  const found =
    kind === 'apiKey' ? await keys.findApiKey(keyHash) : await keys.findLocationKey(keyHash);
  if (found === undefined || !isSame(found.keyHash, keyHash)) throw badToken();
  return found;
}
