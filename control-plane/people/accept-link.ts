/** What a one-time link allows: the set-up, an invitation, a new password. Each in one transaction. */
import { ApiError, takenField, invalidField } from '../errors/api-error.ts';
import { endPersonSessions, lockAccounts } from '../accounts/index.ts';
import { inTransaction } from '../db/unit.ts';
import { normalizeEmail } from './decide/email.ts';
import { passwordProblem } from './decide/password.ts';
import type { PeopleDeps } from './deps.ts';
import { dropLinks, readLink, takeLink, type LinkRow } from './links.ts';
import { dropUnconfirmedApp, lockPerson } from './second-factor.ts';
import { badCredentials } from './sign-in.ts';
import { findPerson, hasPeople, insertMembership, insertPerson, updatePerson } from './store.ts';

export interface LinkAnswer {
  token: string;
  password: string;
  /** Of a new person. */
  name: string;
  /** Of the set-up; the other links know it. */
  email: string;
}

/** What the page of a link shows before it asks. */
export interface LinkFacts {
  kind: LinkRow['kind'];
  email: string;
  accountName: string | null;
  role: string | null;
  invitedBy: string | null;
  /** True for a person of another account: the current password is asked for, not a new one. */
  isKnown: boolean;
}

export async function describeLink(
  deps: Pick<PeopleDeps, 'db' | 'clock'>,
  token: string,
): Promise<LinkFacts> {
  const link = await readLink(deps, token);
  const account =
    link.account_id === null
      ? undefined
      : await deps.db
          .selectFrom('accounts')
          .select('name')
          .where('id', '=', link.account_id)
          .executeTakeFirst();
  const known = link.email === '' ? undefined : await findPerson(deps.db, { email: link.email });
  return {
    kind: link.kind,
    email: link.email,
    accountName: account?.name ?? null,
    role: link.role,
    invitedBy: link.kind === 'INVITATION' ? link.made_by : null,
    isKnown: known !== undefined && known.password_hash !== null,
  };
}

function requireGoodPassword(password: string, email: string): void {
  const problem = passwordProblem(password, email);
  if (problem !== null) throw invalidField('password', problem);
}

interface Accepted {
  personId: string;
  /** The account that a session of theirs acts for; null where they sign in. */
  accountId: string | null;
  /** Of the password that was given. */
  passwordHash: string | null;
}

/** The set-up and invitations: makes the person, or adds a known one who proves who they are. */
async function join(deps: PeopleDeps, link: LinkRow, answer: LinkAnswer): Promise<Accepted> {
  const { db, clock, newId, passwords } = deps;
  const { account_id: accountId, role } = link;
  if (accountId === null || role === null) throw new Error(`link ${link.id} has no account`);
  const email = link.kind === 'SETUP' ? normalizeEmail(answer.email) : link.email;
  const known = await findPerson(db, { email });
  const hasPassword = known !== undefined && known.password_hash !== null;
  // The link of an invitation alone does not prove who a known person is.
  if (hasPassword) {
    if (!(await passwords.matches(answer.password, known.password_hash))) throw badCredentials();
  } else {
    requireGoodPassword(answer.password, email);
  }
  const passwordHash = hasPassword ? known.password_hash : await passwords.hash(answer.password);
  const now = clock.now();
  return inTransaction(db, async (unit) => {
    await lockAccounts(unit, [accountId]);
    await takeLink({ db: unit, clock }, link);
    if (link.kind === 'SETUP' && (await hasPeople(unit))) throw takenField('email', email);
    // Somebody may have joined or left since the password was compared.
    const present = await findPerson(unit, { email });
    if ((present?.password_hash ?? null) !== (known?.password_hash ?? null)) throw badCredentials();
    const personId = present?.id ?? newId();
    // Who signs in with a provider has no password: the link alone must not give them one.
    if (present !== undefined && !hasPassword) {
      throw new ApiError(
        'FORBIDDEN',
        'this address signs in with the OpenID provider: sign in there, and the invitation is accepted',
      );
    }
    if (present === undefined) {
      await insertPerson(unit, { id: personId, email, name: answer.name, passwordHash, now });
    }
    await insertMembership(unit, { accountId, personId, role, now });
    await dropLinks(unit, { kind: 'SETUP' });
    return { personId, accountId, passwordHash };
  });
}

/** Sets the password and ends every session: a stranger who was signed in may be why it is reset. */
async function reset(deps: PeopleDeps, link: LinkRow, { password }: LinkAnswer): Promise<Accepted> {
  const { db, clock, passwords } = deps;
  const { person_id: personId } = link;
  if (personId === null) throw new Error(`link ${link.id} has no person`);
  requireGoodPassword(password, link.email);
  const passwordHash = await passwords.hash(password);
  await inTransaction(db, async (unit) => {
    await lockPerson(unit, personId);
    await takeLink({ db: unit, clock }, link);
    await dropUnconfirmedApp(unit, personId);
    await updatePerson(unit, personId, {
      password_hash: passwordHash,
      updated_at: clock.now(),
    });
    await dropLinks(unit, { kind: 'RESET', personId });
    await endPersonSessions(unit, personId);
  });
  deps.forget();
  return { personId, accountId: null, passwordHash };
}

export async function acceptLink(
  deps: PeopleDeps,
  answer: LinkAnswer,
): Promise<Accepted & { kind: LinkRow['kind'] }> {
  const link = await readLink(deps, answer.token);
  const { kind } = link;
  return { kind, ...(await (kind === 'RESET' ? reset : join)(deps, link, answer)) };
}
