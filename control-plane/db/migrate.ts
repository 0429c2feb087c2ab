import type { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import type { Database } from './tables.ts';
import * as first from './migrations/0001-first.ts';

/** In order of their names. A new migration is a new file and a line here. */
const migrations = { '0001-first': first };

/** Brings the database to the newest schema; gives the names of what was applied. Throws on failure. */
export async function migrateToLatest(db: Kysely<Database>): Promise<string[]> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve(migrations) },
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error !== undefined) {
    const failed = results?.find((result) => result.status === 'Error')?.migrationName ?? 'unknown';
    throw new Error(`migration ${failed} failed; the database is as it was before it`, {
      cause: error,
    });
  }
  return (results ?? []).map((result) => result.migrationName);
}
