// PostgreSQL in the long tier: resources.test.ts runs its statements on both.
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { selfSigned } from '../support/certificates.ts';
import { startTestControlPlane } from '../support/control-plane.ts';

test('a certificate is stored with its key, which never comes back', async () => {
  await using cp = await startTestControlPlane();
  const { cert, key } = await selfSigned({ host: 'a.internal', validForDays: 30 });
  const made = await cp.api('POST', '/v1/client-certificates', {
    host: '*.Internal.example',
    cert,
    key,
    ca: cert,
  });
  assert.equal(made.status, 201);
  assert.deepEqual(Object.keys(made.body).sort(), ['ca', 'cert', 'created_at', 'host', 'id']);
  assert.deepEqual([made.body.host, made.body.cert], ['*.internal.example', cert]);
  const path = `/v1/client-certificates/${made.body.id}`;
  assert.deepEqual((await cp.api('GET', path)).body, made.body);
  const { db, secrets } = cp.controlPlane.services;
  const [row] = await db.selectFrom('client_certificates').selectAll().execute();
  assert.equal(JSON.stringify(row).includes('PRIVATE KEY'), false);
  assert.equal(secrets.decrypt(row?.key_sealed ?? '', cp.accountId), key);
  assert.equal(row?.passphrase_sealed, null);
  // As a script sends it whose variable is empty: what agents are assigned can be decrypted.
  const empty = { host: 'b.internal', cert, key, passphrase: '' };
  const { id } = (await cp.api('POST', '/v1/client-certificates', empty)).body;
  const { passphrase_sealed: stored } = await db
    .selectFrom('client_certificates')
    .select('passphrase_sealed')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  assert.equal(secrets.decrypt(stored ?? '', cp.accountId), '');
  assert.throws(() => secrets.decrypt(row?.key_sealed ?? '', 'another account'));
});

test('an encrypted key needs its passphrase', async () => {
  await using cp = await startTestControlPlane();
  const { cert, key } = await selfSigned({ host: 'a.internal', validForDays: 30 });
  const encrypted = createPrivateKey(key).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'open sesame',
  });
  const body = { host: 'a.internal', cert, key: encrypted };
  const locked = await cp.api('POST', '/v1/client-certificates', body);
  assert.deepEqual([locked.status, locked.body.attributes.keys], [400, ['key']]);
  assert.match(locked.body.message, /is encrypted; give its "passphrase"/);
  const wrong = await cp.api('POST', '/v1/client-certificates', { ...body, passphrase: 'wrong' });
  assert.match(wrong.body.message, /"passphrase" is wrong/);
  const opened = await cp.api('POST', '/v1/client-certificates', {
    ...body,
    passphrase: 'open sesame',
  });
  assert.equal(opened.status, 201);
});

test('what can never work is refused, by field', async () => {
  await using cp = await startTestControlPlane();
  const one = await selfSigned({ host: 'a.internal', validForDays: 30 });
  const other = await selfSigned({ host: 'b.internal', validForDays: 30 });
  const good = { host: 'a.internal', ...one };
  for (const [fields, key] of [
    [{ host: 'https://a.internal' }, 'host'],
    [{ host: 'user@a.internal' }, 'host'],
    [{ cert: `${one.cert}\n${one.cert.replace(/M\w{9}/, 'x')}` }, 'cert'],
    [{ cert: `${other.cert}\n${one.cert}` }, 'key'],
    [{ cert: one.key }, 'cert'],
    [{ cert: one.cert.replaceAll('\n', ' ').replace(/M\w{9}/, 'x') }, 'cert'],
    [{ key: other.key }, 'key'],
    [{ ca: 'none' }, 'ca'],
  ] as const) {
    const { status, body } = await cp.api('POST', '/v1/client-certificates', {
      ...good,
      ...fields,
    });
    assert.deepEqual([status, body.attributes?.keys], [400, [key]]);
  }
});

test('hosts are patterns: stars anywhere, a port, an address', async () => {
  await using cp = await startTestControlPlane();
  const pair = await selfSigned({ host: 'a.internal', validForDays: 30 });
  for (const host of ['*', '*.a.internal', 'a.*.internal:8443', '10.0.0.*', '[::1]:8443']) {
    const { status } = await cp.api('POST', '/v1/client-certificates', { ...pair, host });
    assert.equal(status, 201, host);
  }
});

test('neither key nor passphrase is in any file of the control plane', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sealed-'));
  const { cert, key } = await selfSigned({ host: 'a.internal', validForDays: 30 });
  const passphrase = 'correct horse battery';
  const locked = createPrivateKey(key)
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase })
    .toString();
  {
    await using cp = await startTestControlPlane({ file: join(folder, 'cp.db') });
    const made = await cp.api('POST', '/v1/client-certificates', {
      ...{ host: 'a.internal', cert, key: locked, passphrase },
    });
    assert.equal(made.status, 201);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    const all = Buffer.concat(
      await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name)))),
    );
    assert.ok(all.includes(cert.split('\n')[1] ?? ''), 'the certificate itself is found');
    assert.equal(all.includes(locked.split('\n')[2] ?? ''), false);
    assert.equal(all.includes(passphrase), false);
  }
  await rm(folder, { recursive: true });
});
