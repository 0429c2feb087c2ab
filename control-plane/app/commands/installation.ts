/** Opens the configured database for a command while `serve` may be running. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { systemClock } from '@monitor/shared/clock.ts';
import { makeFolders } from '@monitor/shared/private-files.ts';
import { readConfig, type Config } from '../../core/config.ts';
import { processEnvironment } from '../../core/environment.ts';
import { migrateToLatest, migrationState, refuseNewer } from '../../db/migrate.ts';
import { openDatabase } from '../../db/open.ts';
import type { Db } from '../../db/tables.ts';
import {
  findFiles,
  nameOfDatabase,
  openServer,
  refusalToOpen,
  refuseOtherSessions,
  refuseUnfinishedMove,
} from '../../integrity/index.ts';
import { OperatorError, trying, usageError } from '../../errors/operator-error.ts';
import type { Services } from '../../core/services.ts';

/** Tells sessions of commands from those of replicas. */
const commandId = `command-${randomUUID()}`;

export type Installation = Pick<Services, 'db' | 'clock' | 'newId'>;

/** The settings, with the file of the database as an absolute path. Refuses a database in memory. */
export function readSettings(): Config {
  const config = readConfig(processEnvironment);
  if (config.DATABASE_URL === undefined && config.DATABASE_FILE === ':memory:') {
    throw usageError('DATABASE_FILE is ":memory:", which ends with each process: set it to a file');
  }
  return { ...config, DATABASE_FILE: resolve(config.DATABASE_FILE) };
}

/** The same for a command that works on files of SQLite. `way` says what PostgreSQL has for it. */
export function readFileSettings(command: string, way: (url: string) => string): Config {
  const config = readSettings();
  const { DATABASE_URL: url } = config;
  if (url === undefined) return config;
  throw usageError(
    `\`${command}\` works on a database in a file, and DATABASE_URL names the PostgreSQL ${nameOfDatabase(config)}: ${way(url)}`,
  );
}

/** Options with which the programs of PostgreSQL find a database. They ask for the password. */
export function serverOptions(url: string): string {
  const { hostname, port, username, searchParams } = new URL(url);
  const host = hostname === '' ? searchParams.get('host') : hostname;
  return [
    `--host=${host ?? 'localhost'}`,
    ...(port === '' ? [] : [`--port=${port}`]),
    ...(username === '' ? [] : [`--username=${decodeURIComponent(username)}`]),
  ].join(' ');
}

/** Name of the database in a URL. */
export function databaseOf(url: string): string {
  const { pathname, username } = new URL(url);
  return decodeURIComponent(pathname.slice(1) || username);
}

/** Refuses a missing database file: a new database made by mistake looks like data loss. */
export function refuseMissing(databaseFile: string): void {
  if (existsSync(databaseFile)) return;
  throw new OperatorError(
    `there is no database at ${databaseFile}: set DATABASE_FILE to the one that \`serve\` uses, or make it with \`control-plane migrate\``,
  );
}

/** Opens a file, creates its folder when it is missing, and closes it after the work. */
export async function withFile<T>(
  databaseFile: string,
  { hasKeySetting }: { hasKeySetting: boolean },
  work: (db: Db) => Promise<T>,
): Promise<T> {
  return trying(`use the database ${databaseFile}`, async () => {
    const refusal = refusalToOpen(findFiles(databaseFile, hasKeySetting));
    if (refusal !== null) throw usageError(refusal);
    makeFolders(dirname(databaseFile));
    const db = openDatabase(databaseFile);
    try {
      return await work(db);
    } finally {
      await db.destroy();
    }
  });
}

/** A command makes one query after the other; one more connection is for those who look. */
const connectionsOfCommand = 2;

/** Opens a PostgreSQL for a command, and closes it after the work. */
export async function withServer<T>(
  config: Config & { DATABASE_URL: string },
  work: (db: Db) => Promise<T>,
): Promise<T> {
  const db = await openServer(
    { ...config, DATABASE_POOL: connectionsOfCommand },
    // What broke between two queries is found by the next one.
    { replicaId: commandId, logger: { warn: () => undefined } },
  );
  try {
    return await trying(`use the database ${nameOfDatabase(config)}`, () => work(db));
  } finally {
    await db.destroy();
  }
}

/** Opens the configured database, and closes it after the work. */
export async function withDatabase<T>(config: Config, work: (db: Db) => Promise<T>): Promise<T> {
  const { DATABASE_FILE, DATABASE_URL, ENCRYPTION_KEY } = config;
  if (DATABASE_URL !== undefined) return withServer({ ...config, DATABASE_URL }, work);
  return withFile(DATABASE_FILE, { hasKeySetting: ENCRYPTION_KEY !== undefined }, work);
}

/** Refuses a PostgreSQL that a replica or another command uses. `what` begins the sentence. */
export function refuseServed(db: Db, what: string): Promise<void> {
  return refuseOtherSessions(db, what, commandId);
}

/**
 * Works on the installation. With `make` a missing database is created. An older schema is refused:
 * a migration here would break a running `serve` of the previous build.
 */
export async function withInstallation<T>(
  { make }: { make: boolean },
  work: (installation: Installation) => Promise<T>,
): Promise<T> {
  const config = readSettings();
  const name = nameOfDatabase(config);
  if (!make && config.DATABASE_URL === undefined) refuseMissing(config.DATABASE_FILE);
  return withDatabase(config, async (db) => {
    const state = await migrationState(db);
    refuseNewer(state, `the database ${name}`);
    if (state.applied.length === 0 && make) {
      await migrateToLatest(db);
    } else if (state.pending.length > 0) {
      throw new OperatorError(
        `the database ${name} lacks migrations (${state.pending.join(', ')}): run \`control-plane migrate\`, or start \`serve\` of this build`,
      );
    }
    if (config.DATABASE_URL !== undefined) await refuseUnfinishedMove(db, name);
    return work({ db, clock: systemClock, newId: randomUUID });
  });
}
