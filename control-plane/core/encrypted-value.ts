/** A value that this installation alone can read and make, and that is good until an instant. */
import type { Clock } from '@monitor/shared/clock.ts';
import { encryptedPrefix, type SecretCipher } from './secret-cipher.ts';

export interface ValueParts {
  clock: Clock;
  secrets: SecretCipher;
}

/** A value of one `purpose` is none of another. */
export class EncryptedValue<Value> {
  readonly #parts: ValueParts;
  readonly #purpose: string;

  constructor(parts: ValueParts, purpose: string) {
    this.#parts = parts;
    this.#purpose = purpose;
  }

  /** Null when it is forged, too old or of another key. */
  read(text: string): Value | null {
    const { secrets, clock } = this.#parts;
    try {
      // Node decodes base64url of any shape: one value would have many texts.
      const encoded = text.slice(encryptedPrefix.length);
      if (encryptedPrefix + Buffer.from(encoded, 'base64url').toString('base64url') !== text) {
        return null;
      }
      const { value, until } = JSON.parse(secrets.decrypt(text, this.#purpose)) as {
        value: Value;
        until: number;
      };
      return until > clock.now() ? value : null;
    } catch {
      return null;
    }
  }

  /** `until` in ms since the epoch. */
  write(value: Value, until: number): string {
    return this.#parts.secrets.encrypt(JSON.stringify({ value, until }), this.#purpose);
  }
}
