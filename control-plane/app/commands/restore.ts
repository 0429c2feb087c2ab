import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  realpathSync,
  renameSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { systemClock } from '@monitor/shared/clock.ts';
import { makeFolders } from '@monitor/shared/private-files.ts';
import { migrateToLatest, migrationState, refuseNewer } from '../../db/migrate.ts';
import { copyDatabase, integrityProblems, isOpenByAnotherProcess } from '../../db/open.ts';
import { OperatorError, trying, usageError } from '../../errors/operator-error.ts';
import { keyFileOf } from '../../core/secret-cipher.ts';
import { companions, copyOfSecret, FileInTheMaking, stopOnSignal } from './file-in-the-making.ts';
import { databaseOf, readFileSettings, serverOptions, withFile } from './installation.ts';
import { note, printJson, progressLine } from './output.ts';

interface Options {
  yes?: boolean;
  json?: boolean;
}

const example = `
Stop \`serve\` first. The database there was is kept beside the restored one,
under a name with the time; so is its key file.

Example: control-plane restore --yes /backups/control-plane-2026-11-21.db
`;

function refuseUnusable(database: string, backup: string): void {
  if (!existsSync(backup)) {
    throw new OperatorError(`there is no backup at ${backup}: correct the path`);
  }
  if (!statSync(backup).isFile()) {
    throw new OperatorError(`${backup} is not a file: name one that \`control-plane backup\` made`);
  }
  if (existsSync(database) && realpathSync(backup) === realpathSync(database)) {
    throw new OperatorError(`${backup} is the database itself: name a backup of it`);
  }
}

function refuseOpen(database: string): void {
  if (!existsSync(database) || !isOpenByAnotherProcess(database)) return;
  throw new OperatorError(
    `another process has ${database} open: stop \`serve\` first, and whatever else uses it, then run this again; nothing was changed`,
  );
}

async function confirm(question: string): Promise<void> {
  if (!process.stdin.isTTY) {
    throw usageError(`${question} There is nobody to ask: add --yes`);
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const gone = new AbortController();
  terminal.once('close', () => {
    gone.abort();
  });
  const answer = await terminal
    .question(`${question} Type yes to go on: `, { signal: gone.signal })
    .catch(() => '');
  terminal.close();
  if (answer.trim().toLowerCase() !== 'yes') throw new OperatorError('nothing was changed');
}

/**
 * Refuses a file that is not a complete database of this program, then migrates it to the newest
 * schema.
 */
async function makeReady(copy: string, backup: string): Promise<string[]> {
  const problems = integrityProblems(copy);
  if (problems.length > 0) {
    throw new OperatorError(
      `${backup} is damaged: ${problems.join('; ')}. Take an older backup; nothing was changed`,
    );
  }
  return withFile(copy, { hasKeySetting: true }, async (db) => {
    const state = await migrationState(db);
    if (state.applied.length === 0) {
      throw new OperatorError(
        `${backup} is a database, but not one of a control plane: name a file that \`control-plane backup\` made`,
      );
    }
    refuseNewer(state, `the backup ${backup}`);
    return migrateToLatest(db);
  });
}

/** Gives the present database a second name with the time, so that its own name can be replaced. */
function keepOld(database: string): string | null {
  const time = new Date(systemClock.now()).toISOString().replace(/[-:.]/g, '');
  const kept = `${database}.${time}`;
  // SQLite would apply the log of the damaged database to the restored one.
  for (const suffix of companions) {
    if (existsSync(database + suffix)) renameSync(database + suffix, kept + suffix);
  }
  if (!existsSync(database)) return null;
  // A hard link, not a rename: `serve` would create an empty database if none existed for a
  // moment.
  try {
    linkSync(database, kept);
  } catch {
    copyFileSync(database, kept, constants.COPYFILE_EXCL);
  }
  if (existsSync(keyFileOf(database))) {
    using keyCopy = copyOfSecret(keyFileOf(database), keyFileOf(kept));
    keyCopy.finish();
  }
  return kept;
}

function keyNote(hasSetting: boolean, restored: boolean, hadKey: boolean): string {
  if (hasSetting) return 'secrets are read with ENCRYPTION_KEY: it must be that of the backup';
  if (restored) return 'the key file was restored with it';
  if (hadKey) return 'no key lies beside the backup, so the present key file stays';
  return 'no key lies beside the backup: secrets in it need the ENCRYPTION_KEY it was made with';
}

async function restore(name: string, { yes = false, json = false }: Options): Promise<void> {
  const { DATABASE_FILE: database, ENCRYPTION_KEY } = readFileSettings(
    'restore',
    (url) =>
      `stop every \`serve\`, then restore what pg_dump wrote with \`pg_restore ${serverOptions(url)} --dbname=${databaseOf(url)} --clean --if-exists <file>\`, or use point-in-time recovery of the server`,
  );
  const backup = resolve(name);
  refuseUnusable(database, backup);
  await trying(`look at ${database}`, () => {
    refuseOpen(database);
  });
  if (!yes) await confirm(`This puts ${backup} in the place of ${database}.`);
  using stop = stopOnSignal();
  const done = await trying(`restore ${backup} to ${database}`, async () => {
    makeFolders(dirname(database));
    using copy = new FileInTheMaking(database);
    const progress = progressLine('copied');
    try {
      await copyDatabase(backup, copy.path, (copied, total) => {
        stop.throwIfStopped();
        progress.show(copied, total);
      });
    } finally {
      progress.end();
    }
    const applied = await makeReady(copy.path, backup);
    await stop.throwIfStoppedMeanwhile();
    // Checked again: a `serve` may have been started in the meantime.
    refuseOpen(database);
    const hadKey = existsSync(keyFileOf(database));
    const hasKey = existsSync(keyFileOf(backup));
    using keyCopy = hasKey ? copyOfSecret(keyFileOf(backup), keyFileOf(database)) : undefined;
    const kept = keepOld(database);
    keyCopy?.finish();
    copy.finish();
    return { applied, kept, hasKey, hadKey };
  });
  const { applied, kept, hasKey } = done;
  if (json) {
    printJson({ database, backup, kept, keyFile: hasKey ? keyFileOf(database) : null, applied });
    return;
  }
  console.log(`restored ${backup} to ${database}`);
  for (const migration of applied) console.log(`applied ${migration}`);
  if (kept !== null) console.log(`the database before it is kept as ${kept}`);
  note(keyNote(ENCRYPTION_KEY !== undefined, hasKey, done.hadKey));
}

/** `control-plane restore`: replaces the database with a backup. */
export function registerRestore(program: Command): void {
  program
    .command('restore')
    .description('restore the database from a backup; stop `serve` first')
    .argument('<file>', 'a file that `control-plane backup` made')
    .option('--yes', 'do not ask')
    .option('--json', 'print JSON')
    .addHelpText('after', example)
    .action(restore);
}
