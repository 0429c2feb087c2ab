/** Stored keys: only hashes, never the keys themselves. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { Role } from '@monitor/shared/contract/route.ts';
import type { Db } from '../../db/tables.ts';
import { updateOwnRows } from '../../db/own-rows.ts';
import { databaseFailure } from '../../db/failure.ts';
import type {
  ApiPrincipal,
  KeyFinder,
  KeyHolder,
  LocationPrincipal,
} from '../../http/authenticate.ts';
import { makeKey } from '../../core/keys.ts';
import { raiseLocations } from '../../core/location-versions.ts';
import { previousTokenMs } from './console-sessions.ts';
import type { Services } from '../../core/services.ts';

/** "Last used" is kept to the minute, so that a busy key does not write at every request. */
const lastUsedResolutionMs = 60_000;
/** Sessions come and go: of so many the times of the last uses are forgotten, and written again. */
const maxUses = 10_000;

/**
 * How long a key that was looked up is cached. Within this time every process notices what another
 * process (the command line) did to the key.
 */
export const rememberKeysMs = 5_000;

type Found<P> = (P & { keyHash: string }) | undefined;

interface Remembered<P> {
  found: P & { keyHash: string };
  /** On the monotonic clock. */
  until: number;
}

interface RememberedSession {
  /** The hash of its key, or the person with the role of their membership. */
  of: string | ApiPrincipal;
  expiresAt: number;
  /** On the monotonic clock. */
  until: number;
}

/**
 * Looks up keys by their hash and caches them for a moment, or until `forget`. Every operation of
 * this process that revokes a key must call `forget`.
 */
export class KeyStore implements KeyFinder {
  readonly #db: Db;
  readonly #clock: Clock;
  readonly #apiKeys = new Map<string, Remembered<ApiPrincipal> & { expiresAt: number | null }>();
  readonly #locationKeys = new Map<string, Remembered<LocationPrincipal>>();
  readonly #sessions = new Map<string, RememberedSession>();
  readonly #usedAt = new Map<string, number>();
  /** Grows when the cache is cleared: a value read before that is not cached afterwards. */
  #generation = 0;

