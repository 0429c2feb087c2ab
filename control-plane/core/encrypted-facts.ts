/** Secrets of the installation: facts that are encrypted, without an account id. */
import { dropFact, readFact, writeFact } from '../db/installation.ts';
import type { Db } from '../db/tables.ts';
import type { SecretCipher } from './secret-cipher.ts';

export const encryptedFacts = { ids: 'id_secret', push: 'push_keys' };

const inWords: Readonly<Record<string, string>> = {
  [encryptedFacts.ids]: 'the secret for ids of results',
  [encryptedFacts.push]: 'the keys for notifications on devices',
};

/**
 * Encrypts them again with the present key. What does not open is dropped, and made anew when it is needed. Gives the
 * names of what was dropped, for messages.
 */
export async function reencryptFacts(db: Db, secrets: SecretCipher): Promise<string[]> {
  const dropped: string[] = [];
  for (const [fact, name] of Object.entries(inWords)) {
    const known = await readFact(db, fact);
    if (known === undefined) continue;
    let text: string;
    try {
      text = secrets.decrypt(known, '');
    } catch {
      await dropFact(db, fact, known);
      dropped.push(name);
      continue;
    }
    await writeFact(db, fact, secrets.encrypt(text, ''));
  }
  return dropped;
}
