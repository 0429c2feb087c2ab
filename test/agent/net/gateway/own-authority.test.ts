import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { checkServerIdentity, connect, TLSSocket } from 'node:tls';
import { makeOwnAuthority } from '../../../../agent/net/gateway/own-authority.ts';
import { tcpServer } from '../../../support/servers.ts';

const dayMs = 86_400_000;

/** What OpenSSL thinks of the certificate for a host, and for which names it is good. */
async function shown(host: string, authority = makeOwnAuthority('Test', () => Date.now())) {
  await using server = await tcpServer((socket) => {
    const secureContext = authority.contextFor(host);
    new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => undefined);
  });
  const socket = connect({
    ...{ port: server.port, host: '127.0.0.1', ca: authority.certificate },
    checkServerIdentity: () => undefined,
  });
  await once(socket, 'secureConnect');
  const peer = socket.getPeerCertificate();
  const isGoodFor = (name: string): boolean => checkServerIdentity(name, peer) === undefined;
  socket.destroy();
  return { peer, isGoodFor };
}

suite('a certificate of the gateway is good for its host and for no other', () => {
  for (const host of [
    'shop.internal',
    '10.1.2.3',
    '::1',
    '2001:db8::1',
    '2001:db8:1:2:3:4:5:6',
    `${'a'.repeat(60)}.${'b'.repeat(60)}.example`,
  ]) {
    test(host, async () => {
      const { isGoodFor } = await shown(host);
      assert.equal(isGoodFor(host), true);
      assert.equal(isGoodFor('other.internal'), false);
      assert.equal(isGoodFor('10.9.9.9'), false);
    });
  }
});

test('it is valid now, and made anew long before it ends', async () => {
  let now = Date.now() - 31 * dayMs;
  const authority = makeOwnAuthority('Test', () => now);
  const [first, again] = [authority.contextFor('a.example'), authority.contextFor('a.example')];
  assert.equal(first, again);
  now += 31 * dayMs;
  assert.notEqual(authority.contextFor('a.example'), first);
  const { peer } = await shown('a.example', authority);
  assert.ok(Date.parse(peer.valid_from) < now && Date.parse(peer.valid_to) > now + 60 * dayMs);
});

test('every process has a key of its own, named by the fingerprint browsers are given', () => {
  const [one, other] = [0, 1].map(() => makeOwnAuthority('Test', () => Date.now()));
  assert.notEqual(one?.fingerprint, other?.fingerprint);
  const certificate = new X509Certificate(one?.certificate ?? '');
  const key = certificate.publicKey.export({ type: 'spki', format: 'der' });
  assert.equal(createHash('sha256').update(key).digest('base64'), one?.fingerprint);
  assert.equal(certificate.ca, true);
  assert.equal(certificate.verify(certificate.publicKey), true);
});

test('dates after 2049 are written as the standard wants them', () => {
  const { certificate } = makeOwnAuthority('Test', () => Date.UTC(2048, 0, 1));
  const { validFrom, validTo } = new X509Certificate(certificate);
  assert.deepEqual([validFrom.slice(-8), validTo.slice(-8)], ['2047 GMT', '2057 GMT']);
});
