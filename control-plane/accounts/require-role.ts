import { includesRole, type Role } from '@monitor/shared/contract/route.ts';
import { ApiError } from '../errors/api-error.ts';

/** Nobody can grant or change a role that is higher than their own. */
export function requireRole(held: Role, of: Role): void {
  if (!includesRole(held, of)) {
    throw new ApiError('FORBIDDEN', `your role is ${held}; the other's is ${of}`, {
      role: held,
      neededRole: of,
    });
  }
}
