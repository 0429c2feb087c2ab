/** Keys of the API and of locations: made, hashed, masked. The raw key exists only at its creation. */
import { createHash, randomBytes } from 'node:crypto';

export type KeyPrefix = 'cu' | 'pl';

export interface NewKey {
  rawKey: string;
  keyHash: string;
  maskedKey: string;
}

export function hashKey(rawKey: string): string {
  return createHash('sha256').update(rawKey).digest('hex');
}

/** `cu_` for API keys, `pl_` for keys of locations; 256 random bits. */
export function makeKey(prefix: KeyPrefix): NewKey {
  const rawKey = `${prefix}_${randomBytes(32).toString('hex')}`;
  return { rawKey, keyHash: hashKey(rawKey), maskedKey: `${prefix}_…${rawKey.slice(-4)}` };
}
