import assert from 'node:assert/strict';
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { suite, test, type TestContext } from 'node:test';
import type { TlsOptions } from 'node:tls';
import type { AssignedCertificate } from '@monitor/shared/contract/agent-protocol.ts';
import { secureContextOf } from '../../../../agent/net/tls/secure-context.ts';
import { runCheck } from '../../../support/api-check.ts';
import {
  makeAuthority,
  selfSigned,
  type KeyAndCertificate,
  type KeyKind,
} from '../../../support/certificates.ts';
import { mutualServer, type MutualServer } from '../../../support/mutual-server.ts';
import { tcpServer } from '../../../support/servers.ts';

const authority = await makeAuthority('Servers');
const clients = await makeAuthority('Clients');
const own = await authority.issue({ host: 'localhost', validForDays: 9 });

async function serverFor(t: TestContext, tls: TlsOptions = {}): Promise<MutualServer> {
  const server = await mutualServer({ own, accepts: clients, ...tls });
  t.after(() => server[Symbol.asyncDispose]());
  return server;
}

const stored = (
  pair: KeyAndCertificate,
  further: Partial<AssignedCertificate> = {},
): AssignedCertificate => ({
  ...{ host: 'localhost', ...pair, passphrase: null, ca: authority.cert },
  ...further,
});

const passphrase = 'correct horse';
const pem = (key: KeyObject, type: 'pkcs8' | 'pkcs1' | 'sec1', cipher?: string): string =>
  key
    .export(
      cipher === undefined
        ? { type: type as 'pkcs8', format: 'pem' }
        : { type: type as 'pkcs8', format: 'pem', cipher, passphrase },
    )
    .toString();

suite('a certificate is shown whatever its key is', () => {
  const kinds: [string, KeyKind, (key: KeyObject) => string][] = [
    ['EC, PKCS #8', 'ec', (key) => pem(key, 'pkcs8')],
    ['EC, SEC 1', 'ec', (key) => pem(key, 'sec1')],
    ['RSA, PKCS #1', 'rsa', (key) => pem(key, 'pkcs1')],
    ['Ed25519', 'ed25519', (key) => pem(key, 'pkcs8')],
    ['EC, PKCS #8, encrypted', 'ec', (key) => pem(key, 'pkcs8', 'aes-256-cbc')],
    ['EC, SEC 1, encrypted', 'ec', (key) => pem(key, 'sec1', 'aes-128-cbc')],
    ['RSA, PKCS #1, encrypted', 'rsa', (key) => pem(key, 'pkcs1', 'des-ede3-cbc')],
    ['Ed25519, encrypted', 'ed25519', (key) => pem(key, 'pkcs8', 'aes-256-cbc')],
  ];
  for (const [name, keyKind, encode] of kinds) {
    test(name, async (t) => {
      const { cert, key } = await clients.issue({ host: 'agent', validForDays: 9, keyKind });
      const encoded = encode(createPrivateKey(key));
      const isLocked = /ENCRYPTED/.test(encoded);
      assert.equal(isLocked, name.endsWith('encrypted'));
      const certificate = stored(
        { cert, key: encoded },
        { passphrase: isLocked ? passphrase : null },
      );
      for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
        const server = await serverFor(t, { maxVersion });
        const { failure } = await runCheck(
          { url: server.url },
          { clientCertificates: [certificate] },
        );
        assert.deepEqual([failure, server.seen], [null, ['agent']], maxVersion);
      }
    });
  }

  test('with the intermediates that lead to an authority the server knows', async (t) => {
    const below = await (await clients.intermediate('Department')).intermediate('Team');
    const server = await serverFor(t);
    const pair = await below.issue({ host: 'agent', validForDays: 9 });
    assert.equal(pair.cert.match(/BEGIN/g)?.length, 3);
    const seen = await runCheck({ url: server.url }, { clientCertificates: [stored(pair)] });
    assert.deepEqual([seen.failure, server.seen], [null, ['agent']]);
  });
});

