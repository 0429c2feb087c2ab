/** Creates, hashes and masks API keys and location keys. The raw key exists only at its creation. */
import { hash, randomBytes } from 'node:crypto';

export type KeyPrefix = 'cu' | 'pl';

export interface NewKey {
  rawKey: string;
  keyHash: string;
  maskedKey: string;
}

/** SHA-256 of a text as lower-case hex. */
export function sha256Hex(text: string): string {
  return hash('sha256', text, 'hex');
}

/** `cu_` for API keys, `pl_` for keys of locations; 256 random bits. */
export function makeKey(prefix: KeyPrefix): NewKey {
  const rawKey = `${prefix}_${randomBytes(32).toString('hex')}`;
  return { rawKey, keyHash: sha256Hex(rawKey), maskedKey: `${prefix}_…${rawKey.slice(-4)}` };
}
