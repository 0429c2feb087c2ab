/**
 * Keys of the ids of runs and results: one for each location of each account, from one secret of the
 * installation that stands encrypted in its database. Agents get the key of their location and derive the
 * ids of slots with it, also while they are cut off; nobody else can.
 */
import { hkdfSync } from 'node:crypto';
import type { Kysely } from 'kysely';
import { keyedText, type KeyedSha256Hex } from '@monitor/shared/domain/run-id.ts';
import { dropFact, readFact, writeFact } from '../db/installation.ts';
import type { Database } from '../db/tables.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { sha256Hex } from '../core/keys.ts';
import type { SecretBox } from '../core/secret-box.ts';

const keyBytes = 32;
/** Name of the secret among the facts of the installation. Encrypted for no account. */
export const idSecretFact = 'id_secret';

export class IdKeys {
  readonly #secret: Buffer;
  readonly #keys = new Map<string, string>();

  /** Of 32 random bytes. */
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
 * Reads the secret of the installation. Where there is none it follows from the encryption key, so that a
 * backup from before it was stored, or a salvaged database, gets the one that agents have used. With `acceptNewKey` one that the
 * key does not open is replaced: results that agents hold under ids of the old one are then refused.
 */
export async function openIdKeys(
  db: Kysely<Database>,
  secrets: SecretBox,
  acceptNewKey = false,
): Promise<IdKeys> {
  let value = await readFact(db, idSecretFact);
  if (value === undefined) {
    value = secrets.seal(secrets.deriveKey('ids').toString('base64'), '');
    await writeFact(db, idSecretFact, value);
  }
  try {
    return new IdKeys(Buffer.from(secrets.open(value, ''), 'base64'));
  } catch (error) {
    if (acceptNewKey) {
      await dropFact(db, idSecretFact);
      return openIdKeys(db, secrets);
    }
    throw new OperatorError(
      'the encryption key is not the one that this database was written with: set ENCRYPTION_KEY, or restore the key file beside DATABASE_FILE',
      { cause: error },
    );
  }
}

/** Encrypts the secret anew with the present key of the box; does nothing before there is one. */
export async function resealIdSecret(db: Kysely<Database>, secrets: SecretBox): Promise<void> {
  const known = await readFact(db, idSecretFact);
  if (known === undefined) return;
  await writeFact(db, idSecretFact, secrets.seal(secrets.open(known, ''), ''));
}
