/**
 * The floor of ingest on PostgreSQL: rows that ingest has written, written once more in bulk by a bare
 * client into tables with the same columns, indexes and foreign keys.
 */
import pg from 'pg';
import type { PostgresServer } from '../cluster/postgres.ts';
import { treeCpuMs } from './process-cost.ts';

const batchSize = 500;
/** The tables of a result. */
const tablesOfResult = ['check_runs', 'check_results', 'check_statuses'];

interface Table {
  name: string;
  /** Has its indexes: the table, or a part of it. */
  model: string;
  columns: { name: string; type: string }[];
  /** Values of each column as text, in the order of rows. */
  values: (string | null)[][];
  foreignKeys: string[];
}

/** Rows come after those that they point at. */
const orders: Readonly<Record<string, string>> = {
  check_runs: 'join check_results as result on result.check_run_id = each.id order by result.seq',
  check_results: 'order by each.seq',
};

async function readTable(client: pg.Client, name: string): Promise<Table> {
  const { rows: columns } = await client.query<{ name: string; type: string }>(
    `select quote_ident(attname) as name, format_type(atttypid, atttypmod) as type
     from pg_attribute where attrelid = to_regclass($1) and attnum > 0 and not attisdropped
       and attgenerated = '' order by attnum`,
    [name],
  );
  const { rows: parts } = await client.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = to_regclass($1)
     order by inhrelid desc limit 1`,
    [name],
  );
  const { rows: keys } = await client.query<{ text: string }>(
    `select pg_get_constraintdef(oid) as text from pg_constraint
     where conrelid = to_regclass($1) and contype = 'f'`,
    [name],
  );
  const names = columns.map((column) => `each.${column.name}::text`).join();
  const order = keys.length > 0 ? (orders[name] ?? '') : '';
  const { rows } = await client.query<(string | null)[]>({
    text: `select ${names} from ${name} as each ${order}`,
    rowMode: 'array',
  });
  return {
    ...{ name, columns, model: parts[0]?.name ?? name },
    values: columns.map((_column, at) => rows.map((row) => row[at] ?? null)),
    foreignKeys: keys.map(({ text }) =>
      text.replace(/REFERENCES (check_runs|check_results)/, 'REFERENCES floor.$1'),
    ),
  };
}

function insertOf({ name, columns }: Table): string {
  const names = columns.map((column) => column.name);
  const arrays = columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join();
  // Statuses exist already; each batch brings newer ones.
  const conflict =
    name === 'check_statuses'
      ? `on conflict (check_id) do update set ${names.map((each) => `${each} = excluded.${each}`).join()}`
      : '';
  return `insert into floor.${name} (${names.join()}) overriding system value
    select * from unnest(${arrays}) ${conflict}`;
}

export class WriteFloor implements AsyncDisposable {
  readonly #server: PostgresServer;
  readonly #client: pg.Client;
  readonly #tables: Table[] = [];

  private constructor(server: PostgresServer, database: string) {
    this.#server = server;
    this.#client = new pg.Client({ connectionString: server.url(database) });
  }

  /** Reads what ingest has written so far. */
  static async open(server: PostgresServer, database: string): Promise<WriteFloor> {
    const floor = new WriteFloor(server, database);
    // An error is thrown by what runs then.
    floor.#client.on('error', () => {});
    await floor.#client.connect();
    for (const name of tablesOfResult) {
      floor.#tables.push(await readTable(floor.#client, name));
    }
    return floor;
  }

  /** Writes it into new tables. CPU of the server per result, in microseconds. */
  async measure(): Promise<number> {
    const client = this.#client;
    await client.query('create schema floor');
    for (const { name, model, foreignKeys } of this.#tables) {
      await client.query(`create table floor.${name} (like ${model} including all)`);
      for (const key of foreignKeys) await client.query(`alter table floor.${name} add ${key}`);
    }
    await client.query('checkpoint');
    const results = this.#tables.find(({ name }) => name === 'check_results')?.values[0]?.length;
    if (results === undefined) throw new Error('no results are stored');
    const before = treeCpuMs(this.#server.pid());
    for (let from = 0; from < results; from += batchSize) {
      await client.query('begin');
      for (const table of this.#tables) {
        const rows = table.values[0]?.length ?? 0;
        const start = table.name === 'check_statuses' ? from % rows : from;
        const values = table.values.map((column) => column.slice(start, start + batchSize));
        await client.query({ text: insertOf(table), values });
      }
      await client.query('commit');
    }
    const found = (1000 * (treeCpuMs(this.#server.pid()) - before)) / results;
    await client.query('drop schema floor cascade');
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.end();
  }
}
