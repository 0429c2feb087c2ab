/** Creates, hashes and masks API keys and location keys. The raw key exists only at its creation. */
import { createHash, hash, randomBytes, randomUUIDv7, timingSafeEqual } from 'node:crypto';

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

/** In a time that says nothing about where they differ. */
export function isSame(left: string, right: string): boolean {
  const a = Buffer.from(left);
  const b = Buffer.from(right);
  return a.length === b.length && timingSafeEqual(a, b);
}

/** `cu_` for API keys, `pl_` for keys of locations; 256 random bits. */
export function makeKey(prefix: KeyPrefix): NewKey {
  const rawKey = `${prefix}_${randomBytes(32).toString('hex')}`;
  return { rawKey, keyHash: sha256Hex(rawKey), maskedKey: `${prefix}_…${rawKey.slice(-4)}` };
}

/** Namespace of ids that follow from what they name. */
const namespace = Buffer.from('6f1d4c1e8a0b4f0c9d5e3b7a2c60f581', 'hex');

/** A UUID (version 7) that begins with an instant, so that ids sort by time. */
export function uuidOfTime(instant: number): string {
  const time = instant.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}${randomUUIDv7().slice(13)}`;
}

/** The id of a name: a version 5 UUID (RFC 9562). The same name has the same id everywhere. */
export function namedUuid(name: string): string {
  const digest = createHash('sha1').update(namespace).update(name).digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString('hex');
  return [
    ...[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)],
    hex.slice(20, 32),
  ].join('-');
}