  constructor(db: Db, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  async findApiKey(keyHash: string): Promise<Found<ApiPrincipal>> {
    const now = this.#clock.now();
    const known = this.#apiKeys.get(keyHash);
    if (known !== undefined && this.#clock.monotonic() < known.until) {
      if (known.expiresAt !== null && known.expiresAt <= now) return undefined;
      await this.#noteKeyUse(known.found.keyId, now);
      return known.found;
    }
    const until = this.#clock.monotonic() + rememberKeysMs;
    const generation = this.#generation;
    const row = await this.#db
      .selectFrom('api_keys')
      .selectAll()
      .where('key_hash', '=', keyHash)
      .where('revoked_at', 'is', null)
      .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
      .executeTakeFirst();
    if (row === undefined) {
      this.#apiKeys.delete(keyHash);
      return undefined;
    }
    const found = {
      kind: 'apiKey' as const,
      accountId: row.account_id,
      keyId: row.id,
      role: row.role as Role,
      keyHash: row.key_hash,
    };
    if (generation === this.#generation) {
      this.#apiKeys.set(keyHash, { found, until, expiresAt: row.expires_at });
    }
    await this.#noteKeyUse(row.id, now);
    return found;
  }

  async findSession(tokenHash: string): Promise<ApiPrincipal | undefined> {
    const now = this.#clock.now();
    let known = this.#sessions.get(tokenHash);
    if (known === undefined || this.#clock.monotonic() >= known.until) {
      const until = this.#clock.monotonic() + rememberKeysMs;
      const generation = this.#generation;
      const found = await this.#readSession(tokenHash, now);
      this.#sessions.delete(tokenHash);
      if (found === undefined) return undefined;
      known = { ...found, until };
      if (generation === this.#generation) this.#sessions.set(tokenHash, known);
    }
    if (known.expiresAt <= now) return undefined;
    if (typeof known.of === 'string') return this.findApiKey(known.of);
    await this.#noteSessionUse(known.of.sessionId ?? '', now);
    return known.of;
  }

  async #readSession(
    tokenHash: string,
    now: number,
  ): Promise<Omit<RememberedSession, 'until'> | undefined> {
    const row = await this.#db
      .selectFrom('console_sessions as session')
      .leftJoin('api_keys', 'api_keys.id', 'session.api_key_id')
      .leftJoin('memberships', (join) =>
        join
          .onRef('memberships.person_id', '=', 'session.person_id')
          .onRef('memberships.account_id', '=', 'session.account_id'),
      )
      .select(['session.id', 'session.account_id', 'session.person_id', 'session.expires_at'])
      .select(['api_keys.key_hash', 'memberships.role'])
      .where((where) =>
        where.or([
          where('token_hash', '=', tokenHash),
          where.and([
            where('previous_hash', '=', tokenHash),
            where('rotated_at', '>', now - previousTokenMs),
          ]),
        ]),
      )
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const { person_id: personId, role, expires_at: expiresAt } = row;
    if (row.key_hash !== null) return { of: row.key_hash, expiresAt };
    if (personId === null || role === null) return undefined;
    const of = {
      kind: 'apiKey' as const,
      accountId: row.account_id,
      keyId: personId,
      role,
      sessionId: row.id,
    };
    return { of, expiresAt };
  }

  async findLocationKey(keyHash: string): Promise<Found<LocationPrincipal>> {
    const known = this.#locationKeys.get(keyHash);
    if (known !== undefined && this.#clock.monotonic() < known.until) return known.found;
    const until = this.#clock.monotonic() + rememberKeysMs;
    const generation = this.#generation;
    const row = await this.#db
      .selectFrom('location_keys')
      .selectAll()
      .where('key_hash', '=', keyHash)
      .where('revoked_at', 'is', null)
      .executeTakeFirst();
    if (row === undefined) {
      this.#locationKeys.delete(keyHash);
      return undefined;
    }
    const found = {
      kind: 'locationKey' as const,
      accountId: row.account_id,
      keyId: row.id,
      location: row.location,
      keyHash: row.key_hash,
    };
    if (generation === this.#generation) this.#locationKeys.set(keyHash, { found, until });
    return found;
  }

  async findHolder(keyHash: string): Promise<KeyHolder | undefined> {
    const key = await this.#db
      .selectFrom('api_keys')
      .select(['id as keyId', 'account_id as accountId', 'role'])
      .where('key_hash', '=', keyHash)
      .executeTakeFirst();
    if (key !== undefined) return { ...key, kind: 'apiKey', role: key.role as Role };
    const own = await this.#db
      .selectFrom('location_keys')
      .select(['id as keyId', 'account_id as accountId', 'location'])
      .where('key_hash', '=', keyHash)
      .executeTakeFirst();
    return own && { ...own, kind: 'locationKey' };
  }

  async noteRefusal(
    { keyId }: LocationPrincipal,
    { because, from }: { because: string; from: string | null },
  ): Promise<void> {
    const now = this.#clock.now();
    await this.#noteUse(`refusal of ${keyId}`, now, () =>
      this.#db
        .updateTable('location_keys')
        .set({ refused_at: now, refused_because: because.slice(0, 500), refused_from: from })
        .where('id', '=', keyId)
        .execute(),
    );
  }

  /** Writes the last use of a key or session, at most once a minute. */
  async #noteUse(id: string, now: number, write: () => Promise<unknown>): Promise<void> {
    if (now - (this.#usedAt.get(id) ?? 0) < lastUsedResolutionMs) return;
    if (this.#usedAt.size >= maxUses) this.#usedAt.clear();
    this.#usedAt.set(id, now);
    await write().catch((error: unknown) => {
      // Reading works on a full disk and a standby; only `last used` cannot be written.
      if (databaseFailure(error) === null) throw error;
    });
  }

  #noteKeyUse(id: string, now: number): Promise<void> {
    return this.#noteUse(id, now, () =>
      this.#db.updateTable('api_keys').set({ last_used_at: now }).where('id', '=', id).execute(),
    );
  }

  #noteSessionUse(id: string, now: number): Promise<void> {
    return this.#noteUse(id, now, () =>
      this.#db
        .updateTable('console_sessions')
        .set({ last_used_at: now })
        .where('id', '=', id)
        .execute(),
    );
  }

  /** Clears the cache: call it after a key was revoked or a location was deleted. */
  forget(): void {
    this.#generation += 1;
    this.#apiKeys.clear();
    this.#locationKeys.clear();
    this.#sessions.clear();
  }
}

/** A key as it was made; the raw key is not stored. */
export interface NewKey {
  id: string;
  rawKey: string;
  maskedKey: string;
  createdAt: number;
}

