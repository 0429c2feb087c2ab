import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp, isIP } from 'node:net';
import test from 'node:test';
import { connect, type PeerCertificate, type TLSSocket } from 'node:tls';
import { connectVerified } from '../../../../agent/net/tls/connect-verified.ts';
import { makeAuthority } from '../../../support/certificates.ts';
import { tlsServer } from '../../../support/servers.ts';

const certificates = [
  ['shop.example'],
  ['*.shop.example'],
  ['*.example'],
  ['f*.shop.example'],
  ['*oo.shop.example'],
  ['xn--bcher-kva.example'],
  ['10.0.0.1'],
  ['::1'],
  ['other.example', 'shop.example', '10.0.0.1'],
];
const hosts = [
  'shop.example',
  'SHOP.example',
  'shop.example.',
  'www.shop.example',
  'a.www.shop.example',
  'foo.shop.example',
  'xn--bcher-kva.example',
  'xn--foo.shop.example',
  'example',
  '10.0.0.1',
  '10.0.0.2',
  '::1',
];

interface Verdict {
  code: string;
  message: string;
  names: string | null;
}

/** Null for a connection. */
async function verdictOf(socket: TLSSocket): Promise<Verdict | null> {
  // Node hands the certificate out once.
  let serial: string | undefined;
  socket.once('secureConnect', () => {
    serial = socket.getPeerX509Certificate()?.serialNumber;
  });
  try {
    await once(socket, 'secureConnect');
    if (socket.authorized) assert.match(serial ?? '', /^[0-9A-F]+$/);
    return null;
  } catch (error) {
    const { code, message, cert } = error as Error & { code: string; cert?: PeerCertificate };
    return { code, message, names: cert?.subjectaltname ?? null };
  } finally {
    socket.destroy();
  }
}

test('a peer is accepted and refused as Node would, or as browsers where they are stricter, for every kind of name', async () => {
  const authority = await makeAuthority();
  const seen = { accepted: 0, refused: 0 };
  for (const [host = '', ...others] of certificates) {
    const { key, cert } = await authority.issue({ host, others, validForDays: 30 });
    await using server = await tlsServer({ key, cert });
    for (const asked of hosts) {
      const options = () => ({
        socket: connectTcp(server.port, '127.0.0.1'),
        ca: authority.cert,
        ...(isIP(asked) === 0 ? { servername: asked } : { host: asked }),
      });
      const [verdict, expected] = await Promise.all(
        [connectVerified(options()), connect(options())].map(verdictOf),
      );
      // Browsers take no star for a part of a label.
      const isPartial = /\*[^.]|[^.]\*/.test(host);
      const name = `${asked} at ${[host, ...others].join()}`;
      if (isPartial) assert.equal(verdict?.code, 'ERR_TLS_CERT_ALTNAME_INVALID', name);
      else assert.deepEqual(verdict, expected, name);
      seen[verdict === null ? 'accepted' : 'refused'] += 1;
    }
  }
  assert.ok(seen.accepted > 10 && seen.refused > 50, JSON.stringify(seen));
});

test('a peer whose authority is not trusted is refused', async () => {
  const [authority, other] = [await makeAuthority(), await makeAuthority('Another')];
  const { key, cert } = await authority.issue({ host: 'shop.example', validForDays: 30 });
  await using server = await tlsServer({ key, cert });
  const options = {
    ...{ port: server.port, host: '127.0.0.1', servername: 'shop.example', ca: other.cert },
  };
  const verdict = await verdictOf(connectVerified(options));
  assert.equal(verdict?.code, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE');
});
