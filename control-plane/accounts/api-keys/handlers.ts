/** API keys: create, list, rename and revoke. */
import type { z } from 'zod';
import type { apiKey, apiKeyRoutes } from '@monitor/shared/contract/account.ts';
import type { Role } from '@monitor/shared/contract/route.ts';
import { invalidField, notFound } from '../../errors/api-error.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { updateOwnRows } from '../../db/own-rows.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import { inTransaction } from '../../db/unit.ts';
import type { ApiPrincipal } from '../../http/authenticate.ts';
import type { Handlers } from '../../http/handlers.ts';
import { readInstant } from '../../core/instant.ts';
import type { ApiKeys } from '../location-keys.ts';
import { redirectTo } from '../decide/redirects.ts';
import { OAuthClients } from '../oauth/clients.ts';
import { makerOf, requireGrant } from '../require-role.ts';
import { lockAccounts } from '../store.ts';
import type { Services } from '../../core/services.ts';

type KeyRow = RowOf<'api_keys'> & { maker: string | null };

function toWire(row: KeyRow): z.input<typeof apiKey> {
  return {
    id: row.id,
    name: row.name,
    role: row.role as Role,
    maskedKey: row.masked_key,
    madeBy: row.maker,
    expiresAt: toTimestampOrNull(row.expires_at),
    lastUsedAt: toTimestampOrNull(row.last_used_at),
    created_at: toTimestamp(row.created_at),
  };
}

/** The keys of an account that are not revoked, with the names of who made them. */
const livingKeys = (db: Db, accountId: string) =>
  db
    .selectFrom('api_keys')
    .leftJoin('people', 'people.id', 'api_keys.made_by')
    .selectAll('api_keys')
    .select('people.name as maker')
    .where('api_keys.account_id', '=', accountId)
    .where('api_keys.revoked_at', 'is', null);

async function getKey(db: Db, accountId: string, id: string): Promise<KeyRow> {
  return livingKeys(db, accountId)
    .where('api_keys.id', '=', id)
    .executeTakeFirstOrThrow(() => notFound('key', id));
}

export function apiKeyHandlers(services: Services, keys: ApiKeys): Handlers<typeof apiKeyRoutes> {
  const { db, clock } = services;
  const clients = new OAuthClients(services);
  const toInstant = (expiresAt: string | null): number | null => {
    if (expiresAt === null) return null;
    const instant = readInstant(expiresAt, 'expiresAt');
    if (instant <= clock.now()) throw invalidField('expiresAt', 'must be in the future');
    return instant;
  };

  /** Changes a key that the caller may manage, under the lock of the account. */
  const change = async (
    principal: ApiPrincipal,
    id: string,
    after: (before: KeyRow) => Partial<Pick<KeyRow, 'name' | 'expires_at' | 'revoked_at'>>,
  ): Promise<KeyRow> => {
    const { accountId } = principal;
    const changed = await inTransaction(db, async (unit) => {
      await lockAccounts(unit, [accountId]);
      const before = await getKey(unit, accountId, id);
      const granted = { accountId, maker: makerOf(principal) };
      await requireGrant(unit, granted, before.role as Role);
      const values = after(before);
      await updateOwnRows(unit, 'api_keys', accountId).set(values).where('id', '=', id).execute();
      return { ...before, ...values };
    });
    keys.forget();
    return changed;
  };

  return {
    listApiKeys: async (_input, { principal }) => {
      const rows = await livingKeys(db, principal.accountId)
        .orderBy('api_keys.created_at')
        .execute();
      return rows.map(toWire);
    },

    createApiKey: async ({ body }, { principal }) => {
      const { accountId } = principal;
      const maker = makerOf(principal);
      const key = {
        ...{ name: body.name, role: body.role, expiresAt: toInstant(body.expiresAt) },
        madeBy: maker.isPerson ? maker.id : null,
      };
      return inTransaction(db, async (unit) => {
        await lockAccounts(unit, [accountId]);
        await requireGrant(unit, { accountId, maker }, body.role);
        const { id, rawKey } = await keys.create(unit, accountId, key);
        return { ...toWire(await getKey(unit, accountId, id)), rawKey };
      });
    },

    authorizeClient: async ({ body }, { principal }) => {
      const { clientId, name, redirectUri, codeChallenge, state, role } = body;
      const client = clients.findFor(clientId, redirectUri);
      if (client === null) {
        throw invalidField('clientId', 'is not of a client that registered this redirectUri');
      }
      if (client.name !== name) throw invalidField('name', 'is not the name of this client');
      const { accountId } = principal;
      const maker = makerOf(principal);
      const beside = { iss: services.publicUrl, ...(state !== null && { state }) };
      if (role === null) {
        return { redirectTo: redirectTo(redirectUri, { error: 'access_denied', ...beside }) };
      }
      await requireGrant(db, { accountId, maker }, role);
      const code = clients.grant({
        ...{ accountId, maker, role, name, clientId, redirectUri, codeChallenge },
      });
      return { redirectTo: redirectTo(redirectUri, { code, ...beside }) };
    },

    updateApiKey: async ({ params, body }, { principal }) => {
      const { expiresAt } = body;
      const changed = await change(principal, params.id, (before) => ({
        name: body.name ?? before.name,
        expires_at: expiresAt === undefined ? before.expires_at : toInstant(expiresAt),
      }));
      return toWire(changed);
    },

    revokeApiKey: async ({ params }, { principal }) => {
      await change(principal, params.id, () => ({ revoked_at: clock.now() }));
      return undefined;
    },
  };
}
