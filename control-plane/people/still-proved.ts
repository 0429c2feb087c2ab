/** What somebody proved before a transaction, compared once more in it. */
import { keepPersonSession } from '../accounts/index.ts';
import type { Db } from '../db/tables.ts';
import { badToken } from '../errors/api-error.ts';
import { lockPerson } from './second-factor.ts';
import { requireSamePassword } from './sign-in.ts';

/** A person in one of their sessions. */
export interface SignedIn {
  personId: string;
  sessionId: string;
}

/** The same, who has given their password. */
export interface Proved extends SignedIn {
  /** The hash that it was compared with. */
  passwordHash: string | null;
}

/** Locks the person. A session that has ended since the request came decides nothing any more. */
export async function requireSession(unit: Db, { personId, sessionId }: SignedIn): Promise<void> {
  await lockPerson(unit, personId);
  if (!(await keepPersonSession(unit, { id: sessionId, personId }))) throw badToken();
}

/** The same, and a password that was changed or reset since it was compared. */
export async function requireStillProved(unit: Db, proved: Proved): Promise<void> {
  await requireSession(unit, proved);
  await requireSamePassword(unit, { id: proved.personId, passwordHash: proved.passwordHash });
}
