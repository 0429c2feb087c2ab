/**
 * Keys for ids of runs and results: one per location and account, derived from one secret, which is
 * stored encrypted. Agents get the key of their location and derive ids of slots with it, even
 * without a connection; nobody else can.
 */
import { hkdfSync } from 'node:crypto';
import { keyedText, type KeyedSha256Hex } from '@monitor/shared/domain/run-id.ts';
import { addFact, readFact } from '../db/installation.ts';
import type { Db } from '../db/tables.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { encryptedFacts } from '../core/encrypted-facts.ts';
import { sha256Hex } from '../core/keys.ts';
import type { SecretCipher } from '../core/secret-cipher.ts';

const keyBytes = 32;
const { ids: fact } = encryptedFacts;

export class IdKeys {
  readonly #secret: Buffer;
  readonly #keys = new Map<string, string>();

  /** 32 random bytes. */
  constructor(secret: Buffer) {
    this.#secret = secret;
  }

  /** What agents of the location are given: 32 bytes in base64. */
  keyOf(accountId: string, location: string): string {
    const name = `${accountId}/${location}`;
    let key = this.#keys.get(name);
    if (key === undefined) {
      const bytes = hkdfSync('sha256', this.#secret, '', `ids of ${name}`, keyBytes);
      key = Buffer.from(bytes).toString('base64');
      this.#keys.set(name, key);
    }
    return key;
  }

  /** Hashes under the key of a location. */
  keyedSha256HexOf(accountId: string, location: string): KeyedSha256Hex {
    const key = this.keyOf(accountId, location);
    return (text) => sha256Hex(keyedText(key, text));
  }
}

/**
 * Reads the secret of the installation. A missing secret is derived from the encryption key, so
 * that an older backup or a salvaged database gets the secret that agents have used. `reencryptFacts` drops
 * an unreadable secret: results that agents hold under ids of the old one are then refused.
 */
export async function openIdKeys(db: Db, secrets: SecretCipher): Promise<IdKeys> {
  let value = await readFact(db, fact);
  if (value === undefined) {
    const derived = secrets.encrypt(secrets.deriveKey('ids').toString('base64'), '');
    value = await addFact(db, fact, derived);
  }
  try {
    return new IdKeys(Buffer.from(secrets.decrypt(value, ''), 'base64'));
  } catch (error) {
    throw new OperatorError(
      'the encryption key is not the one that this database was written with: set ENCRYPTION_KEY, or restore the key file beside DATABASE_FILE',
      { cause: error },
    );
  }
}
