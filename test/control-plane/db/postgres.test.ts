import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { sql, type Kysely } from 'kysely';
import { openPostgres, PostgresListener } from '../../../control-plane/db/postgres.ts';
import type { Database } from '../../../control-plane/db/tables.ts';
import { startPostgres } from '../../../scripts/cluster/postgres.ts';
import { selfSigned } from '../../support/certificates.ts';

const open = (url: string) =>
  openPostgres({ url, connections: 1, isPrepared: true, applicationName: 'monitor/test' });

async function using<T>(url: string, work: (db: Kysely<Database>) => Promise<T>): Promise<T> {
  const db = open(url);
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}

const isEncrypted = (url: string) =>
  using(url, async (db) => {
    const { rows } = await sql<{ ssl: boolean }>`
      select ssl from pg_stat_ssl where pid = pg_backend_pid()
    `.execute(db);
    return rows[0]?.ssl;
  });

test('sslmode means what libpq means, and no library warns', async (t) => {
  await using server = await startPostgres();
  const { key, cert } = await selfSigned({ host: 'localhost', validForDays: 30 });
  const { uid, gid } = statSync(server.dataFolder);
  for (const [name, content] of [
    ['server.key', key],
    ['server.crt', cert],
  ] as const) {
    writeFileSync(join(server.dataFolder, name), content, { mode: 0o600 });
    chownSync(join(server.dataFolder, name), uid, gid);
  }
  await server.query('alter system set ssl = on');
  await server.query('select pg_reload_conf()');
  const folder = mkdtempSync(join(tmpdir(), 'authority-'));
  t.after(() => {
    rmSync(folder, { recursive: true });
  });
  const authority = join(folder, 'authority.crt');
  writeFileSync(authority, cert);
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);

  const byAddress = server.url('postgres');
  const byName = byAddress.replace('127.0.0.1', 'localhost');
  // The reload reaches new connections a moment later.
  while ((await isEncrypted(`${byAddress}?sslmode=require`).catch(() => false)) !== true);
  assert.equal(await isEncrypted(byAddress), false);
  assert.equal(await isEncrypted(`${byAddress}?sslmode=disable`), false);
  const trusting = `sslrootcert=${authority}`;
  assert.equal(await isEncrypted(`${byAddress}?sslmode=verify-ca&${trusting}`), true);
  assert.equal(await isEncrypted(`${byName}?sslmode=verify-full&${trusting}`), true);
  for (const url of [
    `${byName}?sslmode=verify-full`,
    `${byName}?sslmode=verify-full&sslrootcert=system`,
    `${byAddress}?sslmode=verify-full&${trusting}`,
  ]) {
    await assert.rejects(isEncrypted(url), /certificate|altnames/i, url);
  }
  process.off('warning', note);
  assert.deepEqual(warnings, []);
});

/** Between a client and a server: names another process than that of the server, as poolers do. */
async function startPooler(port: number) {
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
    client.pipe(upstream);
    let begun = Buffer.alloc(0);
    let isAnnounced = false;
    upstream.on('data', (chunk) => {
      if (isAnnounced) return client.write(chunk);
      begun = Buffer.concat([begun, chunk]);
      // Type, length and content; `K` holds the number of the process.
      for (let at = 0; at + 5 <= begun.length; at += 1 + begun.readUInt32BE(at + 1)) {
        if (begun[at] !== 'K'.charCodeAt(0) || at + 9 > begun.length) continue;
        begun.writeUInt32BE(begun.readUInt32BE(at + 5) + 1, at + 5);
        isAnnounced = true;
        return client.write(begun);
      }
      return true;
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}

const limitOf = async (db: Kysely<Database>) => {
  const { rows } = await sql<{ limit: string }>`
    select current_setting('statement_timeout') as limit
  `.execute(db);
  return rows[0]?.limit;
};

test('behind a pooler the limits are those of a transaction, and no session is changed', async () => {
  await using server = await startPostgres();
  const direct = server.url('postgres');
  await using(direct, async (db) => {
    assert.equal(await limitOf(db), '30s');
    assert.equal(await db.transaction().execute(limitOf), '30s');
  });
  await using pooler = await startPooler(server.port);
  await using(direct.replace(String(server.port), String(pooler.port)), async (db) => {
    for (const expected of ['30s', '30s']) {
      assert.equal(await limitOf(db), '0');
      assert.equal(await db.transaction().execute(limitOf), expected);
      const reading = db
        .transaction()
        .setIsolationLevel('repeatable read')
        .setAccessMode('read only');
      assert.equal(await reading.execute(limitOf), expected);
    }
  });
});

test('a listener that is closed while it connects ends', async () => {
  await using server = await startPostgres();
  const url = server.url('postgres');
  await using(url, async (db) => {
    const listener = new PostgresListener(db, {
      ...{ url, applicationName: 'monitor/test' },
      onRefused: (error) => assert.fail(String(error)),
    });
    listener.listen(() => {});
    await listener[Symbol.asyncDispose]();
    const { rows } = await sql`
      select from pg_stat_activity where application_name = 'monitor/test' and pid <> pg_backend_pid()
    `.execute(db);
    assert.equal(rows.length, 0);
  });
});
