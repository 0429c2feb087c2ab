/**
 * Encrypts what customers entrusted to us before it goes to disk: AES-256-GCM with a key derived from
 * the key of the location. Without that key the bytes are worth nothing.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Secret } from '../secret.ts';

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

export class Cipher {
  readonly #key: Buffer;

  /** `purpose` keeps what is encrypted for one thing from being decrypted as another. */
  constructor(apiKey: Secret, purpose: string) {
    this.#key = Buffer.from(hkdfSync('sha256', apiKey.reveal(), 'monitor-agent', purpose, 32));
  }

  encrypt(text: string): Buffer {
    const nonce = randomBytes(nonceBytes);
    const encryption = createCipheriv(algorithm, this.#key, nonce);
    const encrypted = Buffer.concat([encryption.update(text, 'utf8'), encryption.final()]);
    return Buffer.concat([nonce, encryption.getAuthTag(), encrypted]);
  }

  /** Throws when it is torn, or was encrypted with another key. */
  decrypt(encrypted: Buffer): string {
    const decryption = createDecipheriv(algorithm, this.#key, encrypted.subarray(0, nonceBytes));
    decryption.setAuthTag(encrypted.subarray(nonceBytes, nonceBytes + tagBytes));
    return Buffer.concat([
      decryption.update(encrypted.subarray(nonceBytes + tagBytes)),
      decryption.final(),
    ]).toString('utf8');
  }
}
