/** Reads a database of another product, which stays as it is. */
import { constants, copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { makeTemporaryFolder } from './temporary-folder.ts';

export type SourceRow = Readonly<Record<string, unknown>>;
export type SourceTables = Readonly<Record<string, readonly SourceRow[]>>;

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Far more than an installation has that somebody looks at. */
export const maxSourceRows = 20_000;
const maxBytes = 64 * 1_048_576;

/** The size of a table, by its headers: a few rows can be gigabytes. Throws for one that computes values. */
function assertReadable(db: SqliteDatabase.Database, table: string, maxRows: number): number {
  const columns = db.prepare(`pragma table_xinfo(${quoted(table)})`).all() as {
    name: string;
    hidden: number;
  }[];
  const computed = columns.find(({ hidden }) => hidden !== 0);
  if (computed !== undefined) {
    throw new Error(`its table ${table} computes the column ${computed.name}, which is not read`);
  }
  if (maxRows === Infinity) return 0;
  const sizes = columns.map(({ name }) => `coalesce(octet_length(${quoted(name)}), 0)`).join(' + ');
  const { rows, bytes } = db
    .prepare(`select count(*) as rows, coalesce(sum(${sizes}), 0) as bytes from ${quoted(table)}`)
    .get() as { rows: number; bytes: number };
  if (rows > maxRows)
    throw new Error(`its table ${table} has ${rows} rows, at most ${maxRows} are read`);
  return bytes;
}

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
    let bytesLeft = maxBytes;
    for (const table of [...tables, ...Object.keys(aggregates)].filter((name) => names.has(name))) {
      bytesLeft -= assertReadable(opened, table, table in aggregates ? Infinity : maxSourceRows);
      if (bytesLeft < 0) throw new Error(`its tables hold more than ${maxBytes} bytes`);
    }
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
