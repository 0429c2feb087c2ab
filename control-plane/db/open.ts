/** The only file that names the database driver. */
import SqliteDatabase from 'better-sqlite3';
import {
  Kysely,
  SqliteAdapter,
  SqliteDialect,
  SqliteDriver,
  SqliteQueryCompiler,
  type DatabaseConnection,
} from 'kysely';
import { tightenDatabase } from '@monitor/shared/private-files.ts';
import type { Database, Db } from './tables.ts';

const cachedStatements = 500;

/**
 * Kysely prepares a statement at each run, which costs more than the run. This cache keeps the few
 * hundred newest statements prepared.
 */
function withStatementCache(database: SqliteDatabase.Database): SqliteDatabase.Database {
  const cache = new Map<string, SqliteDatabase.Statement>();
  const prepare = database.prepare.bind(database);
  database.prepare = ((text: string) => {
    const known = cache.get(text);
    if (known !== undefined) return known;
    const statement = prepare(text);
    // A pragma takes effect when it is prepared, so it is prepared each time.
    if (/^\s*pragma/i.test(text)) return statement;
    if (cache.size >= cachedStatements) {
      const oldest = cache.keys().next();
      if (oldest.done !== true) cache.delete(oldest.value);
    }
    cache.set(text, statement);
    return statement;
  }) as typeof database.prepare;
  return database;
}

/** SQLite has transactional DDL, which Kysely's adapter does not declare. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/**
 * On a full disk SQLite rolls back the whole transaction by itself. A second rollback would fail
 * and hide the original error.
 */
class SqliteDriverThatMayHaveUndone extends SqliteDriver {
  readonly #database: SqliteDatabase.Database;

  constructor(database: SqliteDatabase.Database) {
    super({ database });
    this.#database = database;
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.inTransaction) await super.rollbackTransaction(connection);
  }
}

/**
 * A plain `?` that is compared with a column makes the planner look at its value, and so SQLite plans the statement
 * anew at each run, which costs more than the run. It looks at no expression, even one that changes nothing. A
 * condition that is to match that of a partial index is written with `sql.lit`.
 */
class PlannedOnceCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return '+?';
  }
}

class TransactionalDialect extends SqliteDialect {
  readonly #database: SqliteDatabase.Database;

  constructor(database: SqliteDatabase.Database) {
    super({ database });
    this.#database = database;
  }

  override createDriver(): SqliteDriver {
    return new SqliteDriverThatMayHaveUndone(this.#database);
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalAdapter();
  }

  override createQueryCompiler(): SqliteQueryCompiler {
    return new PlannedOnceCompiler();
  }
}

/**
 * A result changes one row in each of several indexes, and with a row its whole page is written. So
 * pages are small in new files; those of older files have 4,096 bytes, and stay so.
 */
const pageBytes = 1_024;
/** How long the log becomes before its pages go to the file, each once, however often it changed. */
const logBytes = 134_217_728;

/**
 * Opens the database in a file, or in memory for `:memory:`. A commit is durable before it is
 * acknowledged: WAL with `synchronous=FULL`.
 */
export function openDatabase(file: string): Db {
  // Before opening too: new files beside it inherit its mode.
  tightenDatabase(file);
  const database = new SqliteDatabase(file);
  // It has no effect on a file that is not empty.
  database.pragma(`page_size = ${pageBytes}`);
  database.pragma('journal_mode = WAL');
  tightenDatabase(file);
  return withSettings(database);
}

let newestInMemory: Buffer | undefined;

/** Opens a migrated database in memory. `migrate` runs once per process; later databases are copies. */
export async function openInMemory(migrate: (db: Db) => Promise<unknown>): Promise<Db> {
  const database = new SqliteDatabase(newestInMemory ?? ':memory:');
  const db = withSettings(database);
  if (newestInMemory === undefined) {
    await migrate(db);
    newestInMemory = database.serialize();
  }
  return db;
}

function withSettings(database: SqliteDatabase.Database): Db {
  database.pragma('synchronous = FULL');
  database.pragma('foreign_keys = ON');
  database.pragma('busy_timeout = 1000');
  database.pragma('cache_size = -65536');
  const bytesOfPage = Number(database.pragma('page_size', { simple: true }));
  database.pragma(`wal_autocheckpoint = ${logBytes / bytesOfPage}`);
  // The built-in `lower` only knows ASCII letters.
  database.function('lower_case', { deterministic: true }, (text: unknown) =>
    typeof text === 'string' ? text.toLowerCase() : null,
  );
  return new Kysely<Database>({
    dialect: new TransactionalDialect(withStatementCache(database)),
  });
}

const pagesAStep = 1_000;

/**
 * Copies a database that is in use into a file. The copy is a consistent snapshot in one file,
 * without a log. `onProgress` may throw to stop.
 */
export async function copyDatabase(
  from: string,
  to: string,
  onProgress: (donePages: number, totalPages: number) => void,
): Promise<void> {
  const source = new SqliteDatabase(from, { fileMustExist: true });
  try {
    // Without a read transaction, every write of another process would restart the copy.
    source.exec('begin');
    source.prepare('select 1 from sqlite_schema').get();
    await source.backup(to, {
      progress: ({ totalPages, remainingPages }) => {
        onProgress(totalPages - remainingPages, totalPages);
        return pagesAStep;
      },
    });
  } finally {
    source.close();
  }
  const copy = new SqliteDatabase(to, { fileMustExist: true });
  try {
    copy.pragma('journal_mode = DELETE');
  } finally {
    copy.close();
  }
}

/**
 * Problems inside a database file; empty when it is intact. `quick` skips the comparison of indexes
 * with their tables.
 */
export function integrityProblems(file: string, { quick = false, most = 5 } = {}): string[] {
  const database = new SqliteDatabase(file, { fileMustExist: true, readonly: true });
  try {
    const check = quick ? 'quick_check' : 'integrity_check';
    const rows = database.pragma(`${check}(${most})`) as Record<string, string>[];
    return rows.map((row) => row[check] ?? '').filter((text) => text !== 'ok');
  } finally {
    database.close();
  }
}

/** An untyped connection for any file: damaged, of another schema, or of another program. */
export type RawDatabase = SqliteDatabase.Database;
export type RawStatement = SqliteDatabase.Statement<unknown[]>;

export function openRaw(
  file: string,
  options: { readonly?: boolean; fileMustExist?: boolean; timeout?: number } = {},
): RawDatabase {
  return new SqliteDatabase(file, options);
}

const lockWithinMs = 1_000;

/**
 * True when another process has the database open: every connection holds a shared lock, so an
 * exclusive lock fails. When it is false, the log has been checkpointed into the file, unless the
 * file is too damaged.
 */
export function isOpenByAnotherProcess(file: string): boolean {
  const database = new SqliteDatabase(file, { fileMustExist: true, timeout: lockWithinMs });
  try {
    database.pragma('locking_mode = EXCLUSIVE');
    database.exec('begin exclusive; commit');
    return false;
  } catch (error) {
    if (!(error instanceof SqliteDatabase.SqliteError)) throw error;
    if (error.code.startsWith('SQLITE_BUSY')) return true;
    // A damaged database may be restored.
    if (/^SQLITE_(CORRUPT|NOTADB)/.test(error.code)) return false;
    throw error;
  } finally {
    database.close();
  }
}
