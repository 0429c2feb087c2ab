/**
 * Checks that the key belongs to the database: an encrypted value in the database must decrypt.
 * After a key change, `writeKeyCheck` must write it again.
 */
import { existsSync } from 'node:fs';
import { nameOfDatabase } from './name-of-database.ts';
import { forgetUnreadableCredentials } from './stored-credentials.ts';
import { addFact, readFact, writeFact } from '../db/installation.ts';
import type { Db } from '../db/tables.ts';
import { usageError } from '../errors/operator-error.ts';
import { reencryptFacts } from '../core/encrypted-facts.ts';
import {
  keyFileOf,
  openSecretCipher,
  type KeySettings,
  type SecretCipher,
} from '../core/secret-cipher.ts';

const fact = 'key_check';
/** Additional data of the value, in place of an account id. */
const scope = 'installation';

export async function writeKeyCheck(db: Db, secrets: SecretCipher): Promise<void> {
  await writeFact(db, fact, secrets.encrypt(fact, scope));
}

interface Encrypted {
  value: string;
  scope: string;
}

/** A value that was encrypted with the key of this database; undefined without any. */
async function anyEncrypted(db: Db): Promise<Encrypted | undefined> {
  const value = await readFact(db, fact);
  if (value !== undefined) return { value, scope };
  // The database is older than the key check.
  const variable = await db
    .selectFrom('variables')
    .select(['value', 'account_id as scope'])
    .where('secret', '=', 1)
    .limit(1)
    .executeTakeFirst();
  if (variable !== undefined) return variable;
  // A damaged database may have lost its check.
  const channel = await db
    .selectFrom('alert_channels')
    .select(['config_json as value', 'account_id as scope'])
    .where('config_json', 'like', 'v1.%')
    .limit(1)
    .executeTakeFirst();
  if (channel !== undefined) return channel;
  return db
    .selectFrom('client_certificates')
    .select(['key_sealed as value', 'account_id as scope'])
    .limit(1)
    .executeTakeFirst();
}

function opens(secrets: SecretCipher, encrypted: Encrypted): boolean {
  try {
    secrets.decrypt(encrypted.value, encrypted.scope);
    return true;
  } catch {
    return false;
  }
}

/** True when no value in the database is encrypted with another key. */
export async function fits(db: Db, secrets: SecretCipher): Promise<boolean> {
  const encrypted = await anyEncrypted(db);
  return encrypted === undefined || opens(secrets, encrypted);
}

const anew =
  'to go on without what was encrypted with it, start once with "control-plane serve --new-key", and enter those values again';

/**
 * The key of the installation. Throws when it is missing although there are encrypted values, or
 * does not belong to the database; with `acceptNewKey` it becomes the key of the database.
 */
export async function openFittingKey(
  db: Db,
  config: KeySettings & { DATABASE_FILE: string; DATABASE_URL?: string | undefined },
  acceptNewKey: boolean,
): Promise<SecretCipher> {
  const { ENCRYPTION_KEY } = config;
  // Beside a server there is no key file, as for a database in memory.
  const DATABASE_FILE = config.DATABASE_URL === undefined ? config.DATABASE_FILE : ':memory:';
  const encrypted = await anyEncrypted(db);
  const keyFile = keyFileOf(DATABASE_FILE);
  const isMissing = ENCRYPTION_KEY === undefined && !existsSync(keyFile);
  if (encrypted !== undefined && isMissing && !acceptNewKey && DATABASE_FILE !== ':memory:') {
    throw usageError(
      `the key file ${keyFile} is missing, and the database ${DATABASE_FILE} has values that are encrypted with it: put it back ("backup --with-key" puts it beside the backup), or set ENCRYPTION_KEY if that is what the database was used with; ${anew}`,
    );
  }
  const secrets = openSecretCipher(config, DATABASE_FILE);
  const refuseOther = (value: Encrypted | undefined): void => {
    if (value === undefined || acceptNewKey || opens(secrets, value)) return;
    const what = ENCRYPTION_KEY === undefined ? `the key in ${keyFile}` : 'ENCRYPTION_KEY';
    throw usageError(
      `${what} does not fit the database ${nameOfDatabase(config)}: values in it are encrypted with another key. Put that one back; ${anew}`,
    );
  };
  refuseOther(encrypted);
  if (acceptNewKey) {
    await forgetUnreadableCredentials(db, secrets);
    await reencryptFacts(db, secrets);
    await writeKeyCheck(db, secrets);
  } else if (encrypted?.scope !== scope) {
    // A replica that starts at the same time may have written one with another key.
    refuseOther({ value: await addFact(db, fact, secrets.encrypt(fact, scope)), scope });
  }
  return secrets;
}
