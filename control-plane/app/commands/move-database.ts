/** What `control-plane move` does. */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { systemClock } from '@monitor/shared/clock.ts';
import { copyBundles } from '../../checks/index.ts';
import { readConfig, type Config } from '../../core/config.ts';
import { processEnvironment } from '../../core/environment.ts';
import { reencryptFacts } from '../../core/encrypted-facts.ts';
import { openMovingCipher, SecretCipher } from '../../core/secret-cipher.ts';
import {
  copyTable,
  countRows,
  emptyTables,
  tablesOf,
  tablesToCopy,
  type TableToCopy,
} from '../../db/copy-to-postgres.ts';
import { readMove, writeMove } from '../../db/installation.ts';
import { migrateToLatest, migrationState, refuseNewer } from '../../db/migrate.ts';
import { openRaw, type RawDatabase } from '../../db/open.ts';
import type { Db } from '../../db/tables.ts';
import { OperatorError, trying, usageError } from '../../errors/operator-error.ts';
import {
  fits,
  holderInWords,
  isServed,
  lockForServing,
  nameOfDatabase,
  reencryptStoredCredentials,
  writeKeyCheck,
} from '../../integrity/index.ts';
import { openArtifactStore } from '../../results/index.ts';
import { stopOnSignal } from './file-in-the-making.ts';
import { refuseMissing, refuseServed, withFile, withServer } from './installation.ts';
import { note, printJson, progressLine } from './output.ts';

interface Options {
  to?: string;
  from?: string;
  json?: boolean;
}

interface ServerConfig extends Config {
  DATABASE_URL: string;
}

/** The settings that replicas on the target will have; refuses what they would refuse. */
function readTarget(to: string | undefined): ServerConfig {
  const { DATABASE_FILE: _file, DATABASE_URL: url = to, ...environment } = processEnvironment;
  if (url === undefined || url === '') {
    throw usageError('say where to: --to postgres://user@host:5432/monitor, or set DATABASE_URL');
  }
  return readConfig({ ...environment, DATABASE_URL: to ?? url }) as ServerConfig;
}

/** Refuses a target that holds anything but an unfinished copy, and migrates it. */
async function prepareTarget(db: Db, name: string): Promise<void> {
  await refuseServed(db, `the database ${name}`);
  const state = await migrationState(db);
  refuseNewer(state, `the database ${name}`);
  const tables = await tablesOf(db);
  if (state.applied.length === 0 && tables.length > 0) {
    throw new OperatorError(
      `the database ${name} holds tables of something else (${tables.slice(0, 3).join(', ')}, …): make an empty database with \`createdb\`, and name that`,
    );
  }
  await migrateToLatest(db);
  const move = await readMove(db);
  if (move?.state === 'done') {
    throw new OperatorError(
      `${move.from} was moved to ${name} already, at ${move.at}: start \`serve\` with DATABASE_URL. To move again, empty that database`,
    );
  }
  if (move === null && (await countRows(db, 'accounts')) > 0) {
    throw new OperatorError(
      `the database ${name} holds another installation: name an empty database`,
    );
  }
  if (move !== null) note(`a move from ${move.from} did not end: beginning again`);
}

/** Refuses a source that this build cannot read as it is. Gives true when its key is to be changed. */
async function checkSource(file: string, target: ServerConfig): Promise<boolean> {
  return withFile(file, { hasKeySetting: true }, async (db) => {
    const state = await migrationState(db);
    refuseNewer(state, `the database ${file}`);
    const { pending } = state;
    if (pending.length > 0) {
      throw new OperatorError(
        `the database ${file} lacks migrations (${pending.join(', ')}): run \`control-plane migrate\` with DATABASE_FILE=${file} and without DATABASE_URL first`,
      );
    }
    if (await fits(db, new SecretCipher(Buffer.from(target.ENCRYPTION_KEY ?? '')))) return false;
    if (await fits(db, openMovingCipher(target, file))) return true;
    throw usageError(
      `neither ENCRYPTION_KEY nor the key file beside it opens the database ${file}: put the key file back, or set ENCRYPTION_KEY_PREVIOUS to the key that it was used with`,
    );
  });
}

async function copyAll(
  source: RawDatabase,
  target: Db,
  tables: readonly TableToCopy[],
  throwIfStopped: () => void,
): Promise<void> {
  const total = tables.reduce((sum, { rows }) => sum + rows, 0);
  const progress = progressLine('moved');
  let done = 0;
  try {
    for (const table of tables) {
      await copyTable(source, target, table, (rows) => {
        throwIfStopped();
        done += rows;
        progress.show(done, total);
      });
    }
  } finally {
    progress.end();
  }
  for (const { name, rows } of tables) {
    const found = await countRows(target, name);
    // The PostgreSQL knows besides where its rows came from.
    if (found === rows + (name === 'installation' ? 1 : 0)) continue;
    throw new OperatorError(
      `${name} has ${rows} rows in the file and ${found} in the PostgreSQL: something else writes to one of them. Stop it, then run this again`,
    );
  }
}

