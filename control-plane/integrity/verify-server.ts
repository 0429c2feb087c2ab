/** Verifies what a PostgreSQL stores: every payload and every JSON column. Its files are its own. */
import { sql } from 'kysely';
import { encryptedPrefix } from '../core/secret-cipher.ts';
import { isJson, payloadText, type StoredPayload } from '../db/columns.ts';
import { migrationState } from '../db/migrate.ts';
import type { Db } from '../db/tables.ts';
import { maxProblems, type Verification } from './verify.ts';

/** Advice for damage in a PostgreSQL, as the end of a sentence. */
export const serverDamageAdvice =
  'restore a backup of the server, or the rows from one; "pg_amcheck" looks at its files and indexes';

/** Pages that are read at once: 2 MiB. */
const pagesAtOnce = 256;
const pageBytes = 8_192;

interface Table {
  name: string;
  columns: string[];
  pages: number;
}

/** Tables with rows of their own: of a partitioned one its partitions. */
async function tablesOf(db: Db): Promise<Table[]> {
  const { rows } = await sql<Table>`
    select relname as name, array_agg(attname::text) as columns,
      ceil(pg_relation_size(pg_class.oid) / ${pageBytes}::float8) as pages
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relkind = 'r' and relnamespace = current_schema()::regnamespace
      and attnum > 0 and not attisdropped
    group by pg_class.oid, relname order by relname`.execute(db);
  return rows;
}

async function* rowsOf<Row>(
  db: Db,
  { name, pages }: Table,
  columns: readonly string[],
): AsyncGenerator<Row> {
  const selected = sql.join(columns.map((column) => sql.ref(column)));
  for (let page = 0; page < pages; page += pagesAtOnce) {
    const { rows } = await sql<Row>`
      select ${selected} from ${sql.table(name)}
      where ctid >= ${`(${page},0)`}::tid and ctid < ${`(${page + pagesAtOnce},0)`}::tid`.execute(
      db,
    );
    yield* rows;
  }
}

async function payloadProblems(db: Db, table: Table): Promise<string[]> {
  const key = ['result_seq', 'seq', 'id'].find((name) => table.columns.includes(name));
  if (!table.columns.includes('payload') || !table.columns.includes('encoding')) return [];
  const hasChecksum = table.columns.includes('checksum');
  const damaged: string[] = [];
  const columns = [
    'encoding',
    'payload',
    ...(hasChecksum ? ['checksum'] : []),
    ...(key === undefined ? [] : [key]),
  ];
  for await (const row of rowsOf<StoredPayload & Record<string, unknown>>(db, table, columns)) {
    if (row.payload === null) continue;
    if (payloadText({ ...row, checksum: hasChecksum ? row.checksum : null }) === null) {
      damaged.push(String(row[key ?? '']));
    }
  }
  if (damaged.length === 0) return [];
  return [
    `${table.name}: ${damaged.length} payloads are not what was written (${key} ${damaged.slice(0, 10).join(', ')}${damaged.length > 10 ? ', …' : ''})`,
  ];
}

/** Values that are encrypted are JSON only once they are decrypted, for which this has no key. */
async function jsonProblems(db: Db, table: Table): Promise<string[]> {
  const columns = table.columns.filter((name) => name.endsWith('_json'));
  if (columns.length === 0) return [];
  const counts = new Map<string, number>();
  for await (const row of rowsOf<Record<string, string | null>>(db, table, columns)) {
    for (const column of columns) {
      const value = row[column];
      if (typeof value !== 'string' || value.startsWith(encryptedPrefix) || isJson(value)) continue;
      counts.set(column, (counts.get(column) ?? 0) + 1);
    }
  }
  return [...counts].map(
    ([column, count]) => `${table.name}.${column}: ${count} values are not JSON`,
  );
}

/** Verifies a database while it is in use; changes nothing. `quick` looks at no row. */
export async function verifyServer(
  db: Db,
  name: string,
  { quick = false } = {},
): Promise<Verification> {
  const { applied, pending, unknown } = await migrationState(db);
  const problems: string[] = [];
  if (applied.length === 0) problems.push(`there are no tables of a control plane in ${name}`);
  else if (pending.length > 0) problems.push(`migrations are missing: ${pending.join(', ')}`);
  if (unknown.length > 0) problems.push(`migrations of a newer build: ${unknown.join(', ')}`);
  for (const table of quick ? [] : await tablesOf(db)) {
    problems.push(...(await payloadProblems(db, table)), ...(await jsonProblems(db, table)));
  }
  return { database: name, ok: problems.length === 0, problems: problems.slice(0, maxProblems) };
}
