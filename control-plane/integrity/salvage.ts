/** Copies the readable rows of a damaged database into a new one, record by record. */
import { DatabaseImage } from '@monitor/shared/sqlite/image.ts';
import {
  salvageRows,
  type SalvagedRow,
  type SalvageReport,
  type SqliteValue,
  type TableShape,
} from '@monitor/shared/sqlite/salvage.ts';
import {
  baselineName,
  isMigrationName,
  migrateToLatest,
  type MigrationName,
} from '../db/migrate.ts';
import { openDatabase, openRaw, type RawDatabase, type RawStatement } from '../db/open.ts';
import { logFileOf, openBytes } from './files.ts';
import { damagedPayloads, jsonColumns } from './verify.ts';

export interface SalvagedTable {
  table: string;
  rows: number;
  /** Rows that are only partly readable, or not what was written: their checksum or their JSON says so. */
  lost: number;
  /** Unreadable pages; the number of their rows is unknown. */
  damagedPages: number;
  /** Rows that conflict with other rows of the table, because pages of different ages met. */
  conflicts: number;
}

export interface Salvaged {
  tables: SalvagedTable[];
  /** Rows that reference a lost row, by table. */
  orphans: { table: string; rows: number }[];
}

const migrationTable = 'kysely_migration';
/** The new database has its own migration tables. */
const isOfMigrator = (table: string): boolean => table.startsWith(migrationTable);
const rowsACommit = 20_000;

interface ColumnRow {
  name: string;
  type: string;
  notnull: number;
  dflt_value: string | null;
  pk: number;
  hidden: number;
}

interface Target extends TableShape {
  /** Names of the stored, writable columns. */
  writable: ReadonlySet<string>;
}

const virtual = 2;
const plainTypes = new Set(['text', 'integer', 'real', 'blob']);

/** The tables of a database in their on-disk form. */
function targetsOf(database: RawDatabase): Target[] {
  const tables = database
    .prepare(
      "select name, wr, strict from pragma_table_list where schema = 'main' and type = 'table'",
    )
    .all() as { name: string; wr: number; strict: number }[];
  return tables
    .filter(({ name }) => name !== 'sqlite_schema')
    .map(({ name, wr, strict }) => {
      const rows = database.prepare('select * from pragma_table_xinfo(?)').all(name) as ColumnRow[];
      const stored = rows.filter(({ hidden }) => hidden !== virtual);
      const isWithoutRowid = wr === 1;
      // In tables without rowid the key comes first.
      const ordered = isWithoutRowid
        ? [
            ...stored.filter(({ pk }) => pk > 0).sort((left, right) => left.pk - right.pk),
            ...stored.filter(({ pk }) => pk === 0),
          ]
        : stored;
      const keys = rows.filter(({ pk }) => pk > 0);
      const needed = ordered.findLastIndex(
        ({ notnull, dflt_value, pk }) => pk > 0 || (notnull === 1 && dflt_value === null),
      );
      return {
        name,
        isWithoutRowid,
        columns: ordered.map((column) => {
          const type = column.type.toLowerCase();
          return {
            name: column.name,
            type: strict === 1 && plainTypes.has(type) ? type : 'any',
            isNullable: column.notnull === 0,
            isRowNumber:
              !isWithoutRowid && keys.length === 1 && column.pk === 1 && type === 'integer',
          };
        }),
        minColumns: needed + 1,
        writable: new Set(ordered.filter(({ hidden }) => hidden === 0).map((one) => one.name)),
      };
    });
}

function targetsIn(file: string): Target[] {
  const database = openRaw(file, { readonly: true });
  try {
    return targetsOf(database);
  } finally {
    database.close();
  }
}

/** The newest migration that the damaged database names; the newest of all when it names none. */
function migrationOf(image: DatabaseImage, targets: readonly Target[]): MigrationName | undefined {
  const shapes = targets.filter(({ name }) => name === migrationTable);
  const names: MigrationName[] = [];
  for (const { values } of salvageRows(image, shapes)) {
    const [name] = values;
    if (typeof name === 'string' && isMigrationName(name)) names.push(name);
  }
  return names.sort().at(-1);
}

class Inserts {
  readonly #database: RawDatabase;
  readonly #statements = new Map<string, RawStatement>();

  constructor(database: RawDatabase) {
    this.#database = database;
  }

  /** False for a row that conflicts with an existing one. */
  add(target: Target, { rowid, values }: SalvagedRow): boolean {
    const names: string[] = [];
    const given: SqliteValue[] = [];
    target.columns.forEach(({ name, isRowNumber }, index) => {
      // Columns that are newer than the row get their defaults.
      if (index >= values.length || !target.writable.has(name)) return;
      names.push(`"${name}"`);
      const value = isRowNumber ? rowid : values[index];
      given.push(value instanceof Uint8Array ? Buffer.from(value) : (value ?? null));
    });
    const text = `insert or ignore into "${target.name}" (${names.join()}) values (${names.map(() => '?').join()})`;
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#database.prepare<unknown[]>(text);
      this.#statements.set(text, statement);
    }
    return statement.run(...given).changes === 1;
  }
}

