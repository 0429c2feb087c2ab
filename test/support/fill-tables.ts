/** Fills tables of an SQLite database that no test world fills: one row each, of any values. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

interface Column {
  name: string;
  type: string;
  pk: number;
}

interface Reference {
  from: string;
  table: string;
  to: string | null;
}

function anyValue({ type, name }: Column, index: number): SQLInputValue {
  if (type === 'INTEGER') return 100 + index;
  if (type === 'REAL') return index + 0.1;
  if (type === 'BLOB') return Buffer.from([0, 1, 254, index]);
  return name.endsWith('_json') ? '{"ä":"\\u0000 \\"quoted\\""}' : `text '${index}' \\ "ä" 🙂`;
}

/** Adds a row to each table without any; gives the names of all tables but those of migrations. */
export function fillEmptyTables(db: DatabaseSync): string[] {
  const all = db
    .prepare(`select name from sqlite_schema where type = 'table' and name not like 'sqlite%'`)
    .all()
    .map((row) => String(row['name']))
    .filter((name) => !name.startsWith('kysely_') && name !== 'migration_facts');
  const filled = new Set<string>();
  const fill = (table: string): void => {
    if (filled.has(table)) return;
    filled.add(table);
    const references = db
      .prepare('select "from", "table", "to" from pragma_foreign_key_list(?)')
      .all(table) as unknown as Reference[];
    for (const reference of references) fill(reference.table);
    if (db.prepare(`select 1 from "${table}" limit 1`).get() !== undefined) return;
    const columns = db
      .prepare('select name, type, pk from pragma_table_xinfo(?) where hidden = 0')
      .all(table) as unknown as Column[];
    const values = columns.map((column, index) => {
      const reference = references.find(({ from }) => from === column.name);
      if (reference === undefined) return anyValue(column, index);
      const parent = db.prepare(`select * from "${reference.table}" limit 1`).get() ?? {};
      return parent[reference.to ?? 'id'] as SQLInputValue;
    });
    const names = columns.map(({ name }) => `"${name}"`).join(', ');
    db.prepare(
      `insert into "${table}" (${names}) values (${columns.map(() => '?').join(', ')})`,
    ).run(...values);
  };
  for (const table of all) fill(table);
  return all;
}
