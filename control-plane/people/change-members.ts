/** Changes the role of a person, and removes people, under the lock of the account. */
import type { Role } from '@monitor/shared/contract/route.ts';
import {
  endPersonSessions,
  lockAccounts,
  type Maker,
  requireGrant,
  revokeKeysMadeBy,
} from '../accounts/index.ts';
import { inTransaction } from '../db/unit.ts';
import type { Db } from '../db/tables.ts';
import { ApiError, notFound } from '../errors/api-error.ts';
import { isLastManager } from './decide/managers.ts';
import type { PeopleDeps } from './deps.ts';
import { lockPerson } from './second-factor.ts';
import { deleteMembership, listMembers, type Member, updateMembership } from './store.ts';

interface Change {
  accountId: string;
  personId: string;
  /** Who asks. */
  maker: Maker;
}

/** The person, whose role may be changed to `after` or who may be removed (null). */
async function changeable(
  unit: Db,
  { accountId, personId, maker }: Change,
  after: Role | null,
): Promise<Member> {
  await lockAccounts(unit, [accountId]);
  const members = await listMembers(unit, accountId);
  const member = members.find(({ id }) => id === personId);
  if (member === undefined) throw notFound('person', personId);
  for (const role of after === null ? [member.role] : [member.role, after]) {
    await requireGrant(unit, { accountId, maker }, role);
  }
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

/** Ends a membership under the lock of its account, with the sessions and the keys that came of it. */
export async function endMembership(
  { db: unit, clock }: Pick<PeopleDeps, 'db' | 'clock'>,
  { accountId, personId }: Pick<Change, 'accountId' | 'personId'>,
): Promise<void> {
  await lockPerson(unit, personId);
  await endPersonSessions(unit, personId, { accountId });
  await revokeKeysMadeBy({ db: unit, clock }, { accountId, personId });
  await deleteMembership(unit, { accountId, personId });
}

export async function removeMember(
  { db, clock, forget }: Pick<PeopleDeps, 'db' | 'clock' | 'forget'>,
  change: Change,
): Promise<void> {
  await inTransaction(db, async (unit) => {
    await changeable(unit, change, null);
    await endMembership({ db: unit, clock }, change);
  });
  forget();
}
