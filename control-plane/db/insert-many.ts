/**
 * Inserts of many rows. On PostgreSQL they are one statement, because each one is a round trip: the rows
 * travel as one JSON parameter, which takes the types of the columns from the table and the same text
 * for any number of rows. On SQLite a prepared statement takes sixteen rows, and another one of the rest each.
 */
import { sql, type CompiledQuery, type RawBuilder } from 'kysely';
import { withoutBytes } from './columns.ts';
import { engineOf } from './engine.ts';
import { storableText } from './storable-text.ts';
import type { Database, Db, RowOf } from './tables.ts';

/** Characters of one parameter on PostgreSQL: payloads are sent in parts. */
const maxCharacters = 16_000_000;
/** Rows of a statement on SQLite: each call of the driver has its price. */
const rowsAtOnce = 16;

/** Rows for one table, to be inserted with others. */
interface Part {
  /** On PostgreSQL. */
  statement(): RawBuilder<unknown>;
  run(db: Db): Promise<unknown>;
}

export interface Inserts<Row, Given> {
  /**
   * Gives the returned columns of the inserted rows, not of those that were there. `onConflict` may
   * update: then no two of these rows may have the same key.
   */
  run(db: Db, rows: readonly Row[]): Promise<Given[]>;
  /** A few small rows for `insertTogether`; null without any. */
  part(rows: readonly Row[]): Part | null;
}

/**
 * Inserts into several tables in one round trip; on SQLite one after the other. The rows of one part
 * cannot be read by another.
 */
export async function insertTogether(db: Db, parts: readonly (Part | null)[]): Promise<void> {
  const given = parts.filter((part) => part !== null);
  if (engineOf(db) === 'sqlite') {
    for (const part of given) await part.run(db);
    return;
  }
  if (given.length === 0) return;
  const each = given.map(
    (part, index) => sql`${sql.ref(`part_${index}`)} as (${part.statement()})`,
  );
  await sql`with ${sql.join(each)} select 1`.execute(db);
}

function toJson(row: Readonly<Record<string, unknown>>, columns: readonly string[]): string {
  const values: Record<string, unknown> = {};
  for (const column of columns) values[column] = withoutBytes(row[column]);
  const json = JSON.stringify(values);
  if (!json.includes('\\u')) return json;
  return JSON.stringify(values, (_key, value: unknown) =>
    typeof value === 'string' ? storableText(value) : value,
  );
}

/** The rows as JSON lists, each small enough for a parameter. */
function* jsonLists(
  rows: readonly Readonly<Record<string, unknown>>[],
  columns: readonly string[],
): Generator<string> {
  let part: string[] = [];
  let characters = 0;
  for (const row of rows) {
    const json = toJson(row, columns);
    if (part.length > 0 && characters + json.length > maxCharacters) {
      yield `[${part.join(',')}]`;
      part = [];
      characters = 0;
    }
    part.push(json);
    characters += json.length;
  }
  yield `[${part.join(',')}]`;
}

/**
 * Builds an insert of some columns of a table, once. `onConflict` is the clause of that name, without
 * parameters; `onPostgres` are further columns that only PostgreSQL has.
 */
export function prepareInserts<
  Table extends keyof Database,
  Column extends keyof RowOf<Table> & string,
  Returned extends keyof RowOf<Table> & string = never,
>(
  table: Table,
  columns: readonly Column[],
  {
    onConflict,
    returning = [],
    onPostgres = [],
  }: {
    onConflict?: RawBuilder<unknown>;
    returning?: readonly Returned[];
    onPostgres?: readonly Column[];
  } = {},
): Inserts<Pick<RowOf<Table>, Column>, Pick<RowOf<Table>, Returned>> {
  type Row = Pick<RowOf<Table>, Column>;
  type Given = Pick<RowOf<Table>, Returned>;
  const onServer = [...columns, ...onPostgres];
  const namesOf = (some: readonly Column[]) => sql.join(some.map((column) => sql.ref(column)));
  const one = sql`(${sql.join(columns.map(() => sql.val(null)))})`;
  const many = (json: string) =>
    sql`select ${namesOf(onServer)} from json_populate_recordset(null::${sql.table(table)}, ${json}::json)`;
  let compiled: CompiledQuery<Given> | undefined;
  /** For SQLite, by number of rows. */
  const ofRows = new Map<number, CompiledQuery<Given>>();
  const insertOf = (some: readonly Column[], rows: RawBuilder<unknown>) =>
    sql<Given>`insert into ${sql.table(table)} (${namesOf(some)}) ${rows} ${onConflict ?? sql``} ${
      returning.length === 0
        ? sql``
        : sql`returning ${sql.join(returning.map((name) => sql.ref(name)))}`
    }`;
  const inserts: Inserts<Row, Given> = {
    part: (rows) =>
      rows.length === 0
        ? null
        : {
            statement: () =>
              insertOf(onServer, many(`[${rows.map((row) => toJson(row, onServer)).join(',')}]`)),
            run: (db) => inserts.run(db, rows),
          },
    async run(db, rows) {
      if (rows.length === 0) return [];
      const given: Given[] = [];
      if (engineOf(db) === 'postgres') {
        compiled ??= insertOf(onServer, many('')).compile(db);
        for (const json of jsonLists(rows, onServer)) {
          given.push(...(await db.executeQuery<Given>({ ...compiled, parameters: [json] })).rows);
        }
        return given;
      }
      for (let done = 0; done < rows.length;) {
        const count = rows.length - done >= rowsAtOnce ? rowsAtOnce : 1;
        let query = ofRows.get(count);
        if (query === undefined) {
          query = insertOf(columns, sql`values ${sql.join(Array(count).fill(one))}`).compile(db);
          ofRows.set(count, query);
        }
        const parameters: unknown[] = [];
        for (const row of rows.slice(done, done + count)) {
          for (const column of columns) parameters.push(row[column as keyof Row]);
        }
        given.push(...(await db.executeQuery<Given>({ ...query, parameters })).rows);
        done += count;
      }
      return given;
    },
  };
  return inserts;
}
