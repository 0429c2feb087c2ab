import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
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
  assert.deepEqual((await cp.api('GET', '/v1/client-certificates')).body, [made.body]);
  const { db, secrets } = cp.controlPlane.services;
  const [row] = await db.selectFrom('client_certificates').selectAll().execute();
  assert.equal(JSON.stringify(row).includes('PRIVATE KEY'), false);
  assert.equal(secrets.open(row?.key_sealed ?? '', cp.accountId), key);
  assert.throws(() => secrets.open(row?.key_sealed ?? '', 'another account'));
  assert.equal((await cp.api('DELETE', path)).status, 204);
  assert.equal((await cp.api('GET', path)).status, 404);
  assert.equal((await cp.api('DELETE', path)).status, 404);
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
    [{ host: 'a.*.internal' }, 'host'],
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
