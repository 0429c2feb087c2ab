import { existsSync } from 'node:fs';
import { reencryptFacts } from '../../core/encrypted-facts.ts';
import { migrationState, refuseNewer } from '../../db/migrate.ts';
import { isOpenByAnotherProcess } from '../../db/open.ts';
import {
  nameOfDatabase,
  openFittingKey,
  reencryptStoredCredentials,
  writeKeyCheck,
} from '../../integrity/index.ts';
import { OperatorError, trying, usageError } from '../../errors/operator-error.ts';
import { addKey, dropPreviousKey, keyFileOf, openSecretCipher } from '../../core/secret-cipher.ts';
import { readSettings, refuseMissing, refuseServed, withDatabase } from './installation.ts';
import { note, printJson, progressLine } from './output.ts';

function refuseOpenFile(database: string): void {
  refuseMissing(database);
  if (isOpenByAnotherProcess(database)) {
    throw new OperatorError(
      `another process has ${database} open: stop \`serve\` first, then run this again; nothing was changed`,
    );
  }
}

/**
 * Encrypts every credential with a new key. Both keys are accepted until the last value is done, so
 * that the next run continues an interrupted one.
 */
export async function rotateEncryption({ json = false }: { json?: boolean }): Promise<void> {
  const settings = readSettings();
  const isFile = settings.DATABASE_URL === undefined;
  const database = nameOfDatabase(settings);
  const hasSetting = settings.ENCRYPTION_KEY !== undefined;
  const keyFile = keyFileOf(settings.DATABASE_FILE);
  if (hasSetting && settings.ENCRYPTION_KEY_PREVIOUS === undefined) {
    throw usageError(
      'the key is that of ENCRYPTION_KEY: set ENCRYPTION_KEY to the new key and ENCRYPTION_KEY_PREVIOUS to the present one, for \`serve\` too, and run this again',
    );
  }
  if (!hasSetting && !existsSync(keyFile)) {
    throw new OperatorError(
      `there is no key file ${keyFile}: restore it from a backup, or set ENCRYPTION_KEY`,
    );
  }
  if (isFile) {
    await trying(`look at ${database}`, () => {
      refuseOpenFile(database);
    });
  }
  const { kinds, unreadable, isResumed, dropped } = await withDatabase(settings, async (db) => {
    if (!isFile) await refuseServed(db, `the database ${database}`);
    const state = await migrationState(db);
    refuseNewer(state, `the database ${database}`);
    if (state.pending.length > 0) {
      throw new OperatorError(
        `the database ${database} lacks migrations (${state.pending.join(', ')}): run \`control-plane migrate\` first`,
      );
    }
    await openFittingKey(db, settings, false);
    const change = hasSetting ? { isResumed: false } : addKey(keyFile);
    if (change.isResumed) note('an earlier change of the key did not end: carrying on with it');
    const cipher = openSecretCipher(settings, database);
    const progress = progressLine('encrypted');
    try {
      const done = await reencryptStoredCredentials(db, cipher, (rows, total) => {
        progress.show(rows, total);
      });
      const dropped = await reencryptFacts(db, cipher);
      await writeKeyCheck(db, cipher);
      return { ...done, ...change, dropped };
    } finally {
      progress.end();
    }
  });
  if (!hasSetting) dropPreviousKey(keyFile);
  const values = Object.values(kinds).reduce((sum, count) => sum + count, 0);
  if (json) {
    printJson({
      database,
      keyFile: hasSetting ? null : keyFile,
      values,
      kinds,
      unreadable,
      dropped,
      isResumed,
    });
    return;
  }
  for (const [kind, count] of Object.entries(kinds)) console.log(`${count} ${kind}`);
  console.log(`${values} credentials are encrypted with the new key`);
  for (const [kind, count] of Object.entries(unreadable)) {
    note(
      `${count} ${kind} open with neither key and stay as they are: enter them again, or set ENCRYPTION_KEY_PREVIOUS to the key that they were encrypted with, and run this again`,
    );
  }
  for (const name of dropped) note(`${name}: opened with neither key, and made anew`);
  note(
    hasSetting
      ? 'remove ENCRYPTION_KEY_PREVIOUS, then start `serve`; older backups need the key before'
      : `the key file ${keyFile} holds the new key; older backups need the one that was kept with them`,
  );
  note('links to files and in mails that were sent before are no longer accepted');
}
