/** Passwords of private pages: generated, and stored as scrypt hashes. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** Without look-alike letters. */
const alphabet = 'abcdefghjkmnpqrstuvwxyzACDEFGHJ23456789';
const groups = 5;
const groupLength = 5;

const cost = { N: 16_384, r: 8, p: 1 };
const keyBytes = 32;

/** `k7dPq-…`: 25 characters with about 130 random bits. */
export function makePassword(): string {
  const letters: string[] = [];
  while (letters.length < groups * groupLength) {
    for (const byte of randomBytes(64)) {
      // Rejection sampling: otherwise the first letters of the alphabet would be more likely.
      if (byte >= Math.floor(256 / alphabet.length) * alphabet.length) continue;
      letters.push(alphabet.charAt(byte % alphabet.length));
    }
  }
  return Array.from({ length: groups }, (_, group) =>
    letters.slice(group * groupLength, (group + 1) * groupLength).join(''),
  ).join('-');
}

function derive(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, keyBytes, cost, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}

/** The stored hash: `scrypt.<salt>.<key>`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt);
  return `scrypt.${salt.toString('base64url')}.${key.toString('base64url')}`;
}

/** Verifies in constant time. */
export async function isPassword(password: string, hash: string): Promise<boolean> {
  const [, salt = '', key = ''] = hash.split('.');
  const expected = Buffer.from(key, 'base64url');
  const given = await derive(password, Buffer.from(salt, 'base64url'));
  return expected.length === given.length && timingSafeEqual(expected, given);
}
