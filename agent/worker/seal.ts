/**
 * What customers entrusted to us, at rest: AES-256-GCM with a key derived from the key of the
 * location. Without that key the bytes are worth nothing.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Secret } from '../secret.ts';

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

export class Seal {
  readonly #key: Buffer;

  /** `purpose` keeps what is sealed for one thing from being opened as another. */
  constructor(apiKey: Secret, purpose: string) {
    this.#key = Buffer.from(hkdfSync('sha256', apiKey.reveal(), 'monitor-agent', purpose, 32));
  }

  seal(text: string): Buffer {
    const nonce = randomBytes(nonceBytes);
    const encryption = createCipheriv(cipher, this.#key, nonce);
    const sealed = Buffer.concat([encryption.update(text, 'utf8'), encryption.final()]);
    return Buffer.concat([nonce, encryption.getAuthTag(), sealed]);
  }

  /** Throws when it is torn, or was sealed with another key. */
  open(sealed: Buffer): string {
    const decryption = createDecipheriv(cipher, this.#key, sealed.subarray(0, nonceBytes));
    decryption.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
    return Buffer.concat([
      decryption.update(sealed.subarray(nonceBytes + tagBytes)),
      decryption.final(),
    ]).toString('utf8');
  }
}
