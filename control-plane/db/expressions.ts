/** SQL expressions that depend on the engine. */
import { sql, type Expression, type RawBuilder, type SqlBool } from 'kysely';
import { byEngine } from './engine.ts';

/**
 * True where a text contains another, ignoring case in any script, without wildcards. `open.ts`
 * registers `lower_case` in SQLite.
 */
export function containsIgnoringCase(of: Expression<string>, text: string): Expression<SqlBool> {
  const lower = text.toLowerCase();
  return byEngine({
    sqlite: sql<SqlBool>`instr(lower_case(${of}), ${lower}) > 0`,
    postgres: sql<SqlBool>`strpos(lower(${of} collate "und-x-icu"), ${lower}) > 0`,
  });
}

/** `$.request.url` as the array that PostgreSQL takes: `{request,url}`. */
function keysOf(path: string): string {
  return `{${path.replace(/^\$\.?/, '').replaceAll('.', ',')}}`;
}

/** The text or number at a JSON path, such as `$.request.url`; PostgreSQL gives numbers as text. */
export function jsonValue<T extends string | number>(column: string, path: string): RawBuilder<T> {
  return byEngine({
    sqlite: sql<T>`json_extract(${sql.ref(column)}, ${path})`,
    postgres: sql<T>`(${sql.ref(column)}::json #>> ${sql.lit(keysOf(path))})`,
  });
}

/** 1 for true at a JSON path, otherwise 0. */
export function jsonFlag(column: string, path: string): RawBuilder<number> {
  return byEngine({
    sqlite: sql<number>`coalesce(json_extract(${sql.ref(column)}, ${path}), 0)`,
    postgres: sql<number>`case when ${sql.ref(column)}::json #>> ${sql.lit(keysOf(path))} = 'true' then 1 else 0 end`,
  });
}

/** True where the JSON list at a path contains a text. */
export function jsonListContains(column: string, path: string, text: string): Expression<SqlBool> {
  const list = sql`${sql.ref(column)}::json #> ${sql.lit(keysOf(path))}`;
  return byEngine({
    sqlite: sql<SqlBool>`exists (
      select 1 from json_each(${sql.ref(column)}, ${path}) as entry where entry.value = ${text}
    )`,
    postgres: sql<SqlBool>`exists (
      select 1
      from json_array_elements_text(case when json_typeof(${list}) = 'array' then ${list} end) as entry
      where entry = ${text}
    )`,
  });
}

/** A JSON column with a text or null at a path. */
export function withJsonText(
  column: string,
  path: string,
  text: string | null,
): Expression<string> {
  return byEngine({
    sqlite: sql<string>`json_set(${sql.ref(column)}, ${path}, ${text})`,
    postgres: sql<string>`jsonb_set(${sql.ref(column)}::jsonb, ${sql.lit(keysOf(path))},
      coalesce(to_jsonb(${text}::text), 'null'))::text`,
  });
}

/** The values of one column of a subquery as a JSON list; `[]` for no rows. */
export function jsonList(rows: Expression<unknown>, column: string): RawBuilder<string> {
  return byEngine({
    sqlite: sql<string>`(select json_group_array(${sql.ref(column)}) from ${rows})`,
    postgres: sql<string>`(select coalesce(json_agg(${sql.ref(column)}), '[]')::text from ${rows} as listed)`,
  });
}

/** The texts of a JSON list for `in`: the statement does not depend on their number. */
export function eachTextIn(json: string): RawBuilder<string> {
  return byEngine({
    sqlite: sql<string>`(select value from json_each(${json}))`,
    postgres: sql<string>`(select json_array_elements_text(${json}::json))`,
  });
}

/** The same for integers. */
export function eachNumberIn(json: string): RawBuilder<number> {
  return byEngine({
    sqlite: sql<number>`(select value from json_each(${json}))`,
    postgres: sql<number>`(select each::bigint from json_array_elements_text(${json}::json) as each)`,
  });
}

