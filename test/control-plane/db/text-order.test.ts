// PostgreSQL only: it compares its order with that of SQLite.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { sql } from 'kysely';
import { migrateToLatest } from '../../../control-plane/db/migrate.ts';
import { openDatabase } from '../../../control-plane/db/open.ts';
import { openPostgres } from '../../../control-plane/db/postgres.ts';
import { createTestDatabase } from '../../support/postgres.ts';

const keys = ['a-b', 'aa', 'B', 'a', 'Ä', 'a_b', 'Z', 'z'];

test('texts have the order of their bytes in a database of any locale', async () => {
  await using database = await createTestDatabase();
  const open = (url: string) =>
    openPostgres({ url, connections: 2, isPrepared: true, applicationName: 'monitor/test' });
  const server = open(database.url);
  const name = `test_${randomBytes(8).toString('hex')}`;
  await sql
    .raw(
      `create database ${name} template template0 locale_provider icu icu_locale 'sv-SE' locale 'C'`,
    )
    .execute(server);
  const postgres = open(Object.assign(new URL(database.url), { pathname: `/${name}` }).href);
  const sqlite = openDatabase(':memory:');
  const orders = [];
  try {
    for (const db of [postgres, sqlite]) {
      await migrateToLatest(db);
      await db.insertInto('accounts').values({ id: 'a', name: 'a', created_at: 0 }).execute();
      await db
        .insertInto('variables')
        .values(
          keys.map((key) => ({
            ...{ account_id: 'a', key, value: '', locked: 0, secret: 0 },
            ...{ created_at: 0, updated_at: null },
          })),
        )
        .execute();
      const rows = await db.selectFrom('variables').select('key').orderBy('key').execute();
      orders.push(rows.map(({ key }) => key));
    }
    assert.deepEqual(orders[0], orders[1]);
    assert.deepEqual(await migrateToLatest(postgres), []);
  } finally {
    await sqlite.destroy();
    await postgres.destroy();
    await sql.raw(`drop database ${name} with (force)`).execute(server);
    await server.destroy();
  }
});
