/** Encrypts customer data on disk: AES-256-GCM with a key that is derived from the location key. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Secret } from '../secret.ts';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

export class Cipher {
  readonly #key: Buffer;

  /** `purpose` separates the keys of different kinds of data. */
  constructor(apiKey: Secret, purpose: string) {
    this.#key = Buffer.from(hkdfSync('sha256', apiKey.reveal(), 'monitor-agent', purpose, 32));
  }

  encrypt(text: string): Buffer {
    const nonce = randomBytes(nonceBytes);
    const encryption = createCipheriv(algorithm, this.#key, nonce);
    const encrypted = Buffer.concat([encryption.update(text, 'utf8'), encryption.final()]);
    return Buffer.concat([nonce, encryption.getAuthTag(), encrypted]);
  }

  /** Throws for damaged data, or data encrypted with another key. */
  decrypt(encrypted: Buffer): string {
    const decryption = createDecipheriv(algorithm, this.#key, encrypted.subarray(0, nonceBytes));
    decryption.setAuthTag(encrypted.subarray(nonceBytes, nonceBytes + tagBytes));
    return Buffer.concat([
      decryption.update(encrypted.subarray(nonceBytes + tagBytes)),
      decryption.final(),
    ]).toString('utf8');
  }
}
