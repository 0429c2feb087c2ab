// Own process: what is trusted is read once in a process.
/** Servers in whose connections TLS begins later. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { getCACertificates, setDefaultCACertificates, TLSSocket } from 'node:tls';
import test from 'node:test';
import { runSsl } from '../../../agent/runners/ssl.ts';
import { runTcp } from '../../../agent/runners/tcp.ts';
import { makeAuthority, selfSigned } from '../../support/certificates.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { tcpServer } from '../../support/servers.ts';

/** What the server waits for, or what it says. */
type Turn = RegExp | string;

const greeting = (flags: string): string =>
  Buffer.concat([
    Buffer.from('0a', 'hex'),
    Buffer.from('8.0.33\0'),
    Buffer.alloc(4 + 8 + 1),
    Buffer.from(flags, 'hex'),
    Buffer.alloc(30),
  ]).toString('latin1');
const mysql = (flags: string): string =>
  `${String.fromCharCode(greeting(flags).length)}\0\0\0${greeting(flags)}`;
const features =
  "<stream:stream><stream:features><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/></stream:features>";

const rows: [protocol: string, refused: RegExp | null, ...turns: Turn[]][] = [
  [
    'SMTP',
    null,
    '220-mx\r\n220 mx ESMTP\r\n',
    /^EHLO \S+\r\n$/,
    '250-mx\r\n250-STARTTLS\r\n250 8BITMIME\r\n',
    /^STARTTLS\r\n$/,
    '220 go\r\n',
  ],
  [
    'SMTP',
    /does not begin TLS by SMTP: "502 no"/,
    '220 mx\r\n',
    /EHLO/,
    '250 mx\r\n',
    /STARTTLS/,
    '502 no\r\n',
  ],
  ['SMTP', null, '220\r\n', /EHLO/, '250\r\n', /STARTTLS/, '220\r\n'],
  ['FTP', null, '220-Welcome\r\n All transfers are logged.\r\n220 ready\r\n', /AUTH/, '234 go\r\n'],
  [
    'FTP',
    /does not begin TLS by FTP/,
    '220-Welcome\r\n All transfers are logged.\r\n220 ready\r\n',
    /AUTH/,
    '530-no\r\n234 go\r\n530 log in\r\n',
  ],
  ['IMAP', null, '* OK ready\r\n', /STARTTLS/, '* CAPABILITY IMAP4rev1\r\na OK go\r\n'],
  [
    'IMAP',
    /does not begin TLS by IMAP/,
    '* OK ready\r\n',
    /STARTTLS/,
    '* CAPABILITY IMAP4rev1\r\na NO\r\n',
  ],
  ['XMPP', /does not begin TLS by XMPP/, /stream:stream/, '<stream:stream><stream:features/>'],
  ['SMTP', /does not begin TLS by SMTP: "SSH-2.0-x"/, 'SSH-2.0-x\r\n'],
  [
    'SMTP',
    /more before TLS/,
    '220 mx\r\n',
    /EHLO/,
    '250 mx\r\n',
    /STARTTLS/,
    '220 go\r\n250 injected\r\n',
  ],
  ['FTP', null, '220 ready\r\n', /^AUTH TLS\r\n$/, '234 go\r\n'],
  ['FTP', /"530 log in"/, '220 ready\r\n', /AUTH/, '530 log in\r\n'],
  ['POP3', null, '+OK ready\r\n', /^STLS\r\n$/, '+OK go\r\n'],
  ['POP3', /"-ERR no"/, '+OK ready\r\n', /STLS/, '-ERR no\r\n'],
  ['IMAP', null, '* OK ready\r\n', /^a STARTTLS\r\n$/, 'a OK go\r\n'],
  ['IMAP', /"a BAD no"/, '* OK ready\r\n', /STARTTLS/, 'a BAD no\r\n'],
  [
    'XMPP',
    null,
    /^<\?xml.*to='localhost'/,
    features,
    /^<starttls /,
    "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>",
  ],
  ['XMPP', /XMPP/, /^<\?xml/, '<stream:stream><stream:features></stream:features>'],
  ['LDAP', null, /^0\x1d\x02\x01\x01w/, '0\x0c\x02\x01\x01x\x07\x0a\x01\0\x04\0\x04\0'],
  ['LDAP', /does not begin TLS by LDAP/, /^0/, '0\x0c\x02\x01\x01x\x07\x0a\x01\x02\x04\0\x04\0'],
  ['POSTGRES', null, /^\0\0\0\x08\x04\xd2\x16\x2f$/, 'S'],
  ['POSTGRES', /does not begin TLS by POSTGRES: "N"/, /^\0/, 'N'],
  ['POSTGRES', /more before TLS/, /^\0/, 'SX'],
  ['MYSQL', null, mysql('00ff'), /^ \0\0\x01/, ''],
  ['MYSQL', /does not begin TLS by MYSQL/, mysql('00f7')],
];

