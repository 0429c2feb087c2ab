/** Stored people and their memberships. Addresses are normalized by the callers. */
import type { Role } from '@monitor/shared/contract/route.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { deleteOwnRows, updateOwnRows } from '../db/own-rows.ts';
import { dropLinks, endInvitationsOf } from './links.ts';

export type PersonRow = RowOf<'people'>;

export interface Member {
  id: string;
  name: string;
  email: string;
  role: Role;
  hasSecondFactor: boolean;
  lastSignInAt: number | null;
  createdAt: number;
}

export interface Membership {
  accountId: string;
  accountName: string;
  role: Role;
}

export function findPerson(
  db: Db,
  by: { id: string } | { email: string },
): Promise<PersonRow | undefined> {
  const query = db.selectFrom('people').selectAll();
  return (
    'id' in by ? query.where('id', '=', by.id) : query.where('email', '=', by.email)
  ).executeTakeFirst();
}

export async function hasPeople(db: Db): Promise<boolean> {
  return (await db.selectFrom('people').select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** The people of an account by name, or the one with this id. */
export async function listMembers(db: Db, accountId: string, personId?: string): Promise<Member[]> {
  const rows = await db
    .selectFrom('memberships')
    .innerJoin('people', 'people.id', 'memberships.person_id')
    .leftJoin('person_totp', 'person_totp.person_id', 'people.id')
    .select(['people.id', 'people.name', 'people.email', 'memberships.role'])
    .select(['people.last_sign_in_at as lastSignInAt', 'memberships.created_at as createdAt'])
    .select('person_totp.confirmed_at as secondFactorAt')
    .select(({ exists, selectFrom }) =>
      exists(
        selectFrom('passkeys').select('id').whereRef('passkeys.person_id', '=', 'people.id'),
      ).as('hasPasskey'),
    )
    .where('memberships.account_id', '=', accountId)
    .$if(personId !== undefined, (query) => query.where('people.id', '=', personId ?? ''))
    .orderBy('people.name')
    .orderBy('people.id')
    .execute();
  return rows.map(({ secondFactorAt, hasPasskey, ...row }) => ({
    ...row,
    hasSecondFactor: secondFactorAt !== null || Boolean(hasPasskey),
  }));
}

/** The accounts of a person, by name. */
export function listMemberships(db: Db, personId: string): Promise<Membership[]> {
  return db
    .selectFrom('memberships')
    .innerJoin('accounts', 'accounts.id', 'memberships.account_id')
    .select(['accounts.id as accountId', 'accounts.name as accountName', 'memberships.role'])
    .where('memberships.person_id', '=', personId)
    .orderBy('accounts.name')
    .orderBy('accounts.id')
    .execute();
}

export async function insertPerson(
  db: Db,
  person: { id: string; email: string; name: string; passwordHash: string | null; now: number },
): Promise<void> {
  await db
    .insertInto('people')
    .values({
      id: person.id,
      email: person.email,
      name: person.name,
      password_hash: person.passwordHash,
      created_at: person.now,
    })
    .execute();
}

export async function updatePerson(
  db: Db,
  id: string,
  change: Partial<Pick<PersonRow, 'name' | 'password_hash' | 'last_sign_in_at' | 'updated_at'>>,
): Promise<void> {
  await db.updateTable('people').set(change).where('id', '=', id).execute();
}

/** An invitation that nobody has used is no way back for who was removed. */
async function dropInvitationsTo(
  db: Db,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<void> {
  const person = await findPerson(db, { id: personId });
  if (person === undefined) return;
  await dropLinks(db, { kind: 'INVITATION', accountId, email: person.email });
}

/** Adds a person to an account, and ends invitations to it; a membership that is there keeps its role. */
export async function insertMembership(
  db: Db,
  of: { accountId: string; personId: string; role: Role; now: number },
): Promise<void> {
  await db
    .insertInto('memberships')
    .values({
      account_id: of.accountId,
      person_id: of.personId,
      role: of.role,
      created_at: of.now,
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'person_id']).doNothing())
    .execute();
  await dropInvitationsTo(db, of);
}

/** Changes a role, and ends the invitations that it does not allow. */
export async function updateMembership(
  db: Db,
  { accountId, personId, role }: { accountId: string; personId: string; role: Role },
): Promise<void> {
  await updateOwnRows(db, 'memberships', accountId)
    .set({ role })
    .where('person_id', '=', personId)
    .execute();
  await endInvitationsOf(db, { accountId, personId, held: role });
}

/** Deletes a membership with invitations from and to the person, and the person with their last one. */
export async function deleteMembership(
  db: Db,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<void> {
  await endInvitationsOf(db, { accountId, personId, held: null });
  await dropInvitationsTo(db, { accountId, personId });
  await deleteOwnRows(db, 'memberships', accountId).where('person_id', '=', personId).execute();
  await db
    .deleteFrom('people')
    .where('id', '=', personId)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('memberships').select('role').where('person_id', '=', personId))),
    )
    .execute();
}

/**
 * The account whose audit log has a sign-in of this address: for nobody's address (`isMember` is false),
 * the oldest one.
 */
export async function accountOfAddress(
  db: Db,
  email: string,
): Promise<{ id: string; isMember: boolean } | undefined> {
  const row = await db
    .selectFrom('accounts')
    .leftJoin('memberships', (join) =>
      join
        .onRef('memberships.account_id', '=', 'accounts.id')
        .on('memberships.person_id', '=', (own) =>
          own.selectFrom('people').select('id').where('email', '=', email),
        ),
    )
    .select(['accounts.id', 'memberships.role'])
    .orderBy((order) => order.case().when('memberships.role', 'is', null).then(1).else(0).end())
    .orderBy('accounts.created_at')
    .orderBy('accounts.id')
    .limit(1)
    .executeTakeFirst();
  return row && { id: row.id, isMember: row.role !== null };
}
