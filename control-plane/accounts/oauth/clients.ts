/**
 * OAuth clients. Nothing is stored of them: a client id and a code hold, encrypted, what they stand for, and a key is
 * made when its client asks for the token. Source: OAuth 2.1; RFC 7591 and 7636.
 */
import { createHash } from 'node:crypto';
import type { Role } from '@monitor/shared/contract/route.ts';
import { EncryptedValue } from '../../core/encrypted-value.ts';
import { isSame, sha256Hex } from '../../core/keys.ts';
import type { Services } from '../../core/services.ts';
import { inTransaction } from '../../db/unit.ts';
import { createApiKey, type NewKey } from '../keys/store.ts';
import { isRegistered } from '../decide/redirects.ts';
import { type Maker, requireGrant } from '../require-role.ts';
import { lockAccounts } from '../store.ts';

const codeMs = 120_000;
export const clientKeyMs = 90 * 86_400_000;
export const maxClientIdLength = 4_096;

export interface OAuthClient {
  /** As it calls itself. */
  name: string;
  redirectUris: readonly string[];
}

/** The consent of a person. `id` becomes the id of the key, so a code works once. */
interface Grant {
  id: string;
  accountId: string;
  maker: Maker;
  role: Role;
  name: string;
  /** SHA-256 of the client id, hex. */
  clientHash: string;
  redirectUri: string;
  codeChallenge: string;
}

export interface TokenRequest {
  code: string;
  clientId: string;
  /** OAuth 2.1 leaves it out. */
  redirectUri: string | undefined;
  codeVerifier: string;
}

type ClientDeps = Pick<Services, 'db' | 'clock' | 'secrets' | 'newId'>;
type ClientKey = NewKey & Pick<Grant, 'accountId' | 'maker' | 'name' | 'role'>;

export class OAuthClients {
  readonly #deps: ClientDeps;
  readonly #clients: EncryptedValue<OAuthClient>;
  readonly #codes: EncryptedValue<Grant>;

  constructor(deps: ClientDeps) {
    this.#deps = deps;
    this.#clients = new EncryptedValue(deps, 'oauth-client');
    this.#codes = new EncryptedValue(deps, 'oauth-code');
  }

  /** Gives the client id, which does not expire. */
  register(client: OAuthClient): string {
    return this.#clients.write(client, Number.MAX_SAFE_INTEGER);
  }

  /** Null for an unknown client id. */
  find(clientId: string): OAuthClient | null {
    return clientId.length > maxClientIdLength ? null : this.#clients.read(clientId);
  }

  /** Null for an unknown client id, and for an address that the client did not register. */
  findFor(clientId: string, redirectUri: string): OAuthClient | null {
    const client = this.find(clientId);
    return client !== null && isRegistered(redirectUri, client.redirectUris) ? client : null;
  }

  /** Gives an authorization code. */
  grant({ clientId, ...granted }: Omit<Grant, 'id' | 'clientHash'> & { clientId: string }): string {
    const grant = { ...granted, id: this.#deps.newId(), clientHash: sha256Hex(clientId) };
    return this.#codes.write(grant, this.#deps.clock.now() + codeMs);
  }

  /**
   * Null for a code that was used, has expired, or belongs to another client. Throws where the maker may no longer grant
   * the role.
   */
  async takeKey(given: TokenRequest): Promise<ClientKey | null> {
    const grant = this.#codes.read(given.code);
    if (grant === null || !isFor(grant, given)) return null;
    const { id, accountId, maker, role, name } = grant;
    const { db, clock } = this.#deps;
    return inTransaction(db, async (unit) => {
      await lockAccounts(unit, [accountId]);
      const used = await unit.selectFrom('api_keys').select('id').where('id', '=', id).execute();
      if (used.length > 0) return null;
      await requireGrant(unit, { accountId, maker }, role);
      const key = await createApiKey({ db: unit, clock, newId: () => id }, accountId, {
        ...{ name, role, expiresAt: clock.now() + clientKeyMs },
        madeBy: maker.isPerson ? maker.id : null,
      });
      return { ...key, accountId, maker, name, role };
    });
  }
}

function isFor(grant: Grant, { clientId, redirectUri, codeVerifier }: TokenRequest): boolean {
  const challenge = createHash('sha256').update(codeVerifier).digest('base64url');
  const isOfClient =
    grant.clientHash === sha256Hex(clientId) &&
    (redirectUri === undefined || grant.redirectUri === redirectUri);
  return isOfClient && isSame(challenge, grant.codeChallenge);
}
