/** Keys at rest: their hashes, never the keys. */
import type { Kysely } from 'kysely';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Database } from '../../db/tables.ts';
import type { ApiPrincipal, KeyFinder, LocationPrincipal } from '../../http/authenticate.ts';
import { makeKey } from '../../keys.ts';

/** "Last used" is kept to the minute, so that a busy key does not write at every request. */
const lastUsedResolutionMs = 60_000;

type Found<P> = (P & { keyHash: string }) | undefined;

/**
 * Looks keys up by their hash. What was found is remembered until `forget`, which every operation
 * that revokes a key must call.
 */
export class KeyStore implements KeyFinder {
  readonly #db: Kysely<Database>;
  readonly #clock: Clock;
  readonly #apiKeys = new Map<
    string,
    { found: ApiPrincipal & { keyHash: string }; expiresAt: number | null }
  >();
  readonly #locationKeys = new Map<string, LocationPrincipal & { keyHash: string }>();
  readonly #usedAt = new Map<string, number>();

  constructor(db: Kysely<Database>, clock: Clock) {
    this.#db = db;
    this.#clock = clock;
  }

  async findApiKey(keyHash: string): Promise<Found<ApiPrincipal>> {
    const now = this.#clock.now();
    const known = this.#apiKeys.get(keyHash);
    if (known !== undefined) {
      if (known.expiresAt !== null && known.expiresAt <= now) return undefined;
      await this.#noteUse(known.found.keyId, now);
      return known.found;
    }
    const row = await this.#db
      .selectFrom('api_keys')
      .selectAll()
      .where('key_hash', '=', keyHash)
      .where('revoked_at', 'is', null)
      .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const found = {
      kind: 'apiKey' as const,
      accountId: row.account_id,
      keyId: row.id,
      keyHash: row.key_hash,
    };
    this.#apiKeys.set(keyHash, { found, expiresAt: row.expires_at });
    await this.#noteUse(row.id, now);
    return found;
  }

  async findLocationKey(keyHash: string): Promise<Found<LocationPrincipal>> {
    const known = this.#locationKeys.get(keyHash);
    if (known !== undefined) return known;
    const row = await this.#db
      .selectFrom('location_keys')
      .selectAll()
      .where('key_hash', '=', keyHash)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const found = {
      kind: 'locationKey' as const,
      accountId: row.account_id,
      keyId: row.id,
      location: row.location,
      keyHash: row.key_hash,
    };
    this.#locationKeys.set(keyHash, found);
    return found;
  }

  async #noteUse(keyId: string, now: number): Promise<void> {
    if (now - (this.#usedAt.get(keyId) ?? 0) < lastUsedResolutionMs) return;
    this.#usedAt.set(keyId, now);
    await this.#db
      .updateTable('api_keys')
      .set({ last_used_at: now })
      .where('id', '=', keyId)
      .execute();
  }

  /** Drops everything remembered: after a key was revoked or a location deleted. */
  forget(): void {
    this.#apiKeys.clear();
    this.#locationKeys.clear();
  }
}

interface KeyDeps {
  db: Kysely<Database>;
  clock: Clock;
  newId: () => string;
}

/** Creates an API key of an account and gives it raw, this once. */
export async function createApiKey(
  { db, clock, newId }: KeyDeps,
  accountId: string,
  name: string,
): Promise<{ id: string; rawKey: string; maskedKey: string }> {
  const { rawKey, keyHash, maskedKey } = makeKey('cu');
  const id = newId();
  await db
    .insertInto('api_keys')
    .values({
      id,
      account_id: accountId,
      name,
      key_hash: keyHash,
      masked_key: maskedKey,
      created_at: clock.now(),
      last_used_at: null,
      expires_at: null,
      revoked_at: null,
    })
    .execute();
  return { id, rawKey, maskedKey };
}

/** Creates a key for the agents of a location. `privateLocationId` is null for a data-center location. */
export async function createLocationKey(
  { db, clock, newId }: KeyDeps,
  accountId: string,
  location: string,
  privateLocationId: string | null,
): Promise<{ id: string; rawKey: string; maskedKey: string; createdAt: number }> {
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
  return { id, rawKey, maskedKey, createdAt };
}

/** The account of a fresh installation: the oldest one, made when there is none. */
export async function findOrCreateAccount({ db, clock, newId }: KeyDeps): Promise<string> {
  const known = await db
    .selectFrom('accounts')
    .select('id')
    .orderBy('created_at')
    .executeTakeFirst();
  if (known !== undefined) return known.id;
  const id = newId();
  await db
    .insertInto('accounts')
    .values({ id, name: 'Main account', created_at: clock.now() })
    .execute();
  return id;
}
