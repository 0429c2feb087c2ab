/** Public keys for the results of a location: rows ↔ wire. */
import { createHash, createPublicKey } from 'node:crypto';
import { ApiError } from '../../errors/api-error.ts';
import { fromJson, toTimestamp } from '../../db/columns.ts';
import type { RowOf } from '../../db/tables.ts';

interface GivenKey {
  name: string;
  publicKey: string;
}

interface StoredResultKey extends GivenKey {
  id: string;
  created_at: number;
}

type StoredKeys = Pick<RowOf<'private_locations'>, 'result_keys_json' | 'encrypted_since'>;

const pointOf = (publicKey: string): Buffer => Buffer.from(publicKey.slice(4), 'base64url');

/** The first half of the hash of the point, as in encrypted results. */
function idOf(publicKey: string): string {
  return createHash('sha256')
    .update(pointOf(publicKey))
    .digest()
    .subarray(0, 16)
    .toString('base64url');
}

/** True for a point of the curve: an agent could encrypt for no other. */
function isOnCurve(publicKey: string): boolean {
  const point = pointOf(publicKey);
  const coordinate = (from: number): string =>
    point.subarray(from, from + 32).toString('base64url');
  const key = { kty: 'EC', crv: 'P-256', x: coordinate(1), y: coordinate(33) };
  try {
    createPublicKey({ key, format: 'jwk' });
    return point.length === 65 && point[0] === 4;
  } catch {
    return false;
  }
}

const wrongKey = (index: number, problem: string): ApiError =>
  new ApiError('VALIDATION', `"resultEncryptionKeys[${index}].publicKey" ${problem}`, {
    source: 'payload',
    keys: [`resultEncryptionKeys.${index}.publicKey`],
  });

/** The columns of a location with these keys; a key that stays keeps its date. */
export function withResultKeys(
  before: StoredKeys,
  given: readonly GivenKey[],
  now: number,
): StoredKeys {
  const known = new Map(
    fromJson<StoredResultKey[]>(before.result_keys_json).map((key) => [key.id, key]),
  );
  const seen = new Set<string>();
  const keys = given.map(({ name, publicKey }, index): StoredResultKey => {
    if (!isOnCurve(publicKey)) throw wrongKey(index, 'is damaged: it is no public key');
    const id = idOf(publicKey);
    if (seen.has(id)) throw wrongKey(index, 'stands there twice');
    seen.add(id);
    return { id, name, publicKey, created_at: known.get(id)?.created_at ?? now };
  });
  return {
    result_keys_json: JSON.stringify(keys),
    encrypted_since: keys.length === 0 ? null : (before.encrypted_since ?? now),
  };
}

export const noResultKeys: StoredKeys = { result_keys_json: '[]', encrypted_since: null };

/** The public keys themselves, for agents. */
export function publicKeysOf(resultKeysJson: string): string[] {
  return fromJson<StoredResultKey[]>(resultKeysJson).map(({ publicKey }) => publicKey);
}

/** The keys without what they get here, as clients give them. */
export function givenKeysOf(resultKeysJson: string): GivenKey[] {
  return fromJson<StoredResultKey[]>(resultKeysJson).map(({ name, publicKey }) => ({
    ...{ name, publicKey },
  }));
}

export function resultKeysToWire(resultKeysJson: string) {
  return fromJson<StoredResultKey[]>(resultKeysJson).map((key) => ({
    ...key,
    created_at: toTimestamp(key.created_at),
  }));
}
