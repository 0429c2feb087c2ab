/** Opens the configured database for a command while `serve` may be running. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Kysely } from 'kysely';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { processEnvironment, readConfig, type Config } from '../../core/config.ts';
import { migrateToLatest, migrationState, refuseNewer } from '../../db/migrate.ts';
import { openDatabase } from '../../db/open.ts';
import type { Database } from '../../db/tables.ts';
import { findFiles, refusalToOpen } from '../../integrity/index.ts';
import { OperatorError, trying } from '../../errors/operator-error.ts';

export interface Installation {
  db: Kysely<Database>;
  clock: Clock;
  newId: () => string;
}

/** The settings, with the database as an absolute path. Refuses a database in memory. */
export function readSettings(): Config {
  const config = readConfig(processEnvironment);
  if (config.DATABASE_FILE === ':memory:') {
    throw new OperatorError(
      'DATABASE_FILE is ":memory:", which ends with each process: set it to a file',
      { usage: true },
    );
  }
  return { ...config, DATABASE_FILE: resolve(config.DATABASE_FILE) };
}

/** Refuses a missing database file: a new database made by mistake looks like data loss. */
export function refuseMissing(databaseFile: string): void {
  if (existsSync(databaseFile)) return;
  throw new OperatorError(
    `there is no database at ${databaseFile}: set DATABASE_FILE to the one that \`serve\` uses, or make it with \`control-plane migrate\``,
  );
}

/** Opens the database, creates its folder when it is missing, and closes it after the work. */
export async function withDatabase<T>(
  databaseFile: string,
  { hasKeySetting }: { hasKeySetting: boolean },
  work: (db: Kysely<Database>) => Promise<T>,
): Promise<T> {
  return trying(`use the database ${databaseFile}`, async () => {
    const refusal = refusalToOpen(findFiles(databaseFile, hasKeySetting));
    if (refusal !== null) throw new OperatorError(refusal, { usage: true });
    mkdirSync(dirname(databaseFile), { recursive: true, mode: 0o700 });
    const db = openDatabase(databaseFile);
    try {
      return await work(db);
    } finally {
      await db.destroy();
    }
  });
}

/**
 * Works on the installation. With `make` a missing database is created. An older schema is refused:
 * a migration here would break a running `serve` of the previous build.
 */
export async function withInstallation<T>(
  { make }: { make: boolean },
  work: (installation: Installation) => Promise<T>,
): Promise<T> {
  const { DATABASE_FILE, ENCRYPTION_KEY } = readSettings();
  if (!make) refuseMissing(DATABASE_FILE);
  const hasKeySetting = ENCRYPTION_KEY !== undefined;
  return withDatabase(DATABASE_FILE, { hasKeySetting }, async (db) => {
    const state = await migrationState(db);
    refuseNewer(state, `the database ${DATABASE_FILE}`);
    if (state.applied.length === 0 && make) {
      await migrateToLatest(db);
    } else if (state.pending.length > 0) {
      throw new OperatorError(
        `the database ${DATABASE_FILE} lacks migrations (${state.pending.join(', ')}): run \`control-plane migrate\`, or start \`serve\` of this build`,
      );
    }
    return work({ db, clock: systemClock, newId: randomUUID });
  });
}
