/** What is said before TLS begins in a connection that began without it. */
import type { Socket } from 'node:net';
import type { StartTls } from '@monitor/shared/contract/checks/ssl.ts';

/** The server did not begin TLS. */
export class StartTlsRefused extends Error {
  readonly code = 'STARTTLS_REFUSED';
}

interface Turn {
  /** Null waits for what the server says first. */
  says: string | Buffer | null;
  /** The length of the answer where it is whole and a yes, `no`, or `more`. Bytes are read as Latin-1. */
  answer: (text: string) => number | 'no' | 'more';
}

/** Answers with a code, alone or before a space on their last line. Lines between are any text. RFC 959, 4.2. */
function withCode(code: number, says: string | null): Turn {
  return {
    says: says === null ? null : `${says}\r\n`,
    answer(text) {
      const lines = text.split('\n').slice(0, -1);
      const [first] = lines;
      if (first === undefined) return 'more';
      if (!/^\d{3}(?:[ -]|\r?$)/.test(first)) return 'no';
      const isLast = (line: string): boolean =>
        line.startsWith(first.slice(0, 3)) && /^\d{3}(?: |\r?$)/.test(line);
      const last = lines.findIndex(isLast);
      if (last < 0) return 'more';
      const whole = lines.slice(0, last + 1).join('\n').length + 1;
      return Number(first.slice(0, 3)) === code ? whole : 'no';
    },
  };
}

/** Lines of IMAP that answer nothing, and may come at any time. RFC 3501, 7. */
const untagged = /^(?:\* [^\n]*\n)*/;

/** One line that begins so, behind those that `aside` leaves out. */
function withLine(begin: RegExp, says: string | null, aside = /^/): Turn {
  return {
    says: says === null ? null : `${says}\r\n`,
    answer(text) {
      const from = aside.exec(text)?.[0].length ?? 0;
      const end = text.indexOf('\n', from);
      if (end < 0) return 'more';
      return begin.test(text.slice(from)) ? end + 1 : 'no';
    },
  };
}

const stream = (host: string): string =>
  `<?xml version='1.0'?><stream:stream to='${host.replaceAll(/[^\w.:-]/g, '')}' version='1.0' xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>`;

/** An extended request with the object identifier of StartTLS. RFC 4511, 4.14. */
const ldapRequest = Buffer.from(
  `301d02010177188016${Buffer.from('1.3.6.1.4.1.1466.20037').toString('hex')}`,
  'hex',
);
/** Capabilities with `CLIENT_SSL`, the largest packet and a charset. */
const mysqlRequest = Buffer.concat([
  Buffer.from('2000000105ae03000000000121', 'hex'),
  Buffer.alloc(23),
]);

function turnsOf(protocol: StartTls, host: string): Turn[] {
  switch (protocol) {
    case 'SMTP':
      return [
        withCode(220, null),
        withCode(250, 'EHLO monitor-agent.invalid'),
        withCode(220, 'STARTTLS'),
      ];
    case 'FTP':
      return [withCode(220, null), withCode(234, 'AUTH TLS')];
    case 'POP3':
      return [withLine(/^\+OK/, null), withLine(/^\+OK/, 'STLS')];
    case 'IMAP':
      return [withLine(/^\* OK/i, null), withLine(/^a OK/i, 'a STARTTLS', untagged)];
    case 'XMPP':
      return [
        {
          says: stream(host),
          answer(text) {
            const last = /<\/stream:features>|<stream:features\s*\/>/.exec(text);
            if (last === null) return text.includes('</stream:stream>') ? 'no' : 'more';
            const isOffered = text.includes('urn:ietf:params:xml:ns:xmpp-tls');
            return isOffered ? last.index + last[0].length : 'no';
          },
        },
        {
          says: `<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>`,
          answer(text) {
            const end = text.indexOf('>');
            if (end < 0) return 'more';
            return text.startsWith('<proceed') ? end + 1 : 'no';
          },
        },
      ];
    case 'LDAP':
      return [
        {
          says: ldapRequest,
          answer(text) {
            const bytes = Buffer.from(text, 'latin1');
            const [, size = 0x80] = bytes;
            if (bytes.length < 2) return 'more';
            const isLong = size === 0x84;
            const head = isLong ? 6 : 2;
            if (bytes.length < head) return 'more';
            const whole = head + (isLong ? bytes.readUInt32BE(2) : size);
            if (size > 0x80 && !isLong) return 'no';
            if (bytes.length < whole) return 'more';
            // The code of its result, in an extended response to the message 1.
            return /^\x02\x01\x01\x78(?:\x84....|.)\x0a\x01\0/s.test(text.slice(head))
              ? whole
              : 'no';
          },
        },
      ];
    case 'POSTGRES':
      return [
        {
          says: Buffer.from('0000000804d2162f', 'hex'),
          answer: (text) => (text.startsWith('S') ? 1 : 'no'),
        },
      ];
    case 'MYSQL':
      return [
        {
          says: null,
          answer(text) {
            const bytes = Buffer.from(text, 'latin1');
            if (bytes.length < 5) return 'more';
            const whole = 4 + bytes.readUIntLE(0, 3);
            if (bytes[4] !== 0x0a) return 'no';
            if (bytes.length < whole) return 'more';
            // Behind the version: id of the connection, salt, filler; then the capabilities.
            const at = bytes.indexOf(0, 5) + 1 + 4 + 8 + 1;
            return at + 2 <= whole && (bytes.readUInt16LE(at) & 0x0800) !== 0 ? whole : 'no';
          },
        },
        { says: mysqlRequest, answer: () => 0 },
      ];
  }
}

const maxAnswerBytes = 65_536;

/** Resolves once the handshake may begin. Rejects with StartTlsRefused; errors of the socket are for its owner. */
export function startTls(socket: Socket, protocol: StartTls, host: string): Promise<void> {
  const turns = turnsOf(protocol, host);
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  let text = '';
  const end = (error: StartTlsRefused | null): void => {
    socket.removeListener('data', onData);
    if (error === null) resolve(undefined);
    else reject(error);
  };
  const next = (): void => {
    const [turn] = turns;
    if (turn === undefined) {
      // Nothing may be said without TLS that would be read as if it had come in it.
      end(
        text === '' ? null : new StartTlsRefused('the server said more before TLS than its answer'),
      );
      return;
    }
    if (turn.says !== null) socket.write(turn.says);
    judge(turn);
  };
  const judge = (turn: Turn): void => {
    const length = text === '' && turn.answer('') !== 0 ? 'more' : turn.answer(text);
    if (length === 'more') {
      if (text.length > maxAnswerBytes)
        end(new StartTlsRefused('the answer of the server has no end'));
      return;
    }
    if (length === 'no') {
      const said = /^[\x20-\x7e]*/.exec(text)?.[0].slice(0, 200) ?? '';
      const shown = said === '' ? '' : `: "${said}"`;
      end(new StartTlsRefused(`the server does not begin TLS by ${protocol}${shown}`));
      return;
    }
    text = text.slice(length);
    turns.shift();
    next();
  };
  const onData = (chunk: Buffer): void => {
    text += chunk.toString('latin1');
    const [turn] = turns;
    if (turn !== undefined) judge(turn);
  };
  socket.on('data', onData);
  next();
  return promise;
}