suite('a certificate that cannot be used fails the check, and says why', () => {
  const rows: [string, (pair: KeyAndCertificate) => Promise<Partial<AssignedCertificate>>][] = [
    [
      'its key is encrypted, and it has no passphrase',
      ({ key }) => Promise.resolve({ key: pem(createPrivateKey(key), 'pkcs8', 'aes-256-cbc') }),
    ],
    [
      'its passphrase is wrong',
      ({ key }) =>
        Promise.resolve({
          key: pem(createPrivateKey(key), 'sec1', 'aes-256-cbc'),
          passphrase: 'incorrect horse',
        }),
    ],
    [
      'its key belongs to another certificate',
      async () => ({ key: (await selfSigned({ host: 'x', validForDays: 9 })).key }),
    ],
    [
      // OpenSSL itself takes the two, and shows neither.
      'its key belongs to another certificate',
      async () => ({
        key: (await clients.issue({ host: 'x', validForDays: 9, keyKind: 'rsa' })).key,
      }),
    ],
    [
      'its key is damaged, or of a kind',
      ({ key }) => Promise.resolve({ key: `${key.slice(0, 90)}\n-----END PRIVATE KEY-----` }),
    ],
  ];
  for (const [why, change] of rows) {
    test(why, async (t) => {
      const server = await serverFor(t);
      const pair = await clients.issue({ host: 'agent', validForDays: 9 });
      const clientCertificates = [stored(pair, await change(pair))];
      const { failure } = await runCheck({ url: server.url }, { clientCertificates });
      assert.equal(failure?.code, 'CLIENT_CERTIFICATE_UNUSABLE');
      const wanted = `the client certificate for localhost cannot be used: ${why}`;
      assert.equal(failure.message.slice(0, wanted.length), wanted);
      assert.doesNotMatch(failure.message, /BEGIN|horse/);
    });
  }
});

test('a wrong passphrase is never called a damaged key alone', async () => {
  const pair = await clients.issue({ host: 'agent', validForDays: 9 });
  const key = pem(createPrivateKey(pair.key), 'sec1', 'aes-256-cbc');
  const said = new Set<string>();
  // By one of some hundred the key looks decrypted.
  for (let index = 0; said.size < 2 && index < 20_000; index += 1) {
    const identity = { cert: pair.cert, key, passphrase: `wrong ${index}`, ca: null };
    assert.throws(
      () => secureContextOf(identity),
      (error: Error) => Boolean(said.add(error.message)),
    );
  }
  assert.equal(said.size, 2);
  for (const reason of said) assert.match(reason, /^its passphrase is wrong/);
});

suite('a server that does not accept the certificate is told apart', () => {
  const names = /the client certificate \(the one stored for localhost\)/;

  /** Answers the first bytes of a handshake with an alert. */
  const alerting = (description: number) =>
    tcpServer((socket) => {
      socket.once('data', () => socket.end(Buffer.from([21, 3, 3, 0, 2, 2, description])));
    });
  const alerts: [number, RegExp][] = [
    [42, /did not accept .*: it calls it bad/],
    [43, /did not accept .*: it does not support its kind/],
    [44, /did not accept .*: it says it was revoked/],
    [45, /did not accept .*: it says it has expired/],
    [46, /did not accept .*: it gives no reason/],
    [48, /did not accept .*: it does not know the authority that signed it/],
    [49, /did not accept .*: it denies access/],
  ];
  for (const [description, message] of alerts) {
    test(`by alert ${description}`, async () => {
      await using server = await alerting(description);
      const pair = await clients.issue({ host: 'agent', validForDays: 9 });
      const url = `https://localhost:${server.port}`;
      const shown = await runCheck({ url }, { clientCertificates: [stored(pair)] });
      assert.equal(shown.failure?.phase, 'tls');
      assert.match(shown.failure.message, message);
      assert.match(shown.failure.message, names);
      const none = await runCheck({ url });
      assert.match(none.failure?.message ?? '', /wants a client certificate, and none is stored/);
    });
  }

  test('by ending the connection, during the handshake and after it', async (t) => {
    const strangers = await makeAuthority('Strangers');
    const pair = await strangers.issue({ host: 'agent', validForDays: 9 });
    for (const [maxVersion, when] of [
      ['TLSv1.2', /closed the connection during the TLS handshake; it may not accept/],
      ['TLSv1.3', /closed the connection right after the TLS handshake; it may not accept/],
    ] as const) {
      const server = await serverFor(t, { maxVersion, rejectUnauthorized: true });
      const { failure } = await runCheck(
        { url: server.url },
        { clientCertificates: [stored(pair)] },
      );
      assert.match(failure?.message ?? '', when);
      assert.match(failure?.message ?? '', names);
      assert.equal(failure?.phase, 'tls');
      assert.equal(failure.isNetworkError, true);
    }
  });

  test('what is refused before it could be shown has nothing to do with it', async () => {
    const pair = await clients.issue({ host: 'agent', validForDays: 9 });
    for (const [description, name] of [
      [40, 'handshake failure'],
      [70, 'protocol version not supported'],
    ] as const) {
      await using server = await alerting(description);
      const { failure } = await runCheck(
        { url: `https://localhost:${server.port}` },
        { clientCertificates: [stored(pair)] },
      );
      const said = `ended the TLS handshake: ${name} \\(SSL alert number ${description}\\); it takes none of the versions .*: localhost`;
      assert.match(failure?.message ?? '', new RegExp(said));
      assert.doesNotMatch(failure?.message ?? '', /client certificate/);
    }
  });
});
