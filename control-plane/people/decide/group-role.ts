import { includesRole, type Role } from '@monitor/shared/contract/route.ts';

/** The highest role that the groups of a person have; null for none. `*` is everybody. */
export function roleOfGroups(
  groups: readonly string[],
  roles: readonly { group: string; role: Role }[],
): Role | null {
  let highest: Role | null = null;
  for (const { group, role } of roles) {
    if (group !== '*' && !groups.includes(group)) continue;
    if (highest === null || includesRole(role, highest)) highest = role;
  }
  return highest;
}
