// PostgreSQL only: it starts replicas.
/** Two replicas on one PostgreSQL and one S3 store. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { startControlPlane } from '../../control-plane/app/compose.ts';
import { findOrCreateAccount } from '../../control-plane/accounts/store.ts';
import { createApiKey, createLocationKey } from '../../control-plane/accounts/keys/store.ts';
import { readConfig } from '../../control-plane/core/config.ts';
import { pruneArtifacts } from '../../control-plane/results/prune-artifacts.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { startS3 } from '../support/s3.ts';

const gzip = Buffer.concat([Buffer.from([0x1f, 0x8b]), Buffer.from('a suite'.repeat(10_000))]);
const location = 'eu-west-1';

test('a bundle that comes in at one replica is handed out by another, and twice at once is one', async () => {
  await using database = await createTestDatabase();
  await using s3 = await startS3();
  const config = readConfig({
    ...s3.settings,
    ...{ PORT: '0', DATABASE_URL: database.url, PUBLIC_URL: 'http://monitor.example' },
    ENCRYPTION_KEY: 'k'.repeat(40),
  });
  const start = () => startControlPlane({ config, logger: pino({ level: 'silent' }) });
  // Both begin at the same moment, on a database without any rows.
  const [first, second] = await Promise.all([start(), start()]);
  await using stack = new AsyncDisposableStack();
  stack.use(first);
  stack.use(second);
  const { services } = first;
  const accountId = await findOrCreateAccount(services);
  assert.equal(
    services.ids.keyOf(accountId, location),
    second.services.ids.keyOf(accountId, location),
  );
  const { rawKey } = await createApiKey(services, accountId, { name: 'test' });
  const agentKey = (await createLocationKey(services, accountId, location, null)).rawKey;
  const call = async (
    url: string,
    path: string,
    key: string,
    body?: Buffer<ArrayBuffer> | string,
    type?: string,
  ) => {
    const response = await fetch(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, ...(type && { 'content-type': type }) },
      ...(body !== undefined && { body }),
    });
    return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
  };
  const uploads = await Promise.all(
    [first, second, first, second, first, second].map(({ url }) =>
      call(url, '/v1/code-bundles', rawKey, gzip),
    ),
  );
  assert.deepEqual(new Set(uploads.map(({ status }) => status)), new Set([201]));
  const { codeBundlePath } = JSON.parse(String(uploads[0]?.bytes)) as { codeBundlePath: string };
  const rows = await services.db.selectFrom('code_bundles').selectAll().execute();
  assert.equal(rows.length, 1);
  while (await pruneArtifacts(services, 86_400_000));
  const kept = await services.db.selectFrom('artifact_garbage').selectAll().execute();
  assert.deepEqual(kept, [], 'objects that lost are deleted');

  const made = await call(
    first.url,
    '/v1/checks/playwright',
    rawKey,
    JSON.stringify({ name: 'suite', codeBundlePath, locations: [location] }),
    'application/json',
  );
  assert.equal(made.status, 201, String(made.bytes));
  const { id } = JSON.parse(String(made.bytes)) as { id: string };
  for (const { url } of [first, second]) {
    const got = await call(url, `/v1/agent/code-bundles/${id}`, agentKey);
    assert.equal(got.status, 200, String(got.bytes));
    assert.deepEqual(got.bytes, gzip);
  }
});
