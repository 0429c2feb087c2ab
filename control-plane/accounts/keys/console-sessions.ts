/**
 * Sessions of the console. A person signs in, or an API key is exchanged, so that no browser stores
 * a password or a key. The session token is stored as a hash and is replaced from time to time. A
 * session of a key has its role and ends with it; one of a person has the role of their membership
 * and ends with that (`KeyStore.findSession`).
 */
import { randomBytes } from 'node:crypto';
import type { ExpressionBuilder } from 'kysely';
import type { Database, Db } from '../../db/tables.ts';
import { keepRows } from '../../db/lock.ts';
import { inTransaction } from '../../db/unit.ts';
import type { IssuedSession } from '../../http/console-cookie.ts';
import { sha256Hex } from '../../core/keys.ts';
import type { Services } from '../../core/services.ts';

const hourMs = 3_600_000;

/** Lifetime of a session: `short` ends with the browser, `kept` stays on this machine. */
export const sessionMs = { short: 12 * hourMs, kept: 30 * 24 * hourMs };
/** A token older than this is replaced when the console is opened. */
export const rotateAfterMs = hourMs;
/** Requests in flight while a token is replaced are still accepted for this long. */
export const previousTokenMs = 60_000;
const maxSessionsOfOwner = 50;
const maxUserAgentLength = 300;

export type SessionOwner = { accountId: string } & ({ keyId: string } | { personId: string });

/** The browser that signs in. */
export interface SessionBrowser {
  userAgent: string | null;
  address: string | null;
}

/** Deleting a session deletes its devices, so an expired session with a device is kept. */
const hasNoDevice = ({
  not,
  exists,
  selectFrom,
}: ExpressionBuilder<Database, 'console_sessions'>) =>
  not(
    exists(
      selectFrom('push_devices')
        .select('push_devices.id')
        .whereRef('push_devices.session_id', '=', 'console_sessions.id'),
    ),
  );

const makeToken = (): string => randomBytes(32).toString('base64url');

/**
 * Starts a session for a key or a person. Of too many sessions of one, the oldest end. `confirm` throws in
 * the same transaction when what was proved is true no longer.
 */
export async function startConsoleSession(
  { db, clock, newId }: Pick<Services, 'db' | 'clock' | 'newId'>,
  owner: SessionOwner,
  isKept: boolean,
  { userAgent, address }: SessionBrowser,
  confirm?: (unit: Db) => Promise<void>,
): Promise<IssuedSession> {
  const token = makeToken();
  const now = clock.now();
  const expiresAt = now + (isKept ? sessionMs.kept : sessionMs.short);
  const [column, ownerId] =
    'keyId' in owner
      ? (['api_key_id', owner.keyId] as const)
      : (['person_id', owner.personId] as const);
  await inTransaction(db, async (unit) => {
    await confirm?.(unit);
    await unit
      .insertInto('console_sessions')
      .values({
        id: newId(),
        account_id: owner.accountId,
        api_key_id: null,
        person_id: null,
        [column]: ownerId,
        token_hash: sha256Hex(token),
        previous_hash: null,
        rotated_at: now,
        created_at: now,
        expires_at: expiresAt,
        user_agent: userAgent?.slice(0, maxUserAgentLength) ?? null,
        address,
      })
      .execute();
    await unit
      .deleteFrom('console_sessions')
      .where('id', 'in', (older) =>
        older
          .selectFrom('console_sessions')
          .select('id')
          .where(column, '=', ownerId)
          .where(hasNoDevice)
          .orderBy('created_at', 'desc')
          .orderBy('id')
          // SQLite knows no offset without a limit.
          .limit(Number.MAX_SAFE_INTEGER)
          .offset(maxSessionsOfOwner),
      )
      .execute();
  });
  return { token, isKept, expiresAt };
}

/**
 * Gives the next token of a session. Null while the present token is young, or when the given token
 * is not the present one.
 */
