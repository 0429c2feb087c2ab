import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { migrateToLatest } from '../../../../control-plane/db/migrate.ts';
import { openDatabase } from '../../../../control-plane/db/open.ts';
import { sha256Hex } from '../../../../control-plane/core/keys.ts';
import { findOrCreateAccount } from '../../../../control-plane/accounts/store.ts';
import {
  createApiKey,
  createLocationKey,
  KeyStore,
  rememberKeysMs,
  revokeKey,
} from '../../../../control-plane/accounts/keys/store.ts';
import { TestClock } from '../../../support/test-clock.ts';

test('what another process does to a key counts once the key has been remembered long enough', async () => {
  const clock = new TestClock(Date.UTC(2026, 0, 1));
  const db = openDatabase(':memory:');
  await migrateToLatest(db);
  const deps = { db, clock, newId: randomUUID };
  const accountId = await findOrCreateAccount(deps);
  const api = await createApiKey(deps, accountId, { name: 'test' });
  const location = await createLocationKey(deps, accountId, 'eu-central-1', null);
  const store = new KeyStore(db, clock);
  const isKnown = async () => [
    (await store.findApiKey(sha256Hex(api.rawKey))) !== undefined,
    (await store.findLocationKey(sha256Hex(location.rawKey))) !== undefined,
  ];
  assert.deepEqual(await isKnown(), [true, true]);
  assert.equal(await revokeKey(deps, api.id), 'revoked');
  await db.deleteFrom('location_keys').where('id', '=', location.id).execute();
  clock.advance(rememberKeysMs - 1);
  assert.deepEqual(await isKnown(), [true, true]);
  clock.advance(1);
  assert.deepEqual(await isKnown(), [false, false]);
  await db.destroy();
});

test('a key that is looked up while another is revoked is not remembered', async () => {
  const clock = new TestClock(Date.UTC(2026, 0, 1));
  const db = openDatabase(':memory:');
  await migrateToLatest(db);
  const deps = { db, clock, newId: randomUUID };
  const accountId = await findOrCreateAccount(deps);
  const { id, rawKey } = await createApiKey(deps, accountId, { name: 'test' });
  const store = new KeyStore(db, clock);
  const looking = store.findApiKey(sha256Hex(rawKey));
  store.forget();
  assert.ok((await looking) !== undefined);
  await revokeKey(deps, id);
  assert.equal(await store.findApiKey(sha256Hex(rawKey)), undefined);
  await db.destroy();
});