/**
 * True for rows whose column has one of the values of such a list. PostgreSQL takes an index for it, while `in`
 * may let it read a whole table that it knows little of.
 */
export function isOneOf(column: string, each: RawBuilder<unknown>): RawBuilder<SqlBool> {
  return byEngine({
    sqlite: sql<SqlBool>`${sql.ref(column)} in ${each}`,
    postgres: sql<SqlBool>`${sql.ref(column)} = any(array${each})`,
  });
}

/** Texts for `in`, also none: the statement does not depend on their number. */
export function eachOf(values: readonly string[]): RawBuilder<string> {
  return eachTextIn(JSON.stringify(values));
}

/** The same for integers. */
export function eachNumberOf(values: readonly number[]): RawBuilder<number> {
  return eachNumberIn(JSON.stringify(values));
}

/**
 * The same for ids of runs and results, and what these tables say of checks and accounts: PostgreSQL
 * has `uuid` columns for them, and `text` for all other ids. The ids come from the database and are well-formed.
 */
export function eachIdIn(json: string): RawBuilder<string> {
  return byEngine({
    sqlite: sql<string>`(select value from json_each(${json}))`,
    postgres: sql<string>`(select each::uuid from json_array_elements_text(${json}::json) as each)`,
  });
}

/** The same for a list. */
export function eachIdOf(values: readonly string[]): RawBuilder<string> {
  return eachIdIn(JSON.stringify(values));
}

/** An id that a user or agent sent, to be compared with such a column; a malformed one equals none. */
export function idOf(text: string): RawBuilder<string> {
  return byEngine({
    sqlite: sql<string>`${text}`,
    postgres: sql<string>`(case when ${text}::text ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      then ${text}::text::uuid end)`,
  });
}

/** An id in a column of another table, to be compared with such a column. */
export function idIn(column: string): RawBuilder<string> {
  return byEngine({
    sqlite: sql<string>`${sql.ref(column)}`,
    postgres: sql<string>`${sql.ref(column)}::uuid`,
  });
}

/** An id in such a column, to be compared with columns of other tables. */
export function textOfId(column: string): RawBuilder<string> {
  return byEngine({
    sqlite: sql<string>`${sql.ref(column)}`,
    postgres: sql<string>`${sql.ref(column)}::text`,
  });
}

/** The smaller of two values; null when SQLite compares with null. */
export function smallerOf(
  one: Expression<unknown>,
  other: Expression<unknown>,
): RawBuilder<number> {
  return byEngine({
    sqlite: sql<number>`min(${one}, ${other})`,
    postgres: sql<number>`least(${one}, ${other})`,
  });
}

/** The larger of two values; null when SQLite compares with null. */
export function largerOf(one: Expression<unknown>, other: Expression<unknown>): RawBuilder<number> {
  return byEngine({
    sqlite: sql<number>`max(${one}, ${other})`,
    postgres: sql<number>`greatest(${one}, ${other})`,
  });
}

/**
 * A column that the planner of SQLite must not use an index for. Beside a list of ids it takes an
 * index on `account_id` for the better one, and reads every row of the account.
 */
export function unindexed<T>(column: string): Expression<T> {
  return byEngine({ sqlite: sql<T>`+${sql.ref(column)}`, postgres: sql<T>`${sql.ref(column)}` });
}

/** The states of the heartbeat events of a row of `check_results`, as a JSON list. */
export function heartbeatStates(): RawBuilder<string | null> {
  const rows = sql`from heartbeat_events as event
    where event.check_id = ${textOfId('check_results.check_id')} and event.happened_at = check_results.started_at`;
  return byEngine({
    sqlite: sql<string | null>`(select json_group_array(event.state) ${rows})`,
    postgres: sql<string | null>`(select coalesce(json_agg(event.state), '[]')::text ${rows})`,
  });
}

/** Null in place of an unneeded column. */
export function absent<T>(): RawBuilder<T | null> {
  return sql<T | null>`null`;
}
