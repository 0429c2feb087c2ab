/** Checks an e-mail address and a password. */
import { lockRows } from '../db/lock.ts';
import type { Db } from '../db/tables.ts';
import { ApiError } from '../errors/api-error.ts';
import { normalizeEmail } from './decide/email.ts';
import type { PeopleDeps } from './deps.ts';
import { findPerson, listMemberships, type PersonRow, updatePerson } from './store.ts';

/** The same for an unknown address, a wrong password, and a person without an account. */
export function badCredentials(): ApiError {
  return new ApiError('BAD_CREDENTIALS', 'the e-mail address or the password is wrong');
}

export interface SignedInPerson {
  person: PersonRow;
  /** The account that the new session acts for. */
  accountId: string;
}

/** The person of these credentials, or 401 after the same work. */
export async function checkCredentials(
  { db, passwords }: Pick<PeopleDeps, 'db' | 'passwords'>,
  { email, password }: { email: string; password: string },
): Promise<SignedInPerson> {
  const person = await findPerson(db, { email: normalizeEmail(email) });
  const isRight = await passwords.matches(password, person?.password_hash ?? null);
  if (person === undefined || !isRight) throw badCredentials();
  return { person, accountId: await accountOfPerson(db, person.id) };
}

/** The account that a new session of a person acts for, or 401. */
export async function accountOfPerson(db: Db, personId: string): Promise<string> {
  const [account] = await listMemberships(db, personId);
  if (account === undefined) throw badCredentials();
  return account.accountId;
}

/** Refuses to start a session when the password was changed since it was compared. */
export async function requireSamePassword(
  unit: Db,
  { id, passwordHash }: { id: string; passwordHash: string | null },
): Promise<void> {
  const present = await lockRows(
    unit.selectFrom('people').select('password_hash').where('id', '=', id),
  ).executeTakeFirst();
  if (present?.password_hash !== passwordHash) throw badCredentials();
}

export function noteSignIn({ db, clock }: PeopleDeps, personId: string): Promise<void> {
  return updatePerson(db, personId, { last_sign_in_at: clock.now() });
}
