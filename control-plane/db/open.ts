/** The only file that names the database driver. */
import SqliteDatabase from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import type { Database } from './tables.ts';

const cachedStatements = 500;

/**
 * Kysely asks the driver to prepare a statement each time it runs one; preparing costs more than
 * running. The hot statements are few, so the newest few hundred stay prepared.
 */
function withStatementCache(database: SqliteDatabase.Database): SqliteDatabase.Database {
  const cache = new Map<string, SqliteDatabase.Statement>();
  const prepare = database.prepare.bind(database);
  database.prepare = ((text: string) => {
    const known = cache.get(text);
    if (known !== undefined) return known;
    const statement = prepare(text);
    if (cache.size >= cachedStatements) {
      const oldest = cache.keys().next();
      if (oldest.done !== true) cache.delete(oldest.value);
    }
    cache.set(text, statement);
    return statement;
  }) as typeof database.prepare;
  return database;
}

/**
 * Opens the database in a file, or in memory for `:memory:`. A commit is on disk before it is
 * acknowledged: WAL with `synchronous=FULL`.
 */
export function openDatabase(file: string): Kysely<Database> {
  const database = new SqliteDatabase(file);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.pragma('foreign_keys = ON');
  database.pragma('busy_timeout = 5000');
  database.pragma('cache_size = -65536');
  return new Kysely<Database>({
    dialect: new SqliteDialect({ database: withStatementCache(database) }),
  });
}
