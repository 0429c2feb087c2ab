import { includesRole, type Role } from '@monitor/shared/contract/route.ts';
import type { Db } from '../db/tables.ts';
import { ApiError } from '../errors/api-error.ts';
import type { ApiPrincipal } from '../http/authenticate.ts';

/** Nobody can grant or change a role that is higher than their own. */
export function requireRole(held: Role, of: Role): void {
  if (!includesRole(held, of)) {
    throw new ApiError('FORBIDDEN', `your role is ${held}; the other's is ${of}`, {
      role: held,
      neededRole: of,
    });
  }
}

/** A person or a key that gives or takes roles. */
export interface Maker {
  id: string;
  isPerson: boolean;
}

export const makerOf = ({ keyId, sessionId }: ApiPrincipal): Maker => ({
  ...{ id: keyId, isPerson: sessionId !== undefined },
});

/** Null for a person who was removed, and a key that was revoked. */
async function roleOf(unit: Db, accountId: string, { id, isPerson }: Maker): Promise<Role | null> {
  const row = isPerson
    ? await unit
        .selectFrom('memberships')
        .select('role')
        .where('account_id', '=', accountId)
        .where('person_id', '=', id)
        .executeTakeFirst()
    : await unit
        .selectFrom('api_keys')
        .select('role')
        .where('account_id', '=', accountId)
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .executeTakeFirst();
  return (row?.role as Role | undefined) ?? null;
}

/**
 * Refuses a role that the maker may not grant by now, in a transaction that has locked the account. Their
 * role at the time of the request may be an older one.
 */
export async function requireGrant(
  unit: Db,
  { accountId, maker }: { accountId: string; maker: Maker },
  role: Role,
): Promise<void> {
  const held = (await roleOf(unit, accountId, maker)) ?? 'READ_ONLY';
  requireRole(held, 'ADMIN');
  requireRole(held, role);
}
