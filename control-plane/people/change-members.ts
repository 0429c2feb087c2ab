/** Changes the role of a person, and removes people, under the lock of the account. */
import type { Kysely } from 'kysely';
import type { Role } from '@monitor/shared/contract/route.ts';
import { endPersonSessions, requireRole } from '../accounts/index.ts';
import { inTransaction } from '../db/unit.ts';
import type { Database } from '../db/tables.ts';
import { ApiError, notFound } from '../errors/api-error.ts';
import { isLastManager } from './decide/managers.ts';
import type { PeopleDeps } from './deps.ts';
import {
  deleteMembership,
  listMembers,
  lockAccounts,
  type Member,
  updateMembership,
} from './store.ts';

interface Change {
  accountId: string;
  personId: string;
  /** Of whoever asks. */
  held: Role;
}

/** The person, whose role may be changed to `after` or who may be removed (null). */
async function changeable(
  unit: Kysely<Database>,
  { accountId, personId, held }: Change,
  after: Role | null,
): Promise<Member> {
  await lockAccounts(unit, [accountId]);
  const members = await listMembers(unit, accountId);
  const member = members.find(({ id }) => id === personId);
  if (member === undefined) throw notFound('person', personId);
  requireRole(held, member.role);
  if (after !== null) requireRole(held, after);
  const others = members.filter(({ id }) => id !== personId).map(({ role }) => role);
  if (isLastManager(member.role, after, others)) {
    throw new ApiError(
      'CONFLICT',
      `${member.name} is the last ${member.role} of the account; give somebody else that role first`,
    );
  }
  return member;
}

export async function changeRole(
  { db, forget }: Pick<PeopleDeps, 'db' | 'forget'>,
  change: Change,
  role: Role,
): Promise<Member> {
  const member = await inTransaction(db, async (unit) => {
    const before = await changeable(unit, change, role);
    await updateMembership(unit, { ...change, role });
    return { ...before, role };
  });
  forget();
  return member;
}

export async function removeMember(
  { db, forget }: Pick<PeopleDeps, 'db' | 'forget'>,
  change: Change,
): Promise<void> {
  const { accountId, personId } = change;
  await inTransaction(db, async (unit) => {
    await changeable(unit, change, null);
    await endPersonSessions(unit, personId, { accountId });
    await deleteMembership(unit, change);
  });
  forget();
}