export async function rotateConsoleSession(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  token: string,
): Promise<IssuedSession | null> {
  const next = makeToken();
  const now = clock.now();
  const row = await db
    .updateTable('console_sessions')
    .set((set) => ({
      previous_hash: set.ref('token_hash'),
      token_hash: sha256Hex(next),
      rotated_at: now,
    }))
    .where('token_hash', '=', sha256Hex(token))
    .where('rotated_at', '<=', now - rotateAfterMs)
    .where('expires_at', '>', now)
    .returning(['created_at', 'expires_at'])
    .executeTakeFirst();
  if (row === undefined) return null;
  const isKept = row.expires_at - row.created_at > sessionMs.short;
  return { token: next, isKept, expiresAt: row.expires_at };
}

/** Ends the session with this hash of a token; the token may be the present or the previous one. */
export async function endConsoleSession(db: Db, hash: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('console_sessions')
    .where((where) => where.or([where('token_hash', '=', hash), where('previous_hash', '=', hash)]))
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/** Deletes expired sessions without devices. */
export async function forgetConsoleSessions({
  db,
  clock,
}: Pick<Services, 'db' | 'clock'>): Promise<void> {
  await db
    .deleteFrom('console_sessions')
    .where('expires_at', '<=', clock.now())
    .where(hasNoDevice)
    .execute();
}

export interface PersonSession extends SessionBrowser {
  id: string;
  accountName: string;
  lastUsedAt: number | null;
  createdAt: number;
  expiresAt: number;
}

/** The living sessions of a person in all their accounts, the newest first. */
export async function listPersonSessions(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  personId: string,
): Promise<PersonSession[]> {
  return db
    .selectFrom('console_sessions as session')
    .innerJoin('accounts', 'accounts.id', 'session.account_id')
    .select([
      'session.id',
      'accounts.name as accountName',
      'session.user_agent as userAgent',
      'session.address',
      'session.last_used_at as lastUsedAt',
      'session.created_at as createdAt',
      'session.expires_at as expiresAt',
    ])
    .where('session.person_id', '=', personId)
    .where('session.expires_at', '>', clock.now())
    .orderBy('session.created_at', 'desc')
    .orderBy('session.id')
    .execute();
}

/**
 * A session that came to an account by `moveSession` may have added devices in others, which do not end with this
 * account: it expires there instead.
 */
async function leaveForOtherDevices(db: Db, personId: string, accountId: string): Promise<void> {
  const others = ({ selectFrom }: ExpressionBuilder<Database, 'console_sessions'>) =>
    selectFrom('push_devices')
      .select('push_devices.account_id')
      .whereRef('push_devices.session_id', '=', 'console_sessions.id')
      .where('push_devices.account_id', '<>', accountId)
      .limit(1);
  await db
    .updateTable('console_sessions')
    .set((of) => ({ expires_at: 0, account_id: others(of) }))
    .where('person_id', '=', personId)
    .where('account_id', '=', accountId)
    .where((of) => of.exists(others(of)))
    .execute();
}

/** Ends sessions of a person: all, one, all but one, or those in an account. Gives how many. */
export async function endPersonSessions(
  db: Db,
  personId: string,
  which: { id?: string; exceptId?: string; accountId?: string } = {},
): Promise<number> {
  const { id, exceptId, accountId } = which;
  if (accountId !== undefined) await leaveForOtherDevices(db, personId, accountId);
  let query = db.deleteFrom('console_sessions').where('person_id', '=', personId);
  if (id !== undefined) query = query.where('id', '=', id);
  if (exceptId !== undefined) query = query.where('id', '<>', exceptId);
  if (accountId !== undefined) query = query.where('account_id', '=', accountId);
  const { numDeletedRows } = await query.executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** True while the session of the person is there; it stays until the transaction ends. */
export async function keepPersonSession(
  db: Db,
  { id, personId }: { id: string; personId: string },
): Promise<boolean> {
  const row = await keepRows(
    db
      .selectFrom('console_sessions')
      .select('id')
      .where('id', '=', id)
      .where('person_id', '=', personId),
  ).executeTakeFirst();
  return row !== undefined;
}

/** Lets a session act for another account, of which the caller has read the membership. */
export async function moveSession(
  db: Db,
  { id, personId, accountId }: { id: string; personId: string; accountId: string },
): Promise<void> {
  await db
    .updateTable('console_sessions')
    .set({ account_id: accountId })
    .where('id', '=', id)
    .where('person_id', '=', personId)
    .execute();
}
