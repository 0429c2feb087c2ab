/** Failures of handshakes say what the server speaks, or what was offered in vain. */
import assert from 'node:assert/strict';
import type { TlsOptions } from 'node:tls';
import test, { suite } from 'node:test';
import { runApi } from '../../../../agent/runners/api.ts';
import { runGrpc } from '../../../../agent/runners/grpc.ts';
import { runSsl } from '../../../../agent/runners/ssl.ts';
import { runUrl } from '../../../../agent/runners/url.ts';
import { makeAuthority, selfSigned } from '../../../support/certificates.ts';
import { definitionOf, runnerContext } from '../../../support/runner-context.ts';
import { http2Server, httpServer, tcpServer, tlsServer } from '../../../support/servers.ts';

const by = {
  URL: (port: number) =>
    runUrl(definitionOf('URL', { url: `https://localhost:${port}/` }), runnerContext()),
  API: (port: number) =>
    runApi(
      definitionOf('API', { method: 'GET', url: `https://localhost:${port}/`, skipSSL: true }),
      runnerContext(),
    ),
  SSL: (port: number) =>
    runSsl(definitionOf('SSL', { sslConfig: { hostname: 'localhost', port } }), runnerContext()),
  GRPC: (port: number) => grpc(port, true),
};

function grpc(port: number, tls: boolean, further: object = {}) {
  const config = { mode: 'HEALTH', tls, ...further };
  return runGrpc(
    definitionOf('GRPC', { url: 'localhost', port, grpcConfig: config, assertions: [] }),
    runnerContext(),
  );
}

const greetings: [name: string, greeting: string | Buffer, said: RegExp][] = [
  ['SMTP', '220 mx.test ESMTP\r\n', /speaks SMTP \("220 mx.test ESMTP"\), not TLS, and .*StartTLS/],
  ['FTP', '220 FTP server ready\r\n', /speaks FTP/],
  ['either', '220 ready\r\n', /speaks SMTP or FTP/],
  ['POP3', '+OK ready\r\n', /speaks POP3/],
  ['IMAP', '* OK IMAP4rev1\r\n', /speaks IMAP/],
  ['SSH', 'SSH-2.0-OpenSSH_9.6\r\n', /speaks SSH \("SSH-2.0-OpenSSH_9.6"\), not TLS: localhost/],
  ['MySQL', Buffer.from('4a0000000a382e302e33360008', 'hex'), /speaks MySQL, not TLS, and/],
  ['a protocol of its own', 'WELCOME stranger\r\n', /another protocol \("WELCOME stranger"\)/],
  ['noise', Buffer.alloc(100, 0xa5), /wrong version number/],
];

suite('a server that does not speak TLS is called by what it speaks:', () => {
  for (const [name, greeting, said] of greetings) {
    test(name, async () => {
      await using server = await tcpServer((socket) => {
        socket.on('error', () => undefined);
        socket.write(greeting);
      });
      for (const [type, look] of Object.entries(by)) {
        const { failure } = await look(server.port);
        assert.match(failure?.message ?? 'passed', said, type);
        assert.match(failure?.code ?? '', /^(ERR_SSL_WRONG_VERSION_NUMBER|EPROTO)$/, type);
      }
    });
  }

  test('HTTP', async () => {
    await using server = await httpServer((_request, response) => response.end());
    for (const [type, look] of Object.entries(by)) {
      const { failure } = await look(server.port);
      assert.match(failure?.message ?? 'passed', /speaks HTTP\/1 without TLS \("HTTP/, type);
    }
    const { failure } = await grpc(server.port, false);
    assert.match(failure?.message ?? 'passed', /speaks HTTP\/1 .* which carries no gRPC/);
  });

  test('HTTP/2 without TLS', async () => {
    await using server = await http2Server((stream) => {
      stream.respond({ ':status': 200 }, { endStream: true });
    });
    const { failure } = await grpc(server.port, true);
    assert.match(failure?.message ?? 'passed', /speaks HTTP\/2 without TLS, not TLS/);
  });
});

test('a server of TLS that is called without it is called so', async () => {
  await using server = await tlsServer(await selfSigned({ host: 'localhost', validForDays: 9 }));
  const { failure } = await grpc(server.port, false);
  assert.match(failure?.message ?? 'passed', /speaks TLS: switch on `tls`/);
});

const choosy: [
  name: string,
  options: TlsOptions,
  said: Partial<Record<keyof typeof by, RegExp>>,
][] = [
  [
    'a cipher that nobody offers',
    { ciphers: 'CAMELLIA256-SHA:@SECLEVEL=0', maxVersion: 'TLSv1.2', minVersion: 'TLSv1.2' },
    {
      URL: /ciphers that were offered \(TLS 1\.3, 1\.2 with \d+ cipher suites of AES-GCM, ChaCha20, [A-Z, -]+AES-CBC\)/,
      GRPC: /ciphers/,
    },
  ],
  [
    'an old version alone',
    { ciphers: 'ALL:@SECLEVEL=0', maxVersion: 'TLSv1.1', minVersion: 'TLSv1' },
    { URL: /protocol version not supported .* offered \(TLS 1\.3, 1\.2/ },
  ],
  [
    'a client certificate',
    { requestCert: true, rejectUnauthorized: true, maxVersion: 'TLSv1.2' },
    { API: /wants a client certificate/ },
  ],
];

for (const [name, options, said] of choosy) {
  test(`a server that takes ${name} says what it did not get`, async () => {
    const pair = await (
      await makeAuthority()
    ).issue({ ...{ host: 'localhost', validForDays: 9, keyKind: 'rsa' as const } });
    await using server = await tlsServer({ ...pair, ...options });
    for (const [type, message] of Object.entries(said)) {
      const { failure } = await by[type as keyof typeof by](server.port);
      assert.match(failure?.message ?? 'passed', message, type);
    }
  });
}

test('a server without a certificate for the name may be what a failed handshake means', async () => {
  await using server = await tlsServer({});
  const { failure } = await by.URL(server.port);
  assert.match(failure?.message ?? '', /or has no certificate for localhost/);
});

test('a call that is reset by HTTP/2 says so, whatever else the server speaks', async () => {
  await using server = await tcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (asked) => {
      const isHttp2 = String(asked).startsWith('PRI ');
      if (!isHttp2) socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
      else {
        // Its settings, and the acknowledgement of the client's.
        socket.write(Buffer.from('000000040000000000000000040100000000', 'hex'));
        socket.once('data', () => socket.resetAndDestroy());
      }
    });
  });
  const { failure } = await grpc(server.port, false);
  assert.match(failure?.message ?? '', /reset|closed early/);
});