/** Speaks its turns, each answer in one piece or byte by byte, and then TLS. */
function serve(
  socket: Socket,
  turns: Turn[],
  isCut: boolean,
  secure: (socket: Socket) => void,
): void {
  const [turn, ...rest] = turns;
  if (turn === undefined) {
    secure(socket);
  } else if (typeof turn === 'string') {
    const pieces = isCut ? [...turn] : [turn];
    const next = (): void => {
      const piece = pieces.shift();
      if (piece === undefined) serve(socket, rest, isCut, secure);
      else socket.write(Buffer.from(piece, 'latin1'), () => setImmediate(next));
    };
    next();
  } else {
    socket.once('data', (data) => {
      assert.match(data.toString('latin1'), turn);
      // The client of MySQL waits for no answer before its hello.
      if (rest[0] === '') {
        socket.pause();
        if (data.length > 36) socket.unshift(data.subarray(36));
      }
      serve(socket, rest, isCut, secure);
    });
  }
}

// Before anything is verified: what is trusted is read once.
const authority = await makeAuthority('authority of these tests');
setDefaultCACertificates([...getCACertificates('default'), authority.cert]);
const pair = await authority.issue({ host: 'localhost', validForDays: 90 });

/** Speaks its turns and then TLS, in which each line is answered by itself. */
const openServer = (turns: Turn[], isCut = false, certificate = pair) =>
  tcpServer((socket) => {
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    serve(socket, turns, isCut, (plain) => {
      // As a stream, of which what was put back is read too.
      const stream = Duplex.from({ readable: plain, writable: plain });
      const secure = new TLSSocket(stream, { isServer: true, ...certificate });
      secure.on('error', () => undefined);
      secure.on('data', (data) => secure.write(`250 you said ${data.toString()}`));
    });
  });

const askTcp = (request: Record<string, unknown>, timeoutMs?: number) =>
  runTcp(definitionOf('TCP', { hostname: 'localhost', ...request }), runnerContext(timeoutMs));

for (const [protocol, refused, ...turns] of rows) {
  test(`StartTLS by ${protocol}: ${refused?.source ?? 'the certificate is read'}`, async () => {
    for (const isCut of [false, true]) {
      await using server = await openServer(turns, isCut);
      const config = { hostname: 'localhost', port: server.port, startTls: protocol };
      const { failure, response } = await runSsl(
        definitionOf('SSL', { sslConfig: { ...config, skipChainValidation: true } }),
        runnerContext(),
      );
      const tcp = await askTcp({ port: server.port, startTls: protocol });
      if (refused === null) {
        assert.equal(failure, null, `${isCut}`);
        assert.equal(response?.['daysUntilExpiry'], 89);
        assert.equal(tcp.failure, null, `${isCut}`);
        continue;
      }
      for (const failed of [failure, tcp.failure]) {
        // What follows byte by byte may come after the handshake has begun.
        if (isCut && /more/.test(refused.source)) assert.ok(failed !== null);
        else assert.match(failed?.message ?? 'passed', refused);
      }
    }
  });
}

const [[startTls, , ...smtp] = ['SMTP', null]] = rows;

test('a TCP monitor says and reads its data within TLS, and its time has the handshake in it', async () => {
  await using server = await openServer(smtp);
  const seen = await askTcp({
    ...{ port: server.port, startTls, data: 'NOOP\r\n' },
    assertions: [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: 'said NOOP' }],
  });
  assert.equal(seen.failure, null);
  assert.equal(seen.response?.['data'], '250 you said NOOP\r\n');
  const alone = await askTcp({ port: server.port, startTls });
  assert.ok(((alone.response?.['timingPhases'] ?? {}) as { data: number }).data > 0);
});

const failures: Record<
  string,
  { open: () => ReturnType<typeof openServer>; host?: string; code: string }
> = {
  'a certificate that is not trusted': {
    open: async () =>
      openServer(smtp, false, await selfSigned({ host: 'localhost', validForDays: 1 })),
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  },
  'a certificate of another host': {
    open: () => openServer(smtp),
    host: '127.0.0.1',
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  },
  'a server that closes in the middle': {
    open: () => tcpServer((socket) => socket.end('220 mx\r\n')),
    code: 'SOCKET_CLOSED',
  },
  'a server that says nothing': { open: () => tcpServer(() => undefined), code: 'SOCKET_TIMEOUT' },
};

for (const [what, { open, host = 'localhost', code }] of Object.entries(failures)) {
  test(`a TCP monitor fails before its data is sent: ${what}`, async () => {
    await using server = await open();
    const seen = await askTcp({ hostname: host, port: server.port, startTls }, 5_000);
    assert.deepEqual([seen.failure?.phase, seen.failure?.code], ['tls', code]);
  });
}
