/** SQL expressions that depend on the dialect. */
import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely';

/**
 * True where a text contains another, ignoring case in any script, without wildcards. `open.ts`
 * registers `lower_case`.
 */
export function containsIgnoringCase(of: Expression<string>, text: string): Expression<SqlBool> {
  return sql<SqlBool>`instr(lower_case(${of}), ${text.toLowerCase()}) > 0`;
}

/** The value at a JSON path, such as `$.request.url`. */
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

/** The values of one column of a subquery as a JSON list; `[]` for no rows. */
export function jsonList(rows: Expression<unknown>, column: string): RawBuilder<string> {
  return sql<string>`(select json_group_array(${sql.ref(column)}) from ${rows})`;
}

/** Values for `in`: the statement does not depend on their number. */
export function eachOf<T extends string | number>(values: readonly T[]): RawBuilder<T> {
  return sql<T>`(select value from json_each(${JSON.stringify(values)}))`;
}

/** A column that the planner must not use an index for. */
export function unindexed<T>(column: string): Expression<T> {
  return sql<T>`+${sql.ref(column)}`;
}

/** The states of the heartbeat events of a row of `check_results`, as a JSON list. */
export function heartbeatStates(): RawBuilder<string | null> {
  return sql<string | null>`(
    select json_group_array(event.state) from heartbeat_events as event
    where event.check_id = check_results.check_id and event.happened_at = check_results.started_at
  )`;
}

/** Null in place of an unneeded column. */
export function absent<T>(): RawBuilder<T | null> {
  return sql<T | null>`null`;
}
