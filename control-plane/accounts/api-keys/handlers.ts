/** API keys: create, list, rename and revoke. */
import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { apiKey, apiKeyRoutes } from '@monitor/shared/contract/account.ts';
import type { Role } from '@monitor/shared/contract/route.ts';
import { invalidField, notFound } from '../../errors/api-error.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import type { Database } from '../../db/tables.ts';
import type { Handlers } from '../../http/implement.ts';
import { readInstant } from '../../core/instant.ts';
import type { ApiKeys } from '../location-keys.ts';
import { requireRole } from '../require-role.ts';
import type { Services } from '../../core/services.ts';

type KeyRow = Selectable<Database['api_keys']>;

function toWire(row: KeyRow): z.input<typeof apiKey> {
  return {
    id: row.id,
    name: row.name,
    role: row.role as Role,
    maskedKey: row.masked_key,
    expiresAt: toTimestampOrNull(row.expires_at),
    lastUsedAt: toTimestampOrNull(row.last_used_at),
    created_at: toTimestamp(row.created_at),
  };
}

export function apiKeyHandlers(
  { db, clock }: Services,
  keys: ApiKeys,
): Handlers<typeof apiKeyRoutes> {
  const get = async (accountId: string, id: string): Promise<KeyRow> => {
    const row = await db
      .selectFrom('api_keys')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .executeTakeFirst();
    if (row === undefined) throw notFound('key', id);
    return row;
  };

  const toInstant = (expiresAt: string | null): number | null => {
    if (expiresAt === null) return null;
    const instant = readInstant(expiresAt, 'expiresAt');
    if (instant <= clock.now()) throw invalidField('expiresAt', 'must be in the future');
    return instant;
  };

  return {
    listApiKeys: async (_input, { principal }) => {
      const rows = await db
        .selectFrom('api_keys')
        .selectAll()
        .where('account_id', '=', principal.accountId)
        .where('revoked_at', 'is', null)
        .orderBy('created_at')
        .execute();
      return rows.map(toWire);
    },

    createApiKey: async ({ body }, { principal }) => {
      requireRole(principal.role, body.role);
      const { id, rawKey } = await keys.create(principal.accountId, {
        name: body.name,
        role: body.role,
        expiresAt: toInstant(body.expiresAt),
      });
      return { ...toWire(await get(principal.accountId, id)), rawKey };
    },

    updateApiKey: async ({ params, body }, { principal }) => {
      const before = await get(principal.accountId, params.id);
      requireRole(principal.role, before.role as Role);
      const after = {
        name: body.name ?? before.name,
        expires_at: body.expiresAt === undefined ? before.expires_at : toInstant(body.expiresAt),
      };
      await db
        .updateTable('api_keys')
        .set(after)
        .where('account_id', '=', principal.accountId)
        .where('id', '=', params.id)
        .execute();
      keys.forget();
      return toWire({ ...before, ...after });
    },

    revokeApiKey: async ({ params }, { principal }) => {
      const row = await get(principal.accountId, params.id);
      requireRole(principal.role, row.role as Role);
      await db
        .updateTable('api_keys')
        .set({ revoked_at: clock.now() })
        .where('account_id', '=', principal.accountId)
        .where('id', '=', params.id)
        .execute();
      keys.forget();
      return undefined;
    },
  };
}
