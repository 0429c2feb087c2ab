/** The person of an identity that an OpenID provider has proved, with the role of their groups. */
import type { Role } from '@monitor/shared/contract/route.ts';
import { endPersonSessions, findOrCreateAccount, lockAccounts } from '../accounts/index.ts';
import type { Db } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import { ApiError } from '../errors/api-error.ts';
import { endMembership } from './change-members.ts';
import { normalizeEmail } from './decide/email.ts';
import { roleOfGroups } from './decide/group-role.ts';
import { isLastManager } from './decide/managers.ts';
import type { PeopleDeps } from './deps.ts';
import { dropLinks, listInvitationsTo, roleOfLink } from './links.ts';
import { dropSecondFactors, lockPerson } from './second-factor.ts';
import {
  findPerson,
  insertMembership,
  insertPerson,
  listMembers,
  listMemberships,
  updateMembership,
  updatePerson,
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

/** Known by the identity (`isTied`), or for the first time by the address. Null for somebody new. */
async function findByIdentity(
  unit: Db,
  { issuer, subject, email, isEmailVerified }: Identity,
): Promise<{ id: string; isTied: boolean } | null> {
  const known = await unit
    .selectFrom('person_identities')
    .select('person_id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst();
  if (known !== undefined) return { id: known.person_id, isTied: true };
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
  return { id: person.id, isTied: false };
}

/** Gives the role of the groups, unless the account would lose the last who can do what they could. */
async function applyRole(
  { db: unit, clock }: Pick<PeopleDeps, 'db' | 'clock'>,
  { accountId, personId, role }: { accountId: string; personId: string; role: Role | null },
): Promise<void> {
  const members = await listMembers(unit, accountId);
  const present = members.find(({ id }) => id === personId);
  if (present === undefined) {
    if (role !== null) {
      await insertMembership(unit, { accountId, personId, role, now: clock.now() });
    }
    return;
  }
  const others = members.filter(({ id }) => id !== personId).map((other) => other.role);
  if (present.role === role || isLastManager(present.role, role, others)) return;
  if (role !== null) {
    await updateMembership(unit, { accountId, personId, role });
    return;
  }
  await endMembership({ db: unit, clock }, { accountId, personId });
}

/**
 * Ends what signs in as this person: nobody knows that the owner of the address has set it up. Without a
 * mail server, who invites an address can answer the invitation, too.
 */
async function endEarlierProofs(unit: Db, personId: string, now: number): Promise<void> {
  await lockPerson(unit, personId);
  await updatePerson(unit, personId, { password_hash: null, updated_at: now });
  await dropLinks(unit, { kind: 'RESET', personId });
  await dropSecondFactors(unit, personId);
  await endPersonSessions(unit, personId);
}

export interface JoinedPerson {
  personId: string;
  email: string;
  /** The account that their session acts for. */
  accountId: string;
  /** True when the identity was tied to somebody who had a password, which works no longer. */
  hasLostPassword: boolean;
}

/**
 * The person and the account that their session acts for. Invitations of the address are accepted. With `roles` the groups decide about the
 * membership in the oldest account at every sign-in, without any only those who were invited come in.
 * @throws ApiError FORBIDDEN for somebody who has no account here.
 */
export async function joinByIdentity(
  deps: Pick<PeopleDeps, 'db' | 'clock' | 'newId' | 'forget'>,
  identity: Identity,
  roles: readonly { group: string; role: Role }[],
): Promise<JoinedPerson> {
  const { db, clock, newId } = deps;
  const now = clock.now();
  const ownAccount = await findOrCreateAccount({ db, clock, newId });
  const role = roleOfGroups(identity.groups, roles);
  const email = normalizeEmail(identity.email);
  const readInvitations = async (unit: Db) =>
    identity.isEmailVerified ? await listInvitationsTo({ db: unit, clock }, email) : [];
  const invitedTo = (await readInvitations(db)).map((link) => link.account_id ?? '');
  const joined = await inTransaction(db, async (unit) => {
    await lockAccounts(unit, [ownAccount, ...invitedTo]);
    const known = await findByIdentity(unit, identity);
    // One that came since then waits for the next sign-in: its account is not locked.
    const invitations = (await readInvitations(unit)).flatMap((link) => {
      const accountId = link.account_id ?? '';
      const isForGroups = accountId === ownAccount && roles.length > 0;
      return isForGroups || !invitedTo.includes(accountId)
        ? []
        : [{ accountId, role: roleOfLink(link) }];
    });
    const personId = known?.id ?? newId();
    if (known === null) {
      if (role === null && invitations.length === 0) return null;
      const { name } = identity;
      await insertPerson(unit, { id: personId, email, name, passwordHash: null, now });
      await dropLinks(unit, { kind: 'SETUP' });
    }
    const person = await findPerson(unit, { id: personId });
    // Somebody whose address has changed at the provider is known by the old one here.
    if (person?.email === email) {
      for (const each of invitations) await insertMembership(unit, { ...each, personId, now });
    }
    if (roles.length > 0) {
      await applyRole({ db: unit, clock }, { accountId: ownAccount, personId, role });
    }
    const memberships = await listMemberships(unit, personId);
    const account = memberships.find(({ accountId }) => accountId === ownAccount) ?? memberships[0];
    if (person === undefined || account === undefined) return null;
    const isFirst = known?.isTied === false;
    const hasLostPassword = isFirst && person.password_hash !== null;
    if (isFirst) await endEarlierProofs(unit, personId, now);
    const { issuer, subject } = identity;
    await unit
      .insertInto('person_identities')
      .values({ issuer, subject, person_id: personId, created_at: now })
      .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doNothing())
      .execute();
    return { personId, email: person.email, accountId: account.accountId, hasLostPassword };
  });
  deps.forget();
  if (joined === null) {
    throw new ApiError('FORBIDDEN', 'you have no account here: ask an admin to invite you');
  }
  return joined;
}
