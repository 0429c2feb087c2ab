/** Reads a database of another product, which stays as it is. */
import SqliteDatabase from 'better-sqlite3';

export type SourceRow = Readonly<Record<string, unknown>>;
export type SourceTables = Readonly<Record<string, readonly SourceRow[]>>;

/** What to read: the rows of a table, or an aggregate of a table that is too large to be held. */
export type TableReading = Readonly<Record<string, string | null>>;

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/**
 * The named tables, by column name. A missing table is absent; an aggregate of a table whose columns
 * are missing is absent too. `aggregates` are expressions, by the name of their table.
 */
export function readSqliteFile(
  path: string,
  tables: readonly string[],
  aggregates: TableReading,
): SourceTables {
  const database = new SqliteDatabase(path, { readonly: true, fileMustExist: true });
  try {
    const names = new Set(
      database
        .prepare("select name from sqlite_master where type = 'table'")
        .all()
        .map((row) => (row as { name: string }).name),
    );
    const read = (table: string, columns: string) =>
      database.prepare(`select ${columns} from ${quoted(table)}`).all() as SourceRow[];
    const found: Record<string, readonly SourceRow[]> = {};
    for (const table of tables) if (names.has(table)) found[table] = read(table, '*');
    for (const [table, columns] of Object.entries(aggregates)) {
      if (names.has(table) && columns !== null) found[table] = read(table, columns);
    }
    return found;
  } finally {
    database.close();
  }
}
