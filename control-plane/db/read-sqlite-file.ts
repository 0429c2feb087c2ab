/** Reads a database of another product, which stays as it is. */
import { constants, copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { makeTemporaryFolder } from './temporary-folder.ts';

export type SourceRow = Readonly<Record<string, unknown>>;
export type SourceTables = Readonly<Record<string, readonly SourceRow[]>>;

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** A copy with its log, in a folder of its own: even reading writes files beside a database. */
function copyOf(path: string, folder: string): string {
  const copy = join(folder, 'copy.db');
  copyFileSync(path, copy, constants.COPYFILE_FICLONE);
  if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`);
  return copy;
}

/**
 * The named tables, by column name; a missing table is absent. `aggregates` are expressions by the
 * name of their table, for tables that are too large to be held.
 */
export function readSqliteFile(
  path: string,
  tables: readonly string[],
  aggregates: Readonly<Record<string, string>>,
): SourceTables {
  const folder = makeTemporaryFolder('import-');
  let database: SqliteDatabase.Database | undefined;
  try {
    const opened = new SqliteDatabase(copyOf(path, folder), { readonly: true });
    database = opened;
    const names = new Set(
      opened
        .prepare("select name from sqlite_master where type = 'table'")
        .all()
        .map((row) => (row as { name: string }).name),
    );
    const read = (table: string, columns: string) =>
      opened.prepare(`select ${columns} from ${quoted(table)}`).all() as SourceRow[];
    const found: Record<string, readonly SourceRow[]> = {};
    for (const table of tables) if (names.has(table)) found[table] = read(table, '*');
    for (const [table, columns] of Object.entries(aggregates)) {
      if (names.has(table)) found[table] = read(table, columns);
    }
    return found;
  } finally {
    database?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
