/** The person of an identity that an OpenID provider has proved, with the role of their groups. */
import type { Kysely } from 'kysely';
import type { Role } from '@monitor/shared/contract/route.ts';
import { endPersonSessions, findOrCreateAccount } from '../accounts/index.ts';
import type { Database } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import { ApiError } from '../errors/api-error.ts';
import { normalizeEmail } from './decide/email.ts';
import { roleOfGroups } from './decide/group-role.ts';
import { isLastManager } from './decide/managers.ts';
import type { PeopleDeps } from './deps.ts';
import { dropLinks } from './links.ts';
import {
  deleteMembership,
  findPerson,
  insertMembership,
  insertPerson,
  listMembers,
  listMemberships,
  lockAccount,
  updateMembership,
} from './store.ts';

export interface Identity {
  issuer: string;
  subject: string;
  name: string;
  email: string;
  /** Only a verified address makes somebody the person who has it here. */
  isEmailVerified: boolean;
  groups: readonly string[];
}

/** Known by the identity, or for the first time by the address. Null for somebody new. */
async function findByIdentity(
  unit: Kysely<Database>,
  { issuer, subject, email, isEmailVerified }: Identity,
): Promise<string | null> {
  const known = await unit
    .selectFrom('person_identities')
    .select('person_id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst();
  if (known !== undefined) return known.person_id;
  // Also for somebody new: the owner of the address may come later.
  if (!isEmailVerified) {
    throw new ApiError('FORBIDDEN', 'the provider has not verified your e-mail address');
  }
  const person = await findPerson(unit, { email: normalizeEmail(email) });
  if (person === undefined) return null;
  const other = await unit
    .selectFrom('person_identities')
    .select('subject')
    .where('person_id', '=', person.id)
    .where('issuer', '=', issuer)
    .executeTakeFirst();
  // An address may be given to somebody else; the identity of whom had it first is not.
  if (other !== undefined) {
    throw new ApiError('FORBIDDEN', 'this e-mail address belongs to another identity here');
  }
  return person.id;
}

/** Gives the role of the groups, unless the account would lose the last who can do what they could. */
async function applyRole(
  unit: Kysely<Database>,
  {
    accountId,
    personId,
    role,
    now,
  }: { accountId: string; personId: string; role: Role | null; now: number },
): Promise<void> {
  const members = await listMembers(unit, accountId);
  const present = members.find(({ id }) => id === personId);
  if (present === undefined) {
    if (role !== null) await insertMembership(unit, { accountId, personId, role, now });
    return;
  }
  const others = members.filter(({ id }) => id !== personId).map((other) => other.role);
  if (present.role === role || isLastManager(present.role, role, others)) return;
  if (role !== null) {
    await updateMembership(unit, { accountId, personId, role });
    return;
  }
  await endPersonSessions(unit, personId, { accountId });
  await deleteMembership(unit, { accountId, personId });
}

/**
 * The person and the account that their session acts for. With `roles` the groups decide about the
 * membership in the oldest account at every sign-in, without any only those who were invited come in.
 * @throws ApiError FORBIDDEN for somebody who has no account here.
 */
export async function joinByIdentity(
  deps: Pick<PeopleDeps, 'db' | 'clock' | 'newId' | 'forget'>,
  identity: Identity,
  roles: readonly { group: string; role: Role }[],
): Promise<{ personId: string; accountId: string }> {
  const { db, clock, newId } = deps;
  const now = clock.now();
  const ownAccount = await findOrCreateAccount({ db, clock, newId });
  const role = roleOfGroups(identity.groups, roles);
  const joined = await inTransaction(db, async (unit) => {
    await lockAccount(unit, ownAccount);
    const known = await findByIdentity(unit, identity);
    const personId = known ?? newId();
    if (known === null) {
      if (role === null) return null;
      const { name } = identity;
      const email = normalizeEmail(identity.email);
      await insertPerson(unit, { id: personId, email, name, passwordHash: null, now });
      await dropLinks(unit, { kind: 'SETUP' });
    }
    if (roles.length > 0) {
      await applyRole(unit, { accountId: ownAccount, personId, role, now });
    }
    const memberships = await listMemberships(unit, personId);
    const account = memberships.find(({ accountId }) => accountId === ownAccount) ?? memberships[0];
    if (account === undefined) return null;
    const { issuer, subject } = identity;
    await unit
      .insertInto('person_identities')
      .values({ issuer, subject, person_id: personId, created_at: now })
      .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doNothing())
      .execute();
    return { personId, accountId: account.accountId };
  });
  deps.forget();
  if (joined === null) {
    throw new ApiError('FORBIDDEN', 'you have no account here: ask an admin to invite you');
  }
  return joined;
}
