/** Databases of a real PostgreSQL for tests, each a copy of one that is migrated. */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { TestContext } from 'node:test';
import pg from 'pg';
import { migrateToLatest } from '../../control-plane/db/migrate.ts';
import { openPostgres } from '../../control-plane/db/postgres.ts';
import { startPostgres } from '../../scripts/cluster/postgres.ts';
import { longTier } from '../../scripts/tests/summary.ts';
import { isLong } from './random.ts';

/** The variable with which the runner of the tests names the migrated database to copy. */
export const templateVariable = 'TEST_POSTGRES_TEMPLATE';

/** True where tests of the API run on PostgreSQL instead of SQLite. */
export const runsOnPostgres = process.env['TEST_DATABASE'] === 'postgres';

/** Leaves a test out whose statements others run on PostgreSQL, but for the long tier; says whether it did. */
export function isLeftOutOnPostgres(t: TestContext): boolean {
  if (!runsOnPostgres || isLong) return false;
  t.skip(longTier);
  return true;
}

/** For a test that decides nothing there, with the reason. */
export const notOnPostgres = (why: string) => ({ skip: runsOnPostgres && why });

function openForTest(url: string) {
  return openPostgres({ url, connections: 10, isPrepared: true, applicationName: 'monitor/test' });
}

/** Migrates an empty database of a server, to be copied; gives its URL. */
export async function makeTemplate(url: string): Promise<void> {
  const db = openForTest(url);
  await migrateToLatest(db);
  await db.destroy();
}

let ownTemplate: Promise<string> | null = null;

/** A server of this process, for a test file that is run by itself. */
async function startOwnServer(): Promise<string> {
  const server = await startPostgres();
  process.once('exit', () => {
    rmSync(dirname(server.dataFolder), { recursive: true, force: true });
  });
  await server.query('create database template_monitor');
  await makeTemplate(server.url('template_monitor'));
  return server.url('template_monitor');
}

async function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const tablesOfDatabase = `select quote_ident(tablename) as name from pg_tables
  where schemaname = current_schema()
    and not (select relispartition from pg_class where oid = quote_ident(tablename)::regclass)`;

/** Rows that migrations write, by table; read once from a new copy. */
let firstRows: Promise<ReadonlyMap<string, unknown[]>> | null = null;

function readFirstRows(url: string): Promise<ReadonlyMap<string, unknown[]>> {
  return connected(url, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(tablesOfDatabase);
    const found = new Map<string, unknown[]>();
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: unknown }>(
        `select to_jsonb(each) as row from ${name} as each`,
      );
      if (rows.length > 0)
        found.set(
          name,
          rows.map(({ row }) => row),
        );
    }
    return found;
  });
}

/** Makes a used database like a new one: much faster than a copy, which has hundreds of files. */
function empty(url: string, rows: ReadonlyMap<string, unknown[]>): Promise<void> {
  return connected(url, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(tablesOfDatabase);
    const { rows: sequences } = await client.query<{ name: string }>(
      `select quote_ident(sequencename) as name from pg_sequences
       where schemaname = current_schema() and last_value is not null`,
    );
    await client.query(
      [
        'begin',
        // Without triggers, rows are deleted in any order.
        'set local session_replication_role = replica',
        ...tables.map(({ name }) => `delete from ${name}`),
        ...[...rows].map(
          ([name, all]) =>
            `insert into ${name} select * from jsonb_populate_recordset(null::${name}, ${client.escapeLiteral(JSON.stringify(all))})`,
        ),
        ...sequences.map(({ name }) => `select setval('${name}', 1, false)`),
        'commit',
      ].join(';'),
    );
  });
}

/** Statements, and connections that are being made, of this process. */
let inFlight = 0;

async function counted<T>(work: Promise<T>): Promise<T> {
  inFlight += 1;
  try {
    return await work;
  } finally {
    inFlight -= 1;
  }
}

function countInFlight(): void {
  for (const [prototype, method] of [
    [pg.Client.prototype, 'query'],
    [pg.Pool.prototype, 'connect'],
  ] as const) {
    const original = Reflect.get(prototype, method) as (...all: unknown[]) => unknown;
    Reflect.set(prototype, method, function call(this: unknown, ...all: unknown[]) {
      const result = Reflect.apply(original, this, all);
      return result instanceof Promise ? counted(result) : result;
    });
  }
}

if (runsOnPostgres) countInFlight();

/** Turns of the event loop after which what an answer began has asked again. */
const quietTurns = 3;

/** Resolves when nothing of this process waits for a server any more; on SQLite nothing ever does. */
export async function untilServerIsIdle(): Promise<void> {
  for (let quiet = 0; quiet < quietTurns; quiet = inFlight === 0 ? quiet + 1 : 0) {
    await new Promise((resolve) => setImmediate(resolve));
    if (!runsOnPostgres) return;
  }
}

export interface TestDatabase extends AsyncDisposable {
  url: string;
}

const unused: string[] = [];

/**
 * A migrated database without rows. After use it is emptied and used again, unless the test changes
 * its schema or its settings.
 */
export async function createTestDatabase({ isReused = true } = {}): Promise<TestDatabase> {
  const template = process.env[templateVariable] ?? (await (ownTemplate ??= startOwnServer()));
  let url = isReused ? unused.pop() : undefined;
  if (url === undefined) {
    const { pathname } = new URL(template);
    const name = `test_${randomBytes(8).toString('hex')}`;
    const own = (path: string) => Object.assign(new URL(template), { pathname: path }).href;
    await connected(own('/postgres'), (client) =>
      client.query(`create database ${name} template ${pathname.slice(1)} strategy file_copy`),
    );
    url = own(`/${name}`);
  }
  const used = url;
  const rows = await (firstRows ??= readFirstRows(used));
  return {
    url: used,
    async [Symbol.asyncDispose]() {
      if (isReused) {
        await empty(used, rows);
        unused.push(used);
        return;
      }
      const { pathname } = new URL(used);
      const server = Object.assign(new URL(template), { pathname: '/postgres' }).href;
      await connected(server, (client) =>
        client.query(`drop database ${pathname.slice(1)} with (force)`),
      );
    },
  };
}