/** Folders in which the installation may have kept files, but for the one of the replicas. */
function foldersOfFiles(file: string, target: ServerConfig): string[] {
  const own = join(dirname(file), 'artifacts');
  const found = [target.ARTIFACTS_DIR, own].flatMap((folder) =>
    folder !== undefined && existsSync(folder) ? [realpathSync(folder)] : [],
  );
  const isTarget = (folder: string): boolean =>
    target.ARTIFACTS_S3_BUCKET === undefined &&
    folder === realpathSync(target.ARTIFACTS_DIR ?? folder);
  return [...new Set(found)].filter((folder) => !isTarget(folder));
}

async function moveBundles(db: Db, file: string, target: ServerConfig) {
  await using stack = new AsyncDisposableStack();
  const to = stack.use(await openArtifactStore(target));
  const from = [];
  for (const folder of foldersOfFiles(file, target)) {
    const config = { ...target, ARTIFACTS_S3_BUCKET: undefined, ARTIFACTS_SHARED: true };
    from.push(stack.use(await openArtifactStore({ ...config, ARTIFACTS_DIR: folder })));
  }
  return copyBundles({ db, to, from });
}

/** What is left to do by hand, as lines. */
function nextSteps(file: string, target: ServerConfig, folders: readonly string[]): string[] {
  const { ARTIFACTS_S3_BUCKET: bucket, ARTIFACTS_S3_PREFIX: prefix, ARTIFACTS_DIR } = target;
  const endpoint = target.ARTIFACTS_S3_ENDPOINT;
  const copy = (folder: string): string =>
    bucket === undefined
      ? `cp -an ${folder}/. ${ARTIFACTS_DIR}/`
      : `aws s3 sync ${folder} s3://${bucket}/${prefix} --exclude '.partial/*'${endpoint === undefined ? '' : ` --endpoint-url ${endpoint}`}`;
  return [
    ...folders.map((folder) => `copy the files of results: ${copy(folder)}`),
    `start every replica with DATABASE_URL and without DATABASE_FILE; do not serve ${file} again, since its agents go on with the replicas`,
  ];
}

export async function move({ to, from, json = false }: Options): Promise<void> {
  // A password in --to must not stay in the list of processes.
  process.title = 'control-plane move';
  const target = readTarget(to);
  const { DATABASE_FILE } = readConfig({ DATABASE_FILE: processEnvironment['DATABASE_FILE'] });
  const file = resolve(from ?? DATABASE_FILE);
  const name = nameOfDatabase(target);
  refuseMissing(file);
  if (isServed(file)) {
    throw new OperatorError(
      `the database ${file} is served, by ${holderInWords(file)}: stop that first; nothing was changed`,
    );
  }
  using lock = lockForServing(file, systemClock.now());
  // However this ends, the file is as it was.
  if (!lock.hasEndedUncleanly) lock.noteCleanEnd();
  using stop = stopOnSignal(`${file} is as it was, and the next run begins again`);
  const isOtherKey = await checkSource(file, target);
  const moved = await withServer(target, async (db) =>
    trying(`move ${file} to ${name}`, async () => {
      await prepareTarget(db, name);
      using source = closing(openRaw(file, { readonly: true, fileMustExist: true }));
      source.database.exec('begin');
      const tables = await tablesToCopy(source.database, db);
      const at = new Date(systemClock.now()).toISOString();
      note(`moving ${file} to ${name}`);
      await emptyTables(db, tables);
      await writeMove(db, { from: file, at, state: 'copying' });
      await copyAll(source.database, db, tables, stop.throwIfStopped);
      if (isOtherKey) await changeKey(db, file, target);
      const bundles = await moveBundles(db, file, target);
      await writeMove(db, { from: file, at, state: 'done' });
      return { tables, bundles };
    }),
  );
  const rows = moved.tables.reduce((sum, table) => sum + table.rows, 0);
  const next = nextSteps(file, target, foldersOfFiles(file, target));
  const { copied, missing } = moved.bundles;
  if (json) {
    const tables = Object.fromEntries(moved.tables.map((table) => [table.name, table.rows]));
    const codeBundles = { copied, missing };
    printJson({ from: file, to: name, rows, tables, codeBundles, isKeyChanged: isOtherKey, next });
    return;
  }
  console.log(
    `moved ${rows} rows of ${moved.tables.length} tables to ${name}; both sides count the same`,
  );
  if (copied > 0) console.log(`copied ${copied} code bundles`);
  for (const path of missing) note(`the code bundle ${path} is nowhere: upload it again`);
  if (isOtherKey)
    note(
      'credentials are encrypted with ENCRYPTION_KEY now; links to files and in mails that were sent before are no longer accepted',
    );
  for (const step of next) note(step);
}

function closing(database: RawDatabase): Disposable & { database: RawDatabase } {
  return {
    database,
    [Symbol.dispose]: () => {
      database.close();
    },
  };
}

async function changeKey(db: Db, file: string, target: ServerConfig): Promise<void> {
  const cipher = openMovingCipher(target, file);
  const progress = progressLine('encrypted');
  try {
    const { unreadable } = await reencryptStoredCredentials(db, cipher, (done, total) => {
      progress.show(done, total);
    });
    for (const [kind, count] of Object.entries(unreadable)) {
      note(`${count} ${kind} open with neither key and stay as they are: enter them again`);
    }
  } finally {
    progress.end();
  }
  for (const name of await reencryptFacts(db, cipher)) {
    note(`${name}: opened with neither key, and made anew`);
  }
  await writeKeyCheck(db, cipher);
}
