/** Expressions that every dialect writes in its own way. */
import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely';

/** As the database lowers it: ASCII letters only. */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** True where a text contains another, whatever their case; nothing in it is a wildcard. */
export function containsIgnoringCase(of: Expression<string>, text: string): Expression<SqlBool> {
  return sql<SqlBool>`instr(lower(${of}), ${lowerAscii(text)}) > 0`;
}

/** The value at a path inside a JSON column, such as `$.request.url`. */
export function jsonValue<T extends string | number>(column: string, path: string): Expression<T> {
  return sql<T>`json_extract(${sql.ref(column)}, ${path})`;
}

/** True where the JSON list at a path contains a text. */
export function jsonListContains(column: string, path: string, text: string): Expression<SqlBool> {
  return sql<SqlBool>`exists (
    select 1 from json_each(${sql.ref(column)}, ${path}) as entry where entry.value = ${text}
  )`;
}

/** A JSON column with null at a path. */
export function withJsonNull(column: string, path: string): Expression<string> {
  return sql<string>`json_set(${sql.ref(column)}, ${path}, null)`;
}

/** The values of one column of a query as a JSON list; `[]` for no rows. */
export function jsonList(rows: Expression<unknown>, column: string): RawBuilder<string> {
  return sql<string>`(select json_group_array(${sql.ref(column)}) from ${rows})`;
}
