/** One-time links: made, shown, and taken. A link that was taken does not work again. */
import { randomBytes } from 'node:crypto';
import type { ExpressionBuilder, SqlBool, Expression } from 'kysely';
import { roles, type Role } from '@monitor/shared/contract/route.ts';
import { sha256Hex } from '../core/keys.ts';
import type { Database, Db, RowOf } from '../db/tables.ts';
import { ApiError } from '../errors/api-error.ts';
import { mayInvite } from './decide/managers.ts';
import type { Services } from '../core/services.ts';

export type LinkRow = RowOf<'person_links'>;
type LinkKind = LinkRow['kind'];

const dayMs = 86_400_000;

export const linkMs: Readonly<Record<LinkKind, number>> = {
  SETUP: 3_600_000,
  INVITATION: 7 * dayMs,
  RESET: 3_600_000,
};

/** The page of the console that takes a link. The token is in the fragment, which no server logs. */
const pageOf: Readonly<Record<LinkKind, string>> = {
  SETUP: 'setup',
  INVITATION: 'invitation',
  RESET: 'reset',
};

export interface NewLink {
  kind: LinkKind;
  accountId: string | null;
  personId: string | null;
  email: string;
  role: Role | null;
  madeBy: string;
  /** Of the person or key that makes an invitation. */
  makerId?: string | null;
}

/** Stores a link and gives its row and its token, which is in no database. */
export async function makeLink(
  { db, clock, newId }: Pick<Services, 'db' | 'clock' | 'newId'>,
  { kind, accountId, personId, email, role, madeBy, makerId = null }: NewLink,
): Promise<{ row: LinkRow; token: string }> {
  const token = randomBytes(32).toString('base64url');
  const now = clock.now();
  const row: LinkRow = {
    id: newId(),
    kind,
    token_hash: sha256Hex(token),
    account_id: accountId,
    person_id: personId,
    email,
    role,
    made_by: madeBy,
    made_by_id: makerId,
    created_at: now,
    expires_at: now + linkMs[kind],
  };
  await db.insertInto('person_links').values(row).execute();
  return { row, token };
}

export function addressOfLink(publicUrl: string, kind: LinkKind, token: string): string {
  return `${publicUrl}/console/#/${pageOf[kind]}?token=${token}`;
}

/** The same for links that never were, were used, were revoked and have expired. */
function deadLink(): ApiError {
  return new ApiError(
    'NOT_FOUND',
    'this link does not work: it was used, was revoked or has expired',
  );
}

/** True for a link that has not expired, and whose key has neither expired nor been revoked. */
export function isLiving(now: number) {
  return (where: ExpressionBuilder<Database, 'person_links'>): Expression<SqlBool> =>
    where.and([
      where('person_links.expires_at', '>', now),
      where.not(
        where.exists(
          where
            .selectFrom('api_keys')
            .select('api_keys.id')
            .whereRef('api_keys.id', '=', 'person_links.made_by_id')
            .where((key) =>
              key.or([
                key('api_keys.revoked_at', 'is not', null),
                key('api_keys.expires_at', '<=', now),
              ]),
            ),
        ),
      ),
    ]);
}

/** The link of a token, or 404. */
export async function readLink(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  token: string,
): Promise<LinkRow> {
  return db
    .selectFrom('person_links')
    .selectAll()
    .where('token_hash', '=', sha256Hex(token))
    .where(isLiving(clock.now()))
    .executeTakeFirstOrThrow(() => deadLink());
}

/** Deletes the link in the transaction that does what it allows: of two that come at once, one wins. */
export async function takeLink(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  row: LinkRow,
): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('person_links')
    .where('id', '=', row.id)
    .where(isLiving(clock.now()))
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) throw deadLink();
}

/** Deletes links that are about to be replaced or have lost their meaning. */
export async function dropLinks(
  db: Db,
  { kind, ...of }: { kind: LinkKind; accountId?: string; email?: string; personId?: string },
): Promise<void> {
  let query = db.deleteFrom('person_links').where('kind', '=', kind);
  if (of.accountId !== undefined) query = query.where('account_id', '=', of.accountId);
  if (of.email !== undefined) query = query.where('email', '=', of.email);
  if (of.personId !== undefined) query = query.where('person_id', '=', of.personId);
  await query.execute();
}

/** True when a person has so many links of this kind that work. */
export async function hasLivingLinks(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  { kind, personId }: { kind: LinkKind; personId: string },
  count: number,
): Promise<boolean> {
  const rows = await db
    .selectFrom('person_links')
    .select('id')
    .where('kind', '=', kind)
    .where('person_id', '=', personId)
    .where(isLiving(clock.now()))
    .limit(count)
    .execute();
  return rows.length === count;
}

/** The living invitations of an address to any account. */
export function listInvitationsTo(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  email: string,
): Promise<LinkRow[]> {
  return db
    .selectFrom('person_links')
    .selectAll()
    .where('kind', '=', 'INVITATION')
    .where('email', '=', email)
    .where(isLiving(clock.now()))
    .execute();
}

export const roleOfLink = ({ role }: LinkRow): Role => role ?? 'READ_ONLY';

/** Ends the invitations that somebody with the role `held` (null: removed) could not make any more. */
export async function endInvitationsOf(
  db: Db,
  { accountId, personId, held }: { accountId: string; personId: string; held: Role | null },
): Promise<void> {
  const beyond = roles.filter((role) => !mayInvite(held, role));
  if (beyond.length === 0) return;
  await db
    .deleteFrom('person_links')
    .where('kind', '=', 'INVITATION')
    .where('account_id', '=', accountId)
    .where('made_by_id', '=', personId)
    .where('role', 'in', beyond)
    .execute();
}

/** Deletes expired links. */
export async function forgetLinks({ db, clock }: Pick<Services, 'db' | 'clock'>): Promise<void> {
  await db.deleteFrom('person_links').where('expires_at', '<=', clock.now()).execute();
}
