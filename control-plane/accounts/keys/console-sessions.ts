/**
 * Sessions of the console. An API key is exchanged for a session, so that no browser stores the
 * key. The session token is stored as a hash and is replaced from time to time. A session has the
 * role of its key and ends with the key (`KeyStore.findSession`).
 */
import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Database } from '../../db/tables.ts';
import { inTransaction } from '../../db/unit.ts';
import type { IssuedSession } from '../../http/console-cookie.ts';
import { sha256Hex } from '../../core/keys.ts';

const hourMs = 3_600_000;

/** Lifetime of a session: `short` ends with the browser, `kept` stays on this machine. */
export const sessionMs = { short: 12 * hourMs, kept: 30 * 24 * hourMs };
/** A token older than this is replaced when the console is opened. */
export const rotateAfterMs = hourMs;
/** Requests in flight while a token is replaced are still accepted for this long. */
export const previousTokenMs = 60_000;
const maxSessionsOfKey = 50;

interface SessionDeps {
  db: Kysely<Database>;
  clock: Clock;
  newId: () => string;
}

const makeToken = (): string => randomBytes(32).toString('base64url');

/** Starts a session for a key. Of too many sessions, the oldest end. */
export async function startConsoleSession(
  { db, clock, newId }: SessionDeps,
  { accountId, keyId }: { accountId: string; keyId: string },
  isKept: boolean,
): Promise<IssuedSession> {
  const token = makeToken();
  const now = clock.now();
  const expiresAt = now + (isKept ? sessionMs.kept : sessionMs.short);
  await inTransaction(db, async (unit) => {
    await unit
      .insertInto('console_sessions')
      .values({
        id: newId(),
        account_id: accountId,
        api_key_id: keyId,
        token_hash: sha256Hex(token),
        previous_hash: null,
        rotated_at: now,
        created_at: now,
        expires_at: expiresAt,
      })
      .execute();
    await unit
      .deleteFrom('console_sessions')
      .where('id', 'in', (older) =>
        older
          .selectFrom('console_sessions')
          .select('id')
          .where('api_key_id', '=', keyId)
          .orderBy('created_at', 'desc')
          .orderBy('id')
          // SQLite knows no offset without a limit.
          .limit(Number.MAX_SAFE_INTEGER)
          .offset(maxSessionsOfKey),
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
  { db, clock }: Omit<SessionDeps, 'newId'>,
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

/** Ends the session that a token belongs to; the token may be the present or the previous one. */
export async function endConsoleSession(db: Kysely<Database>, token: string): Promise<void> {
  const hash = sha256Hex(token);
  await db
    .deleteFrom('console_sessions')
    .where((where) => where.or([where('token_hash', '=', hash), where('previous_hash', '=', hash)]))
    .execute();
}

/** Deletes expired sessions. */
export async function forgetConsoleSessions({
  db,
  clock,
}: Omit<SessionDeps, 'newId'>): Promise<void> {
  await db.deleteFrom('console_sessions').where('expires_at', '<=', clock.now()).execute();
}
