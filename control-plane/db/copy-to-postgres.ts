/**
 * Copies the tables of an SQLite database to a PostgreSQL that has the same ones. Rows go in batches
 * as JSON, which both sides read and write faster than lists of parameters.
 */
import { DEFAULT_MIGRATION_LOCK_TABLE, DEFAULT_MIGRATION_TABLE } from 'kysely/migration';
import { sql } from 'kysely';
import { OperatorError } from '../errors/operator-error.ts';
import { withoutBytes } from './columns.ts';
import type { RawDatabase } from './open.ts';
import { withoutTimeLimit } from './postgres.ts';
import { makeDays, runDayOf } from './run-days.ts';
import { storableText } from './storable-text.ts';
import type { Db } from './tables.ts';

/** Tables about the schema itself, and of PostgreSQL alone, which each database has for its own. */
const ownTables: ReadonlySet<string> = new Set([
  DEFAULT_MIGRATION_TABLE,
  DEFAULT_MIGRATION_LOCK_TABLE,
  'migration_facts',
  'deleted_checks',
]);
/** A column of PostgreSQL alone, which follows from the run, and how each table finds its run. */
const dayColumn = 'run_day';
const ofResult = (table: string): string =>
  `join check_results as result on result.id = ${table}.result_id
    join check_runs as run on run.id = result.check_run_id`;
const runOf: Readonly<Record<string, string>> = {
  check_runs: 'join check_runs as run on run.id = check_runs.id',
  check_results: 'join check_runs as run on run.id = check_results.check_run_id',
  artifacts: ofResult('artifacts'),
  check_result_error_groups: ofResult('check_result_error_groups'),
};
const dayOfRun = `day_of_run(run.run_id, run.scheduled_for)`;
/**
 * A table of the file whose columns are columns of another one on PostgreSQL, and a view there. Its rows
 * are copied with those of the other.
 */
const merged = { name: 'result_payloads', key: 'result_seq', into: 'check_results', at: 'seq' };
const batchRows = 5_000;
const batchBytes = 2_000_000;
const batchesAtOnce = 3;

interface Column {
  name: string;
  type: string;
  isGenerated: boolean;
}

export interface TableToCopy {
  name: string;
  columns: Column[];
  /** In the source. */
  rows: number;
}

/** Columns of each table of the target. */
async function columnsOf(db: Db): Promise<Map<string, Column[]>> {
  const { rows } = await sql<Column & { table: string }>`
    select relname as table, attname as name, format_type(atttypid, atttypmod) as type,
      attgenerated <> '' as "isGenerated"
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relkind in ('r', 'p', 'v') and not relispartition
      and relnamespace = current_schema()::regnamespace and attnum > 0 and not attisdropped
    order by relname, attnum`.execute(db);
  return new Map(
    [...Map.groupBy(rows, ({ table }) => table)].filter(([table]) => !ownTables.has(table)),
  );
}

/** Names of tables, those that others refer to first. */
async function inOrder(db: Db, names: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ table: string; refers: string }>`
    select own.relname as table, other.relname as refers
    from pg_constraint
    join pg_class as own on own.oid = conrelid
    join pg_class as other on other.oid = confrelid
    where contype = 'f' and conrelid <> confrelid
      and own.relnamespace = current_schema()::regnamespace`.execute(db);
  const ordered = new Set<string>();
  const add = (name: string): void => {
    if (ordered.has(name)) return;
    for (const { table, refers } of rows) if (table === name) add(refers);
    ordered.add(name);
  };
  for (const name of names) add(name);
  return [...ordered];
}

/** What there is to copy, in the order in which it can be. Throws where the schemas differ. */
export async function tablesToCopy(source: RawDatabase, target: Db): Promise<TableToCopy[]> {
  const there = await columnsOf(target);
  const names = source
    .prepare(
      `select name from sqlite_schema where type = 'table' and name not like 'sqlite\\_%' escape '\\'`,
    )
    .pluck()
    .all() as string[];
  const here = names.filter((name) => !ownTables.has(name));
  const differing = [
    ...here.filter((name) => !there.has(name)),
    ...[...there.keys()].filter((name) => !here.includes(name)),
  ];
  const columnsHere = (name: string): string[] => {
    // Hidden columns are computed.
    const own = source
      .prepare('select name from pragma_table_xinfo(?) where hidden = 0')
      .pluck()
      .all(name) as string[];
    if (name !== merged.into) return own;
    return [...own, ...columnsHere(merged.name).filter((column) => column !== merged.key)];
  };
  for (const name of here) {
    const columns = columnsHere(name);
    const known = new Set(
      there
        .get(name)
        ?.flatMap((column) =>
          column.isGenerated || column.name === dayColumn ? [] : [column.name],
        ) ?? columns,
    );
    differing.push(
      ...columns.filter((each) => !known.delete(each)).map((each) => `${name}.${each}`),
    );
    differing.push(
      ...[...known].filter((each) => !columns.includes(each)).map((each) => `${name}.${each}`),
    );
  }
  if (differing.length > 0) {
    throw new OperatorError(
      `the two databases differ in ${differing.join(', ')}: migrate both with this build`,
    );
  }
  const ordered = await inOrder(target, here);
  return ordered.map((name) => ({
    name,
    columns: (there.get(name) ?? []).filter(({ isGenerated }) => !isGenerated),
    rows: source.prepare(`select count(*) from "${name}"`).pluck().get() as number,
  }));
}

