/** Servers in whose connections TLS begins later. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import test from 'node:test';
import { runSsl } from '../../../../agent/runners/ssl.ts';
import { selfSigned } from '../../../support/certificates.ts';
import { definitionOf, runnerContext } from '../../../support/runner-context.ts';
import { tcpServer } from '../../../support/servers.ts';

type Turn = [awaits: RegExp | null, says: string];

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

const rows: [protocol: string, turns: Turn[], refused: RegExp | null][] = [
  [
    'SMTP',
    [
      [null, '220-mx\r\n220 mx ESMTP\r\n'],
      [/^EHLO \S+\r\n$/, '250-mx\r\n250-STARTTLS\r\n250 8BITMIME\r\n'],
      [/^STARTTLS\r\n$/, '220 go\r\n'],
    ],
    null,
  ],
  [
    'SMTP',
    [
      [null, '220 mx\r\n'],
      [/EHLO/, '250 mx\r\n'],
      [/STARTTLS/, '502 no\r\n'],
    ],
    /does not begin TLS by SMTP: "502 no"/,
  ],
  [
    'SMTP',
    [
      [null, '220\r\n'],
      [/EHLO/, '250\r\n'],
      [/STARTTLS/, '220\r\n'],
    ],
    null,
  ],
  [
    'FTP',
    [
      [null, '220-Welcome\r\n All transfers are logged.\r\n220 ready\r\n'],
      [/AUTH/, '234 go\r\n'],
    ],
    null,
  ],
  [
    'FTP',
    [
      [null, '220-Welcome\r\n All transfers are logged.\r\n220 ready\r\n'],
      [/AUTH/, '530-no\r\n234 go\r\n530 log in\r\n'],
    ],
    /does not begin TLS by FTP/,
  ],
  [
    'IMAP',
    [
      [null, '* OK ready\r\n'],
      [/STARTTLS/, '* CAPABILITY IMAP4rev1\r\na OK go\r\n'],
    ],
    null,
  ],
  [
    'IMAP',
    [
      [null, '* OK ready\r\n'],
      [/STARTTLS/, '* CAPABILITY IMAP4rev1\r\na NO\r\n'],
    ],
    /does not begin TLS by IMAP/,
  ],
  ['XMPP', [[/stream:stream/, '<stream:stream><stream:features/>']], /does not begin TLS by XMPP/],
  ['SMTP', [[null, 'SSH-2.0-x\r\n']], /does not begin TLS by SMTP: "SSH-2.0-x"/],
  [
    'SMTP',
    [
      [null, '220 mx\r\n'],
      [/EHLO/, '250 mx\r\n'],
      [/STARTTLS/, '220 go\r\n250 injected\r\n'],
    ],
    /more before TLS/,
  ],
  [
    'FTP',
    [
      [null, '220 ready\r\n'],
      [/^AUTH TLS\r\n$/, '234 go\r\n'],
    ],
    null,
  ],
  [
    'FTP',
    [
      [null, '220 ready\r\n'],
      [/AUTH/, '530 log in\r\n'],
    ],
    /"530 log in"/,
  ],
  [
    'POP3',
    [
      [null, '+OK ready\r\n'],
      [/^STLS\r\n$/, '+OK go\r\n'],
    ],
    null,
  ],
  [
    'POP3',
    [
      [null, '+OK ready\r\n'],
      [/STLS/, '-ERR no\r\n'],
    ],
    /"-ERR no"/,
  ],
  [
    'IMAP',
    [
      [null, '* OK ready\r\n'],
      [/^a STARTTLS\r\n$/, 'a OK go\r\n'],
    ],
    null,
  ],
  [
    'IMAP',
    [
      [null, '* OK ready\r\n'],
      [/STARTTLS/, 'a BAD no\r\n'],
    ],
    /"a BAD no"/,
  ],
  [
    'XMPP',
    [
      [/^<\?xml.*to='localhost'/, features],
      [/^<starttls /, "<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"],
    ],
    null,
  ],
  ['XMPP', [[/^<\?xml/, '<stream:stream><stream:features></stream:features>']], /XMPP/],
  ['LDAP', [[/^0\x1d\x02\x01\x01w/, '0\x0c\x02\x01\x01x\x07\x0a\x01\0\x04\0\x04\0']], null],
  [
    'LDAP',
    [[/^0/, '0\x0c\x02\x01\x01x\x07\x0a\x01\x02\x04\0\x04\0']],
    /does not begin TLS by LDAP/,
  ],
  ['POSTGRES', [[/^\0\0\0\x08\x04\xd2\x16\x2f$/, 'S']], null],
  ['POSTGRES', [[/^\0/, 'N']], /does not begin TLS by POSTGRES: "N"/],
  ['POSTGRES', [[/^\0/, 'SX']], /more before TLS/],
  [
    'MYSQL',
    [
      [null, mysql('00ff')],
      [/^ \0\0\x01/, ''],
    ],
    null,
  ],
  ['MYSQL', [[null, mysql('00f7')]], /does not begin TLS by MYSQL/],
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
    return;
  }
  const [awaits, says] = turn;
  const answer = (): void => {
    const pieces = isCut ? [...says] : [says];
    const next = (): void => {
      const piece = pieces.shift();
      if (piece === undefined) serve(socket, rest, isCut, secure);
      else socket.write(Buffer.from(piece, 'latin1'), () => setImmediate(next));
    };
    next();
  };
  if (awaits === null) answer();
  else {
    socket.once('data', (data) => {
      assert.match(data.toString('latin1'), awaits);
      // The client of MySQL waits for no answer before its hello.
      if (says === '') {
        socket.pause();
        if (data.length > 36) socket.unshift(data.subarray(36));
      }
      answer();
    });
  }
}

for (const [protocol, turns, refused] of rows) {
  test(`StartTLS by ${protocol}: ${refused?.source ?? 'the certificate is read'}`, async () => {
    const pair = await selfSigned({ host: 'localhost', validForDays: 90 });
    for (const isCut of [false, true]) {
      await using server = await tcpServer((socket) => {
        socket.setNoDelay(true);
        socket.on('error', () => undefined);
        serve(socket, turns, isCut, (plain) => {
          // As a stream, of which what was put back is read too.
          const stream = Duplex.from({ readable: plain, writable: plain });
          new TLSSocket(stream, { isServer: true, ...pair }).on('error', () => undefined);
        });
      });
      const config = { hostname: 'localhost', port: server.port, startTls: protocol };
      const { failure, response } = await runSsl(
        definitionOf('SSL', { sslConfig: { ...config, skipChainValidation: true } }),
        runnerContext(),
      );
      if (refused === null) {
        assert.equal(failure, null, `${isCut}`);
        assert.equal(response?.['daysUntilExpiry'], 89);
        continue;
      }
      // What follows byte by byte may come after the handshake has begun.
      if (isCut && /more/.test(refused.source)) assert.ok(failure !== null);
      else assert.match(failure?.message ?? 'passed', refused);
    }
  });
}
