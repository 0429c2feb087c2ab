/** Which memberships an account must keep, and who may change whose. */
import { includesRole, type Role } from '@monitor/shared/contract/route.ts';

/** True for a role that manages people. */
const manages = (role: Role): boolean => includesRole(role, 'ADMIN');

/** True when somebody with the role `held` (null: removed) may invite somebody to `role`. */
export function mayInvite(held: Role | null, role: Role): boolean {
  return held !== null && manages(held) && includesRole(held, role);
}

/**
 * True when a change from `before` to `after` (null: removed) would leave nobody in the account who
 * can do what the person could: its last owner, or the last one who manages people. `others` are the
 * roles of the other people.
 */
export function isLastManager(before: Role, after: Role | null, others: readonly Role[]): boolean {
  if (!manages(before) || after === before) return false;
  if (after !== null && includesRole(after, before)) return false;
  return !others.some((role) => includesRole(role, before));
}