function portable(value: unknown): unknown {
  return typeof value === 'string' ? storableText(value) : withoutBytes(value);
}

function sizeOf(row: Record<string, unknown>): number {
  let bytes = 0;
  for (const value of Object.values(row)) {
    bytes += typeof value === 'string' || Buffer.isBuffer(value) ? value.length : 8;
  }
  return bytes;
}

/** Batches of rows as JSON. */
function* batchesOf(
  source: RawDatabase,
  { name, columns }: TableToCopy,
): Generator<{ json: string; rows: number }> {
  const ofOther = new Set(
    name === merged.into
      ? (source
          .prepare('select name from pragma_table_info(?)')
          .pluck()
          .all(merged.name) as string[])
      : [],
  );
  const selected = columns
    .map((column) =>
      column.name === dayColumn
        ? `${dayOfRun} as ${dayColumn}`
        : `"${ofOther.has(column.name) ? merged.name : name}"."${column.name}"`,
    )
    .join(', ');
  let batch: unknown[] = [];
  let bytes = 0;
  const take = () => {
    const taken = { json: JSON.stringify(batch), rows: batch.length };
    batch = [];
    bytes = 0;
    return taken;
  };
  const joined =
    name === merged.into
      ? ` left join ${merged.name} on ${merged.name}.${merged.key} = ${merged.into}.${merged.at}`
      : '';
  const withRun = runOf[name] ?? '';
  const rows = source.prepare(`select ${selected} from "${name}" ${withRun}${joined}`).iterate();
  for (const row of rows as IterableIterator<Record<string, unknown>>) {
    bytes += sizeOf(row);
    for (const key in row) row[key] = portable(row[key]);
    batch.push(row);
    if (batch.length >= batchRows || bytes >= batchBytes) yield take();
  }
  if (batch.length > 0) yield take();
}

/** Makes the partitions of all runs of the source, which can tell the day of a run from then on. */
async function prepareDays(source: RawDatabase, target: Db): Promise<void> {
  source.function('day_of_run', { deterministic: true }, (run_id: string, scheduled_for) =>
    runDayOf({ run_id, scheduled_for: scheduled_for as number | null }),
  );
  const days = source.prepare(`select distinct ${dayOfRun} from check_runs as run`).pluck().all();
  await makeDays(target, days as number[]);
}

/**
 * Copies the rows of a table, and lets its counters go on where they were. `onProgress` gets numbers
 * of rows and may throw to stop.
 */
export async function copyTable(
  source: RawDatabase,
  target: Db,
  table: TableToCopy,
  onProgress: (rows: number) => void,
): Promise<void> {
  if (table.name === merged.name) {
    onProgress(table.rows);
    return;
  }
  if (table.columns.some(({ name }) => name === dayColumn)) await prepareDays(source, target);
  const into = sql.table(table.name);
  const names = sql.join(table.columns.map(({ name }) => sql.ref(name)));
  const types = sql.join(
    table.columns.map(({ name, type }) => sql`${sql.ref(name)} ${sql.raw(type)}`),
  );
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const insert = async (json: string, rows: number): Promise<void> => {
    try {
      await sql`
        insert into ${into} (${names})
        select ${names} from json_to_recordset(${json}::json) as rows (${types})`.execute(target);
      onProgress(rows);
    } catch (error) {
      failures.push(error);
    }
  };
  for (const { json, rows } of batchesOf(source, table)) {
    const ended = insert(json, rows).then(() => {
      running.delete(ended);
    });
    running.add(ended);
    if (running.size >= batchesAtOnce) await Promise.race(running);
    if (failures.length > 0) break;
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
  await setCounters(source, target, table);
  // The first queries would be planned for an empty table.
  await sql`analyze ${into}`.execute(target);
}

/** Ids of deleted rows are not given again. */
async function setCounters(
  source: RawDatabase,
  target: Db,
  { name, columns }: TableToCopy,
): Promise<void> {
  const last = source
    .prepare('select seq from sqlite_sequence where name = ?')
    .pluck()
    .get(name) as number | undefined;
  for (const column of last === undefined || last === 0 ? [] : columns) {
    await sql`
      select setval(sequence, ${last}) from pg_get_serial_sequence(${name}, ${column.name}) as sequence
      where sequence is not null`.execute(target);
  }
}

/** Deletes all rows of tables. */
export async function emptyTables(target: Db, tables: readonly TableToCopy[]): Promise<void> {
  const own = tables.filter(({ name }) => name !== merged.name);
  const names = sql.join(own.map(({ name }) => sql.table(name)));
  await sql`truncate ${names} restart identity`.execute(target);
}

/** Number of rows in the target. */
export async function countRows(target: Db, table: string): Promise<number> {
  return target.transaction().execute(async (unit) => {
    await sql.raw(withoutTimeLimit).execute(unit);
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from ${sql.table(table)}`.execute(unit);
    return rows[0]?.count ?? 0;
  });
}

/** Names of all tables of a PostgreSQL but those about its schema. */
export async function tablesOf(target: Db): Promise<string[]> {
  return [...(await columnsOf(target)).keys()];
}
