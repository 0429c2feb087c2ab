import { existsSync, realpathSync, rmSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { copyDatabase, integrityProblems } from '../../db/open.ts';
import { OperatorError, trying } from '../../errors/operator-error.ts';
import { keyFileOf } from '../../core/secret-cipher.ts';
import {
  companions,
  copyOfSecret,
  FileInTheMaking,
  leftovers,
  stopOnSignal,
} from './file-in-the-making.ts';
import { databaseOf, readFileSettings, refuseMissing, serverOptions } from './installation.ts';
import { note, printJson, progressLine } from './output.ts';

interface Options {
  force?: boolean;
  withKey?: boolean;
  json?: boolean;
}

const example = `
Run it while \`serve\` runs; what was committed when it began is in the copy.
The key is left out: keep a copy of the key file, DATABASE_FILE.key, or of
ENCRYPTION_KEY in another place, since credentials cannot be read without it.
With --with-key the key file lies beside the backup, and the two open it all.

Example: control-plane backup "/backups/control-plane-$(date +%F).db"
`;

function refuseUnusable(database: string, file: string, force: boolean): void {
  if (!existsSync(dirname(file))) {
    throw new OperatorError(`cannot back up to ${file}: make the folder ${dirname(file)} first`);
  }
  if (!existsSync(file)) {
    if (!force && existsSync(keyFileOf(file))) {
      throw new OperatorError(
        `${keyFileOf(file)} exists and would be overwritten: choose another name, or add --force`,
      );
    }
    return;
  }
  if (statSync(file).isDirectory()) {
    throw new OperatorError(`${file} is a folder: name a file in it`);
  }
  const own = [database, ...companions.map((suffix) => database + suffix), keyFileOf(database)];
  if (own.some((path) => existsSync(path) && realpathSync(path) === realpathSync(file))) {
    throw new OperatorError(`${file} belongs to the database itself: choose another name`);
  }
  if (!force) {
    throw new OperatorError(`${file} exists: choose another name, or add --force to overwrite it`);
  }
}

async function backUp(
  name: string,
  { force = false, withKey = false, json = false }: Options,
): Promise<void> {
  const { DATABASE_FILE, ENCRYPTION_KEY } = readFileSettings(
    'backup',
    (url) =>
      `back that up with \`pg_dump ${serverOptions(url)} --format=custom --file=<file> ${databaseOf(url)}\`, or with point-in-time recovery of the server`,
  );
  const file = resolve(name);
  refuseMissing(DATABASE_FILE);
  refuseUnusable(DATABASE_FILE, file, force);
  for (const left of leftovers(file)) {
    note(`${left} is left of a backup that did not end: delete it unless one is running`);
  }
  using stop = stopOnSignal();
  const { keyFile, bytes } = await trying(`back up ${DATABASE_FILE} to ${file}`, async () => {
    using copy = new FileInTheMaking(file);
    note(`backing up ${DATABASE_FILE} to ${file}`);
    const progress = progressLine('copied');
    try {
      await copyDatabase(DATABASE_FILE, copy.path, (done, total) => {
        stop.throwIfStopped();
        progress.show(done, total);
      });
    } finally {
      progress.end();
    }
    const problems = integrityProblems(copy.path);
    if (problems.length > 0) {
      throw new OperatorError(
        `the copy of ${DATABASE_FILE} is damaged, so the database probably is: ${problems.join('; ')}. There is no new backup; keep the older ones, and look at the disk`,
      );
    }
    await stop.throwIfStoppedMeanwhile();
    // Checked again: the file may have been created in the meantime.
    refuseUnusable(DATABASE_FILE, file, force);
    const key = withKey && ENCRYPTION_KEY === undefined ? keyFileOf(DATABASE_FILE) : null;
    using keyCopy =
      key !== null && existsSync(key) ? copyOfSecret(key, keyFileOf(file)) : undefined;
    // A key file of another database would be restored together with this one.
    if (keyCopy === undefined) rmSync(keyFileOf(file), { force: true });
    keyCopy?.finish();
    copy.finish();
    return {
      keyFile: keyCopy === undefined ? null : keyFileOf(file),
      bytes: statSync(file).size,
    };
  });
  if (json) {
    printJson({ database: DATABASE_FILE, backup: file, bytes, keyFile });
    return;
  }
  console.log(`backed up to ${file} (${bytes} bytes, integrity checked)`);
  if (keyFile !== null) console.log(`its key is in ${keyFile}: keep it as secret as the database`);
  else {
    const key = ENCRYPTION_KEY === undefined ? keyFileOf(DATABASE_FILE) : 'ENCRYPTION_KEY';
    console.log(
      `the key (${key}) is not in the backup: keep a copy in another place, credentials cannot be read without it`,
    );
  }
}

/** `control-plane backup`: a verified copy of the database, while it is in use. */
export function registerBackup(program: Command): void {
  program
    .command('backup')
    .description('copy the database to a file, while `serve` may be running')
    .argument('<file>', 'where to')
    .option('--force', 'overwrite the file when it exists')
    .option('--with-key', 'put the key file beside the backup')
    .option('--json', 'print JSON')
    .addHelpText('after', example)
    .action(backUp);
}