function fill(
  database: RawDatabase,
  targets: readonly Target[],
  rows: Generator<SalvagedRow, SalvageReport>,
  onProgress: (rows: number) => void,
): SalvagedTable[] {
  const inserts = new Inserts(database);
  const byName = new Map(targets.map((target) => [target.name, target]));
  const counts = new Map(
    targets.map(({ name }) => [
      name,
      { table: name, rows: 0, lost: 0, damagedPages: 0, conflicts: 0 },
    ]),
  );
  const sequences: [string, number][] = [];
  let read = 0;
  database.exec('begin');
  let next = rows.next();
  for (; next.done !== true; next = rows.next()) {
    const { table, values } = next.value;
    const target = byName.get(table);
    const count = counts.get(table);
    if (target === undefined || count === undefined || isOfMigrator(table)) continue;
    if (table === 'sqlite_sequence') sequences.push([String(values[0]), Number(values[1])]);
    else if (inserts.add(target, next.value)) count.rows += 1;
    else count.conflicts += 1;
    read += 1;
    if (read % rowsACommit === 0) {
      database.exec('commit; begin');
      onProgress(read);
    }
  }
  for (const [name, seq] of sequences) {
    if (!Number.isSafeInteger(seq)) continue;
    const { changes } = database
      .prepare('update sqlite_sequence set seq = max(seq, ?) where name = ?')
      .run(seq, name);
    if (changes === 0) {
      database.prepare('insert into sqlite_sequence (name, seq) values (?, ?)').run(name, seq);
    }
  }
  database.exec('commit');
  const report = next.value;
  for (const { table } of report.lost) {
    const count = counts.get(table ?? '');
    if (count !== undefined) count.lost += 1;
  }
  for (const [table, pages] of report.damagedByTable) {
    const count = counts.get(table);
    if (count !== undefined) count.damagedPages = pages;
  }
  return [...counts.values()].filter(
    ({ table }) => table !== 'sqlite_sequence' && !isOfMigrator(table),
  );
}

/** A value on several pages can be put together from pages of different ages. */
function dropDamagedRows(database: RawDatabase, tables: readonly SalvagedTable[]): void {
  const countLost = (name: string, rows: number): void => {
    const count = tables.find(({ table }) => table === name);
    if (count === undefined) return;
    count.rows -= rows;
    count.lost += rows;
  };
  const drop = database.prepare('delete from result_payloads where result_seq = ?');
  for (const seq of damagedPayloads(database)) {
    countLost('result_payloads', drop.run(seq).changes);
  }
  for (const { table, isDamaged } of jsonColumns(database)) {
    countLost(table, database.prepare(`delete from "${table}" where ${isDamaged}`).run().changes);
  }
}

/**
 * Salvages the database `from` into the new file `to`. `onProgress` gets the number of rows read
 * and may throw to stop.
 */
export async function salvageDatabase(
  from: string,
  to: string,
  onProgress: (rows: number) => void,
): Promise<Salvaged> {
  using file = openBytes(from);
  using log = openBytes(logFileOf(from));
  const image = new DatabaseImage(file, log.size === 0 ? null : log);
  const fresh = openDatabase(to);
  try {
    // Enough rows to find the migrations of the damaged database.
    await migrateToLatest(fresh, baselineName);
    await migrateToLatest(fresh, migrationOf(image, targetsIn(to)));
  } finally {
    await fresh.destroy();
  }
  const database = openRaw(to);
  try {
    database.pragma('foreign_keys = OFF');
    database.pragma('synchronous = OFF');
    const triggers = database
      .prepare("select name, sql from sqlite_schema where type = 'trigger'")
      .all() as { name: string; sql: string }[];
    for (const { name } of triggers) database.exec(`drop trigger "${name}"`);
    const targets = targetsOf(database);
    for (const { name } of targets) if (!isOfMigrator(name)) database.exec(`delete from "${name}"`);
    const tables = fill(database, targets, salvageRows(image, targets), onProgress);
    dropDamagedRows(database, tables);
    for (const { sql } of triggers) database.exec(sql);
    const broken = database.pragma('foreign_key_check') as { table: string }[];
    const orphans = new Map<string, number>();
    for (const { table } of broken) orphans.set(table, (orphans.get(table) ?? 0) + 1);
    return { tables, orphans: [...orphans].map(([table, rows]) => ({ table, rows })) };
  } finally {
    database.pragma('journal_mode = DELETE');
    database.close();
  }
}
