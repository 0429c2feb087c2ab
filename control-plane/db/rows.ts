/** Rows of values as a table in a statement, whose text does not depend on their number. */
import { sql, type RawBuilder } from 'kysely';
import { byEngine } from './engine.ts';

/** `id`: see `eachIdIn`. */
type Kind = 'text' | 'int' | 'id';

const typeOfKind: Record<Kind, string> = { text: 'text', int: 'bigint', id: 'uuid' };

/** A subquery of values, to be aliased: `rowsOf({ id: 'int', count: 'int' }, rows)`. */
export function rowsOf<Row extends object>(
  columns: { [C in keyof Row]: Row[C] extends number | null ? 'int' : 'text' | 'id' },
  rows: readonly Row[],
): RawBuilder<Row> {
  const json = JSON.stringify(rows);
  const names: [string, Kind][] = Object.entries(columns);
  const extracted = names.map(
    ([name]) => sql`value ->> ${sql.lit(`$.${name}`)} as ${sql.ref(name)}`,
  );
  const typed = names.map(([name, kind]) => sql`${sql.ref(name)} ${sql.raw(typeOfKind[kind])}`);
  return byEngine({
    sqlite: sql`(select ${sql.join(extracted)} from json_each(${json}))`,
    postgres: sql`(select * from json_to_recordset(${json}::json) as given(${sql.join(typed)}))`,
  });
}
