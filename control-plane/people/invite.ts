/** Invites somebody to an account. */
import type { Role } from '@monitor/shared/contract/route.ts';
import { enqueueMessages, personLinkMail } from '../notifications/index.ts';
import { lockAccounts, type Maker, requireGrant } from '../accounts/index.ts';
import { inTransaction } from '../db/unit.ts';
import { ownRows } from '../db/own-rows.ts';
import { ApiError, notFound, takenField } from '../errors/api-error.ts';
import { normalizeEmail } from './decide/email.ts';
import type { PeopleDeps } from './deps.ts';
import {
  addressOfLink,
  dropLinks,
  isLiving,
  linkMs,
  type LinkRow,
  makeLink,
  roleOfLink,
} from './links.ts';

const dayMs = 86_400_000;
const maxInvitations = 200;

interface Invitation {
  accountId: string;
  email: string;
  role: Role;
  invitedBy: string;
  /** Null for an operator. */
  maker: Maker | null;
}

/** Stores the invitation and sends it where mail is set up. Gives its row, and its link. */
export async function invite(
  deps: Pick<PeopleDeps, 'db' | 'clock' | 'newId' | 'publicUrl' | 'canMail'>,
  { accountId, role, invitedBy, maker, ...given }: Invitation,
): Promise<{ row: LinkRow; link: string }> {
  const { db, clock, newId, publicUrl, canMail } = deps;
  const email = normalizeEmail(given.email);
  return inTransaction(db, async (unit) => {
    await lockAccounts(unit, [accountId]);
    const mayGrant = async (granted: Role) => {
      if (maker !== null) await requireGrant(unit, { accountId, maker }, granted);
    };
    await mayGrant(role);
    const { name: accountName } = await unit
      .selectFrom('accounts')
      .select('name')
      .where('id', '=', accountId)
      .executeTakeFirstOrThrow();
    const member = await unit
      .selectFrom('memberships')
      .innerJoin('people', 'people.id', 'memberships.person_id')
      .select('people.id')
      .where('memberships.account_id', '=', accountId)
      .where('people.email', '=', email)
      .executeTakeFirst();
    if (member !== undefined) throw takenField('email', email);
    const open = await listInvitations({ db: unit, clock }, accountId);
    const replaced = open.filter((one) => one.email === email);
    for (const one of replaced) await mayGrant(roleOfLink(one));
    await dropLinks(unit, { kind: 'INVITATION', accountId, email });
    if (open.length - replaced.length >= maxInvitations) {
      throw new ApiError('CONFLICT', `${maxInvitations} invitations wait already; revoke some`);
    }
    const { row, token } = await makeLink(
      { db: unit, clock, newId },
      {
        kind: 'INVITATION',
        accountId,
        personId: null,
        email,
        role,
        madeBy: invitedBy,
        makerId: maker?.id ?? null,
      },
    );
    const link = addressOfLink(publicUrl, 'INVITATION', token);
    if (canMail) {
      const mail = personLinkMail({
        kind: 'INVITATION',
        to: email,
        link,
        validFor: `${linkMs.INVITATION / dayMs} days`,
        consoleUrl: `${publicUrl}/console/`,
        invitedBy,
        accountName,
      });
      const queued = { id: newId(), orderingKey: `person ${email}`, mail };
      await enqueueMessages(unit, accountId, [queued], clock.now());
    }
    return { row, link };
  });
}

/** The living invitations of an account, the newest first. */
export function listInvitations(
  { db, clock }: Pick<PeopleDeps, 'db' | 'clock'>,
  accountId: string,
): Promise<LinkRow[]> {
  return ownRows(db, 'person_links', accountId)
    .where('kind', '=', 'INVITATION')
    .where(isLiving(clock.now()))
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute();
}

/** @throws ApiError NOT_FOUND, or FORBIDDEN for an invitation that `maker` could not have made. */
export async function revokeInvitation(
  { db, clock }: Pick<PeopleDeps, 'db' | 'clock'>,
  accountId: string,
  maker: Maker,
  id: string,
): Promise<void> {
  await inTransaction(db, async (unit) => {
    await lockAccounts(unit, [accountId]);
    const open = await listInvitations({ db: unit, clock }, accountId);
    const found = open.find((one) => one.id === id);
    if (found === undefined) throw notFound('invitation', id);
    await requireGrant(unit, { accountId, maker }, roleOfLink(found));
    await unit.deleteFrom('person_links').where('id', '=', id).execute();
  });
}
