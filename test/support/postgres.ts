/** Databases of a real PostgreSQL for tests, each a copy of one that is migrated. */
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import pg from 'pg';
import { migrateToLatest } from '../../control-plane/db/migrate.ts';
import { openPostgres } from '../../control-plane/db/postgres.ts';
import { startPostgres } from '../../scripts/cluster/postgres.ts';

/** The variable with which the runner of the tests names the migrated database to copy. */
export const templateVariable = 'TEST_POSTGRES_TEMPLATE';

/** True where tests of the API run on PostgreSQL instead of SQLite. */
export const runsOnPostgres = process.env['TEST_DATABASE'] === 'postgres';

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

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({
    connectionString: Object.assign(new URL(url), { pathname: '/postgres' }).href,
  });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

export interface TestDatabase extends AsyncDisposable {
  url: string;
}

/** A migrated database without rows, gone when it is disposed. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const template = process.env[templateVariable] ?? (await (ownTemplate ??= startOwnServer()));
  const { pathname } = new URL(template);
  const name = `test_${randomBytes(8).toString('hex')}`;
  await administer(
    template,
    `create database ${name} template ${pathname.slice(1)} strategy file_copy`,
  );
  return {
    url: Object.assign(new URL(template), { pathname: `/${name}` }).href,
    [Symbol.asyncDispose]: () => administer(template, `drop database ${name} with (force)`),
  };
}
