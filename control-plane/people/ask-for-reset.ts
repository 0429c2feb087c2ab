/** Makes the link with which a person chooses a new password. */
import { enqueueMails, personLinkMail } from '../notifications/index.ts';
import { inTransaction } from '../db/unit.ts';
import { normalizeEmail } from './decide/email.ts';
import type { PeopleDeps } from './deps.ts';
import { addressOfLink, dropLinks, makeLink } from './links.ts';
import { findPerson, listMemberships } from './store.ts';

/** A link for an operator to hand over; null when nobody has the address. Earlier links end. */
export async function makeResetLink(
  deps: Pick<PeopleDeps, 'db' | 'clock' | 'newId' | 'publicUrl'>,
  email: string,
): Promise<string | null> {
  return inTransaction(deps.db, async (unit) => {
    const person = await findPerson(unit, { email: normalizeEmail(email) });
    if (person === undefined) return null;
    await dropLinks(unit, { kind: 'RESET', personId: person.id });
    const { token } = await makeLink(
      { ...deps, db: unit },
      {
        ...{ kind: 'RESET', accountId: null, personId: person.id },
        ...{ email: person.email, role: null, madeBy: 'reset' },
      },
    );
    return addressOfLink(deps.publicUrl, 'RESET', token);
  });
}

/**
 * Sends the link to the address if a person has it. It is called after the answer, so that the time of
 * the answer says nothing about who exists.
 */
export async function mailResetLink(deps: PeopleDeps, given: string): Promise<void> {
  const { db, clock, newId, publicUrl, outbox } = deps;
  const person = await findPerson(db, { email: normalizeEmail(given) });
  // Who signs in with a provider would get round it with a password of their own.
  if (person === undefined || person.password_hash === null) return;
  const link = await makeResetLink(deps, given);
  if (link === null) return;
  const [account] = await listMemberships(db, person.id);
  if (account === undefined) return;
  const mail = personLinkMail({
    kind: 'RESET',
    to: person.email,
    link,
    validFor: 'an hour',
    consoleUrl: `${publicUrl}/console/`,
  });
  await inTransaction(db, (unit) =>
    enqueueMails(
      unit,
      account.accountId,
      [{ id: newId(), orderingKey: `person ${person.email}`, mail }],
      clock.now(),
    ),
  );
  outbox.wake();
}
