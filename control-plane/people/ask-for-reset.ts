/** Makes the link with which a person chooses a new password. */
import { enqueueMessages, personLinkMail } from '../notifications/index.ts';
import { inTransaction } from '../db/unit.ts';
import { normalizeEmail } from './decide/email.ts';
import type { PeopleDeps } from './deps.ts';
import { addressOfLink, dropLinks, hasLivingLinks, makeLink } from './links.ts';
import { lockPerson } from './second-factor.ts';
import { findPerson, listMemberships, type PersonRow } from './store.ts';

type Deps = Pick<PeopleDeps, 'db' | 'clock' | 'newId' | 'publicUrl'>;

/** A mail may be late, so that people ask again: any of these works. */
const maxLivingLinks = 3;

async function addResetLink(deps: Deps, person: PersonRow): Promise<string> {
  const { token } = await makeLink(deps, {
    ...{ kind: 'RESET', accountId: null, personId: person.id },
    ...{ email: person.email, role: null, madeBy: 'reset' },
  });
  return addressOfLink(deps.publicUrl, 'RESET', token);
}

/** A link for an operator to hand over; null when nobody has the address. Earlier links end. */
export async function makeResetLink(deps: Deps, email: string): Promise<string | null> {
  return inTransaction(deps.db, async (unit) => {
    const person = await findPerson(unit, { email: normalizeEmail(email) });
    if (person === undefined) return null;
    await dropLinks(unit, { kind: 'RESET', personId: person.id });
    return addResetLink({ ...deps, db: unit }, person);
  });
}

/**
 * Sends a link to the address if a person has it. Anybody may ask, so earlier links go on, and beside a few
 * of them no more is sent. It is called after the answer, so that the time of
 * the answer says nothing about who exists.
 */
export async function mailResetLink(deps: PeopleDeps, given: string): Promise<void> {
  const { db, clock, newId, publicUrl, outbox } = deps;
  const found = await findPerson(db, { email: normalizeEmail(given) });
  if (found === undefined) return;
  await inTransaction(db, async (unit) => {
    await lockPerson(unit, found.id);
    const person = await findPerson(unit, { id: found.id });
    // Who signs in with a provider would get round it with a password of their own.
    if (person === undefined || person.password_hash === null) return;
    const [account] = await listMemberships(unit, person.id);
    if (account === undefined) return;
    const of = { kind: 'RESET' as const, personId: person.id };
    if (await hasLivingLinks({ db: unit, clock }, of, maxLivingLinks)) return;
    const mail = personLinkMail({
      kind: 'RESET',
      to: person.email,
      link: await addResetLink({ ...deps, db: unit }, person),
      validFor: 'an hour',
      consoleUrl: `${publicUrl}/console/`,
    });
    const queued = { id: newId(), orderingKey: `person ${person.email}`, mail };
    await enqueueMessages(unit, account.accountId, [queued], clock.now());
  });
  outbox.wake();
}