/** Creates an API key of an account. The raw key is returned only here. */
export async function createApiKey(
  { db, clock, newId }: Pick<Services, 'db' | 'clock' | 'newId'>,
  accountId: string,
  key: { name: string; role?: Role; expiresAt?: number | null; madeBy?: string | null },
): Promise<NewKey> {
  const { rawKey, keyHash, maskedKey } = makeKey('cu');
  const id = newId();
  const createdAt = clock.now();
  await db
    .insertInto('api_keys')
    .values({
      id,
      account_id: accountId,
      name: key.name,
      role: key.role ?? 'OWNER',
      key_hash: keyHash,
      masked_key: maskedKey,
      created_at: createdAt,
      last_used_at: null,
      expires_at: key.expiresAt ?? null,
      revoked_at: null,
      made_by: key.madeBy ?? null,
    })
    .execute();
  return { id, rawKey, maskedKey, createdAt };
}

/** Creates a key for the agents of a location. `privateLocationId` is null for a data-center location. */
export async function createLocationKey(
  { db, clock, newId }: Pick<Services, 'db' | 'clock' | 'newId'>,
  accountId: string,
  location: string,
  privateLocationId: string | null,
): Promise<NewKey> {
  const { rawKey, keyHash, maskedKey } = makeKey('pl');
  const id = newId();
  const createdAt = clock.now();
  await db
    .insertInto('location_keys')
    .values({
      id,
      account_id: accountId,
      location,
      private_location_id: privateLocationId,
      key_hash: keyHash,
      masked_key: maskedKey,
      created_at: createdAt,
      updated_at: null,
    })
    .execute();
  // A process that has read the keys of the location takes a key that it does not know for revoked.
  await raiseLocations(db, accountId, [location]);
  return { id, rawKey, maskedKey, createdAt };
}

export interface ListedKey {
  id: string;
  accountId: string;
  name: string;
  role: string;
  maskedKey: string;
  createdAt: number;
  expiresAt: number | null;
  lastUsedAt: number | null;
  revokedAt: number | null;
}

/** The API keys of an account, or of all accounts, oldest first, including revoked ones. */
export function listKeys(db: Db, accountId: string | undefined): Promise<ListedKey[]> {
  return db
    .selectFrom('api_keys')
    .select([
      'id',
      'account_id as accountId',
      'name',
      'role',
      'masked_key as maskedKey',
      'created_at as createdAt',
      'expires_at as expiresAt',
      'last_used_at as lastUsedAt',
      'revoked_at as revokedAt',
    ])
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** Revokes an API key. False when there was no such key. */
export async function revokeKey(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  id: string,
): Promise<'revoked' | 'was revoked' | 'unknown'> {
  const { numUpdatedRows } = await db
    .updateTable('api_keys')
    .set({ revoked_at: clock.now() })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows > 0n) return 'revoked';
  const known = await db
    .selectFrom('api_keys')
    .select('id')
    .where('id', '=', id)
    .executeTakeFirst();
  return known === undefined ? 'unknown' : 'was revoked';
}

/** Revokes the keys that a person has made in an account. */
export async function revokeKeysMadeBy(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<void> {
  await updateOwnRows(db, 'api_keys', accountId)
    .set({ revoked_at: clock.now() })
    .where('made_by', '=', personId)
    .where('revoked_at', 'is', null)
    .execute();
}

/** How many revoked keys of each location are kept, so that a call with one is known to be its. */
const rememberedKeys = 20;

/** False when the location has no such key. */
export async function revokeLocationKey(
  { db, clock }: Pick<Services, 'db' | 'clock'>,
  { accountId, privateLocationId }: { accountId: string; privateLocationId: string },
  keyId: string,
): Promise<boolean> {
  const { numUpdatedRows } = await updateOwnRows(db, 'location_keys', accountId)
    .set({ revoked_at: clock.now() })
    .where('private_location_id', '=', privateLocationId)
    .where('id', '=', keyId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  const revoked = await db
    .selectFrom('location_keys')
    .select('id')
    .where('account_id', '=', accountId)
    .where('private_location_id', '=', privateLocationId)
    .where('revoked_at', 'is not', null)
    .orderBy('revoked_at', 'desc')
    .execute();
  const forgotten = revoked.slice(rememberedKeys).map(({ id }) => id);
  if (forgotten.length > 0)
    await db.deleteFrom('location_keys').where('id', 'in', forgotten).execute();
  return true;
}
