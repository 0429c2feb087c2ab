/** Secrets of the installation: facts that are encrypted, without an account id. */
import type { Kysely } from 'kysely';
import { readFact, writeFact } from '../db/installation.ts';
import type { Database } from '../db/tables.ts';
import type { SecretCipher } from './secret-cipher.ts';

export const encryptedFacts = { ids: 'id_secret', push: 'push_keys' };

/** Encrypts them again with the present key, as far as they are there. */
export async function reencryptFacts(db: Kysely<Database>, secrets: SecretCipher): Promise<void> {
  for (const name of Object.values(encryptedFacts)) {
    const known = await readFact(db, name);
    if (known !== undefined) {
      await writeFact(db, name, secrets.encrypt(secrets.decrypt(known, ''), ''));
    }
  }
}
