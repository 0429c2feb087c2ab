/** Answers of HTTP/1 by kind: each deviation at several places and with each framing. `{n}` is unique to a request, `{host}` is the server. */
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';

export interface WireAnswer {
  readonly name: string;
  readonly bytes: Buffer;
  readonly end: 'close' | 'reset';
  readonly method: 'GET' | 'HEAD';
  /** As a page, which has a charset, and not as bytes. */
  readonly isPage: boolean;
}

type Table = Record<string, string>;

const answers: WireAnswer[] = [];
function add(name: string, bytes: string, further: Partial<WireAnswer> = {}): void {
  const raw = Buffer.from(bytes, 'latin1');
  answers.push({ ...{ name, bytes: raw, end: 'close', method: 'GET', isPage: false }, ...further });
}

const ok = 'HTTP/1.1 200 OK\r\n';
const latin = (bytes: Buffer): string => bytes.toString('latin1');
const chunks = (body: string): string =>
  body === '' ? '0\r\n\r\n' : `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const framings: Record<string, (body: string) => string> = {
  length: (body) => `Content-Length: ${body.length}\r\n\r\n${body}`,
  chunked: (body) => `Transfer-Encoding: chunked\r\n\r\n${chunks(body)}`,
  close: (body) => `\r\n${body}`,
};

const lines: Table = {
  'empty value': 'X-D:\r\n',
  'no space': 'X-D:d\r\n',
  'spaces around': 'X-D: \t d \t \r\n',
  'latin1 value': 'X-D: Z\xfcrich\r\n',
  'UTF-8 value': 'X-D: Z\xc3\xbcrich\r\n',
  'long value': `X-D: ${'d'.repeat(3_000)}\r\n`,
  'folded by space': 'X-D: d\r\n e\r\n',
  'folded by tab': 'X-D: d\r\n\te\r\n',
  'folded and empty': 'X-D: d\r\n \r\n',
  'space before the colon': 'X-D : d\r\n',
  'tab before the colon': 'X-D\t: d\r\n',
  'space in the name': 'X D: d\r\n',
  'bracket in the name': 'X(D): d\r\n',
  'latin1 name': 'X-\xdc: d\r\n',
  'control byte in the name': 'X\x01D: d\r\n',
  'no colon': 'nonsense\r\n',
  'no name': ': d\r\n',
  'name of objects': '__proto__: d\r\n',
  'same twice': 'X-D: d\r\nX-D: d\r\n',
  'different twice': 'X-D: d\r\nx-d: e\r\n',
  'bare line feed': 'X-D: d\n',
  'two carriage returns': 'X-D: d\r\r\n',
  'bare carriage return': 'X-D: d\re\r\n',
  'bare carriage return before a header': 'X-D: d\rX-E: e\r\n',
  'two types': 'Content-Type: text/plain\r\nContent-Type: text/html\r\n',
  'two dispositions': 'Content-Disposition: inline\r\nContent-Disposition: inline; a=b\r\n',
  'two servers': 'Server: a\r\nServer: b\r\n',
};
const plain = `
X-D: "a, b" | X-D: a, b; c=d | X-D: a:b:c | X-D:\t\td | X-D:  | X_D: d | x.d: d | 4711: d
X-${'n'.repeat(300)}: d | X/D: d | X"D: d | X=D: d | X-D: \xff\xfe | X-D: \xf0\x9f\x98\x80 | X-D: d\xa0
X-D: d\r\n e\r\n f | X-D: d\r\n e: f | X-D:\r\n  d | X-D: d \r\n\t \te  | X-D: d\n e | X\x7fD: d
Connection: close | Connection: keep-alive | Keep-Alive: timeout=5 | Proxy-Connection: close
Trailer: X-T | Upgrade: h2c | Connection: Upgrade | Alt-Svc: h3=":443" | Refresh: 0; url=/x
Link: </a>; rel=preload | X-Frame-Options: DENY | Content-Range: bytes 0-1/2 | Date: today | Expires: 0
Age: -1 | Vary: * | Retry-After: 5 | ETag: W/"a" | Content-Language: de
WWW-Authenticate: Basic realm="a" | Content-Type: nonsense | Content-Type: | Content-Type: TEXT/PLAIN
Set-Cookie: s=\x01 | Set-Cookie: s | Cache-Control: no-store\r\ncache-control: private
Pragma: no-cache | Warning: 199 - "a" | Content-Location: /else | Location: /else | Accept-Ranges: bytes
Strict-Transport-Security: max-age=9 | Content-MD5: x | Content-Disposition: inline | Via: 1.1 a
P3P: CP="a" | Set-Cookie2: a=1 | Public-Key-Pins: x | X-XSS-Protection: 1; mode=block
X-Powered-By: PHP/5.3\xa0
`;
for (const line of plain.trim().split(/ \| |\n(?! )/)) lines[line] = `${line}\r\n`;
for (const byte of [0x00, 0x01, 0x07, 0x0b, 0x0c, 0x1b, 0x7f]) {
  lines[`control byte ${byte}`] = `X-D: d${String.fromCharCode(byte)}e\r\n`;
}
for (const [name, line] of Object.entries(lines)) {
  for (const [framing, framed] of Object.entries(framings)) {
    const places: Table = {
      first: `${line}X-A: a\r\nX-B: b\r\n`,
      middle: `X-A: a\r\n${line}X-B: b\r\n`,
      last: `X-A: a\r\nX-B: b\r\n${line}`,
    };
    add(
      `header: ${name}, in an interim answer, ${framing}`,
      `HTTP/1.1 103 H\r\n${line}\r\n${ok}${framed('hi')}`,
    );
    for (const [place, head] of Object.entries(places)) {
      add(`header: ${name}, ${place}, ${framing}`, `${ok}${head}${framed('hi')}`);
    }
  }
}

const starts: Table = {
  'no phrase': 'HTTP/1.1 200\r\n',
  'no phrase but a space': 'HTTP/1.1 200 \r\n',
  'long phrase': `HTTP/1.1 200 ${'x'.repeat(2_000)}\r\n`,
  'latin1 phrase': 'HTTP/1.1 200 \xdc\r\n',
  'control byte in the phrase': 'HTTP/1.1 200 O\x01K\r\n',
  'two spaces': 'HTTP/1.1  200  OK\r\n',
  tab: 'HTTP/1.1\t200\tOK\r\n',
  'no space behind the code': 'HTTP/1.1 200OK\r\n',
  'code of two digits': 'HTTP/1.1 20 OK\r\n',
  'code of four digits': 'HTTP/1.1 2000 OK\r\n',
  'tab and code 500': 'HTTP/1.1\t500\tNo\r\n',
  'zero byte in the phrase': 'HTTP/1.1 200 O\0K\r\n',
  'code 000': 'HTTP/1.1 000 OK\r\n',
  'code 099': 'HTTP/1.1 099 OK\r\n',
  'code 299': 'HTTP/1.1 299 OK\r\n',
  'code 600': 'HTTP/1.1 600 OK\r\n',
  'code 999': 'HTTP/1.1 999 Denied\r\n',
  'negative code': 'HTTP/1.1 -200 OK\r\n',
  'no code': 'HTTP/1.1 OK\r\n',
  'nothing behind the version': 'HTTP/1.1\r\n',
  'lower case': 'http/1.1 200 ok\r\n',
  'HTTP/1.0': 'HTTP/1.0 200 OK\r\n',
  'HTTP/1.2': 'HTTP/1.2 200 OK\r\n',
  'HTTP/1': 'HTTP/1 200 OK\r\n',
  'HTTP/2': 'HTTP/2 200 OK\r\n',
  'HTTP/0.9': 'HTTP/0.9 200 OK\r\n',
  'HTTP/1.10': 'HTTP/1.10 200 OK\r\n',
  'HTTP/11.1': 'HTTP/11.1 200 OK\r\n',
  'HTTPS/1.1': 'HTTPS/1.1 200 OK\r\n',
  ICY: 'ICY 200 OK\r\n',
  'empty lines before': '\r\n\r\nHTTP/1.1 200 OK\r\n',
  'line feed before': '\nHTTP/1.1 200 OK\r\n',
  'space before': ' HTTP/1.1 200 OK\r\n',
  'byte order mark before': '\xef\xbb\xbfHTTP/1.1 200 OK\r\n',
  'five bytes before': 'abcdeHTTP/1.1 200 OK\r\n',
  'bare line feed': 'HTTP/1.1 200 OK\n',
  'other protocol': 'SSH-2.0-OpenSSH_9.6\r\n',
  mail: '220 mx ESMTP\r\n',
};
for (const [name, start] of Object.entries(starts)) {
  add(`start: ${name}`, `${start}X-A: a\r\nContent-Length: 2\r\n\r\nhi`);
}

const lineEnds = ['\r\n', '\n'];
for (const first of lineEnds) {
  for (const second of lineEnds) {
    for (const third of lineEnds) {
      for (const [framing, head, body] of [
        ['length', 'Content-Length: 2', 'hi'],
        ['close', 'X-A: a', 'hi'],
        ['chunked', 'Transfer-Encoding: chunked', `2${first}hi${second}0${third}${first}`],
      ]) {
        const name = JSON.stringify([first, second, third]);
        add(
          `line ends: ${name}, ${framing}`,
          `HTTP/1.1 200 OK${first}${head}${second}${third}${body}`,
        );
      }
    }
  }
}

const lengths: Table = {
  'leading zeros': '0002',
  plus: '+2',
  minus: '-2',
  hexadecimal: '0x2',
  decimal: '2.0',
  exponent: '2e0',
  'list of equals': '2, 2',
  'list of different': '2, 3',
  parameter: '2;x',
  'two numbers': '2 2',
  empty: '',
  word: 'two',
  twice: '2\r\nContent-Length: 2',
  'twice and different': '2\r\nContent-Length: 3',
  'twice and different in form': '2\r\nContent-Length: 02',
  'twice, one empty': '2\r\nContent-Length: ',
  'coding identity': '2\r\nTransfer-Encoding: identity',
  'space before the colon': '5\r\nContent-Length : 2',
};
for (const [name, value] of Object.entries(lengths)) {
  for (const [body, rest] of [
    ['exact', 'hi'],
    ['more', 'hi!!'],
    ['another answer', `hi${ok}\r\n`],
  ]) {
    add(`length: ${name}, ${body}`, `${ok}Content-Length: ${value}\r\n\r\n${rest}`);
  }
}
add('length: too large for a number', `${ok}Content-Length: 99999999999999999999\r\n\r\nhi`);

const codings: Table = {
  'upper case': 'CHUNKED',
  'twice in a list': 'chunked, chunked',
  twice: 'chunked\r\nTransfer-Encoding: chunked',
  'identity first': 'identity, chunked',
  'identity last': 'chunked, identity',
  'gzip behind': 'chunked, gzip',
  'gzip before': 'gzip, chunked',
  spaces: 'chunked \t',
  'no coding': '',
  'identity in a second header': 'chunked\r\nTransfer-Encoding: identity',
  'another name': 'xchunked',
  parameter: 'chunked;q=1',
  quotes: '"chunked"',
  'comma before': ', chunked',
  'comma behind': 'chunked,',
  'vertical tab before': '\x0bchunked',
  'length before': 'chunked\r\nContent-Length: 3',
  'length in a second header': 'chunked\r\nContent-Length: 3\r\nContent-Length: 4',
  folded: '\r\n chunked',
};
for (const [name, value] of Object.entries(codings)) {
  add(`coding: ${name}`, `${ok}Transfer-Encoding: ${value}\r\n\r\n${chunks('hi')}`);
}
add('coding: HTTP/1.0', `HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks('hi')}`);
add('coding: space before the colon', `${ok}Transfer-Encoding : chunked\r\n\r\n${chunks('hi')}`);

const bodies: Table = {
  'leading zeros': '0002\r\nhi\r\n0\r\n\r\n',
  'many leading zeros': `${'0'.repeat(40)}2\r\nhi\r\n0\r\n\r\n`,
  'upper case': 'A\r\n0123456789\r\n0\r\n\r\n',
  'space before': ' 2\r\nhi\r\n0\r\n\r\n',
  'space behind': '2 \r\nhi\r\n0\r\n\r\n',
  'tab behind': '2\t\r\nhi\r\n0\r\n\r\n',
  extension: '2;a=b\r\nhi\r\n0;c\r\n\r\n',
  'quoted extension': '2;a="b;c"\r\nhi\r\n0\r\n\r\n',
  'space before the extension': '2 ; a\r\nhi\r\n0\r\n\r\n',
  'control byte in the extension': '2;\x01\r\nhi\r\n0\r\n\r\n',
  'hexadecimal mark': '0x2\r\nhi\r\n0\r\n\r\n',
  plus: '+2\r\nhi\r\n0\r\n\r\n',
  minus: '-2\r\nhi\r\n0\r\n\r\n',
  'empty size': '\r\nhi\r\n0\r\n\r\n',
  word: 'zz\r\nhi\r\n0\r\n\r\n',
  'letters behind': '2zz\r\nhi\r\n0\r\n\r\n',
  'size of 2^64': '10000000000000000\r\nhi\r\n0\r\n\r\n',
  'line feeds': '2\nhi\n0\n\n',
  'line feed behind data': '2\r\nhi\n0\r\n\r\n',
  'nothing behind data': '2\r\nhi0\r\n\r\n',
  'carriage return alone behind data': '2\r\nhi\r0\r\n\r\n',
  'carriage return within the size': '2\rx\r\nhi\r\n0\r\n\r\n',
  'data too long': '2\r\nhix\r\n0\r\n\r\n',
  'data too short': '3\r\nhi\r\n0\r\n\r\n',
  'empty line before the size': '2\r\nhi\r\n\r\n0\r\n\r\n',
  several: '1\r\nh\r\n1\r\ni\r\n0\r\n\r\n',
  'last of zeros': '2\r\nhi\r\n0000\r\n\r\n',
  'no empty line': '2\r\nhi\r\n0\r\n',
  'no last chunk': '2\r\nhi\r\n',
  'half a last chunk': '2\r\nhi\r\n0',
  trailers: '2\r\nhi\r\n0\r\nX-T: t\r\n\r\n',
  'trailer without colon': '2\r\nhi\r\n0\r\nnonsense\r\n\r\n',
  'trailer with a control byte': '2\r\nhi\r\n0\r\nX-T: \x01\r\n\r\n',
  'trailer with a length': '2\r\nhi\r\n0\r\nContent-Length: 9\r\n\r\n',
  'second last chunk': '2\r\nhi\r\n0\r\n\r\n0\r\n\r\n',
  'bytes behind': '2\r\nhi\r\n0\r\n\r\nextra',
  'another answer behind': `2\r\nhi\r\n0\r\n\r\n${ok}\r\n`,
  nothing: '',
};
for (const [name, body] of Object.entries(bodies)) {
  add(`chunk: ${name}`, `${ok}Transfer-Encoding: chunked\r\n\r\n${body}`);
}

const statuses = `201 Created | 202 Accepted | 203 Non | 204 No Content | 205 Reset | 206 Partial | 226 IM |
300 Choices | 304 Not Modified | 400 Bad | 401 No | 403 No | 404 No | 405 No | 410 Gone | 416 No | 418 Tea |
421 Misdirected | 429 Many | 451 Law | 500 No | 502 Bad | 503 No | 504 Late | 520 Web | 599 X`;
for (const status of statuses.split(/ \|\s/)) {
  for (const [framing, framed] of Object.entries(framings)) {
    add(`status: ${status}, ${framing}`, `HTTP/1.1 ${status}\r\n${framed('null')}`);
  }
}
for (const [framing, framed] of Object.entries(framings)) {
  add(`status: HEAD, ${framing}`, `${ok}${framed('hi')}`, { method: 'HEAD' });
  const behind = framing === 'close' ? [] : ['extra', '\r\n', `${ok}${framed('no')}`, '\0'];
  for (const [index, more] of behind.entries()) {
    add(`behind: ${index}, ${framing}`, `${ok}${framed('hi')}${more}`);
    add(`behind: reset ${index}, ${framing}`, `${ok}${framed('hi')}${more}`, { end: 'reset' });
  }
  for (const end of ['close', 'reset'] as const) {
    const all = `${ok}${framed('0123456789')}`;
    for (const left of [9, 8, 5, 2, 1]) {
      add(`cut: ${end}, ${left} bytes missing, ${framing}`, all.slice(0, -left), { end });
    }
  }
}
for (const end of ['close', 'reset'] as const) {
  for (const at of [0, 3, 12, 17, 22, 27]) {
    add(`cut: ${end} at ${at} of the head`, `${ok}X-A: a\r\nX-B`.slice(0, at), { end });
  }
}
const interim: Table = {
  '100': 'HTTP/1.1 100 Continue\r\n\r\n',
  '103': 'HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n',
  '102 and 103': 'HTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 H\r\n\r\n',
  '199': 'HTTP/1.1 199 X\r\n\r\n',
  '100 with a length': 'HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n',
  '100 of HTTP/1.0': 'HTTP/1.0 100 Continue\r\n\r\n',
  '101': 'HTTP/1.1 101 Go\r\nUpgrade: x\r\n\r\n',
};
for (const [name, before] of Object.entries(interim)) {
  add(`interim: ${name}`, `${before}${ok}${framings['length']?.('hi') ?? ''}`);
}

const locations: Table = {
  absolute: 'http://{host}/{n}/y',
  path: '/{n}/y',
  relative: 'y',
  parent: '../{n}/z/./y',
  'no scheme': '//{host}/{n}/y',
  query: '?q',
  fragment: 'y#f',
  backslash: '\\{n}\\y',
  'tab within': '/{n}/\ty',
  'space within': '/{n}/a y',
  'spaces around': '  /{n}/y  ',
  'UTF-8': '/{n}/stra\xc3\x9fe',
  latin1: '/{n}/stra\xdfe',
  'UTF-8 in the query': '/{n}/y?a=\xc3\x9f',
  'percent alone': '/{n}/100%',
  'percent in lower case': '/{n}/%c3%9f',
  quote: '/{n}/"y"',
  brackets: '/{n}/[y]{z}|^`<>',
  'upper case': 'HTTP://{host}/{n}/y',
  'one slash': 'http:/{n}/y',
  'other scheme': 'ftp://{host}/y',
  script: 'javascript:1',
  'no host': 'http://',
  'port too large': 'http://127.0.0.1:99999/y',
  empty: '',
  twice: '/{n}/y\r\nLocation: /{n}/y',
  'twice and different': '/{n}/y\r\nLocation: /{n}/z',
  'empty and another': '\r\nLocation: /{n}/z',
  'control byte': '/{n}/y\x01z',
  folded: '\r\n /{n}/y',
};
for (const [name, value] of Object.entries(locations)) {
  add(`redirect: ${name}`, `HTTP/1.1 302 Found\r\nLocation: ${value}\r\nContent-Length: 0\r\n\r\n`);
}
for (const status of [300, 301, 303, 304, 305, 306, 307, 308, 310, 201]) {
  add(
    `redirect: status ${status}`,
    `HTTP/1.1 ${status} X\r\nLocation: y\r\nContent-Length: 0\r\n\r\n`,
  );
}
for (const end of ['close', 'reset'] as const) {
  add(
    `redirect: body cut by ${end}`,
    'HTTP/1.1 302 F\r\nLocation: y\r\nContent-Length: 9\r\n\r\nfoo',
    { end },
  );
}
add(
  'redirect: chunks that cannot be read',
  'HTTP/1.1 302 F\r\nLocation: y\r\nTransfer-Encoding: chunked\r\n\r\nzz',
);
add(
  'redirect: two lengths',
  'HTTP/1.1 302 F\r\nLocation: y\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
);

const cookies: Table = {
  plain: 'c{n}=1',
  'path of all': 'c{n}=1; Path=/',
  'path above': 'c{n}=1; Path=/{n}',
  'another path': 'c{n}=1; Path=/else',
  'path that begins alike': 'c{n}=1; Path=/{n}/yy',
  secure: 'c{n}=1; Secure',
  'for scripts': 'c{n}=1; HttpOnly; SameSite=Lax',
  over: 'c{n}=1; Max-Age=0',
  'age below zero': 'c{n}=1; Max-Age=-1',
  'age that is none': 'c{n}=1; Max-Age=x',
  expired: 'c{n}=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
  'expires with dashes': 'c{n}=1; Expires=Thu, 01-Jan-1970 00:00:00 GMT',
  'expires in two digits': 'c{n}=1; expires=Thu, 01-Jan-70 00:00:00 GMT',
  'expires that is none': 'c{n}=1; Expires=soon',
  domain: 'c{n}=1; Domain={name}',
  'domain with a dot': 'c{n}=1; Domain=.{name}',
  'domain of a part': 'c{n}=1; Domain=0.0.1',
  'domain that is empty': 'c{n}=1; Domain=',
  'no name': '=c{n}',
  nothing: '',
  semicolon: ';',
  'attributes alone': '; Path=/; c{n}',
  'as long as may be': `c{n}=${'x'.repeat(4_000)}`,
  'same site': 'c{n}=1; SameSite=Strict',
  'same site without secure': 'c{n}=1; SameSite=None',
  'prefix in capitals': '__HOST-c{n}=1; Path=/',
  'age over expires': 'c{n}=1; Max-Age=9; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
  'expires in years': 'c{n}=1; Expires=Wed, 01 Jan 2098 00:00:00 GMT',
  'two digits of a year': 'c{n}=1; Expires=Wed, 01-Jan-68 00:00:00 GMT',
  'expires of another order': 'c{n}=1; Expires=Thu Jan  1 00:00:00 1970',
  'domain of another': 'c{n}=1; Domain=example.com',
  twice: 'c{n}=1\r\nSet-Cookie: c{n}=2',
  two: 'c{n}a=1\r\nSet-Cookie: c{n}b=2',
  'two in a line': 'c{n}a=1, c{n}b=2',
  'taken back': 'c{n}=1\r\nSet-Cookie: c{n}=; Max-Age=0',
  'empty value': 'c{n}=',
  'no value': 'c{n}',
  quotes: 'c{n}="1 2"',
  'equals within': 'c{n}=a=b==',
  'spaces around': '  c{n} =  1  ',
  'control byte': 'c{n}=a\x01b',
  'tab within': 'c{n}=a\tb',
  'UTF-8': 'c{n}=\xc3\xbc',
  'prefix of hosts': '__Host-c{n}=1; Path=/',
  'prefix of hosts, secure': '__Host-c{n}=1; Path=/; Secure',
  'prefix of security': '__Secure-c{n}=1; Secure',
  'attributes in capitals': 'c{n}=1; PATH=/; MAX-AGE=9',
  'path twice': 'c{n}=1; Path=/else; Path=/',
  'path that is relative': 'c{n}=1; Path=else',
  'too long': `c{n}=${'x'.repeat(5_000)}`,
};
for (const [name, value] of Object.entries(cookies)) {
  add(
    `cookie: ${name}`,
    `HTTP/1.1 302 Found\r\nLocation: y\r\nSet-Cookie: ${value}\r\nContent-Length: 0\r\n\r\n`,
  );
}

const text = 'lorem ipsum '.repeat(20);
const packed: Record<string, Buffer> = {
  gzip: gzipSync(text),
  deflate: deflateSync(text),
  'deflate ': deflateRawSync(text),
  br: brotliCompressSync(text),
  zstd: zstdCompressSync(text),
  GZIP: gzipSync(text),
  'x-gzip': gzipSync(text),
  identity: Buffer.from(text),
  none: Buffer.from(text),
  'gzip, gzip': gzipSync(gzipSync(text)),
  'gzip, br': brotliCompressSync(gzipSync(text)),
  'br\r\nContent-Encoding: gzip': gzipSync(brotliCompressSync(text)),
};
for (const [encoding, data] of Object.entries(packed)) {
  for (const [framing, framed] of Object.entries(framings)) {
    const cases: Table = { whole: latin(data), empty: '' };
    if (/^(gzip|br|zstd|deflate)$/.test(encoding)) {
      cases['9 bytes missing'] = latin(data.subarray(0, -9));
      cases['bytes behind'] = `${latin(data)}\0\0x`;
      cases['plain text instead'] = text;
    }
    for (const [name, body] of Object.entries(cases)) {
      add(
        `encoding: ${encoding.trimEnd()}, ${name}, ${framing}`,
        `${ok}Content-Encoding: ${encoding}\r\n${framed(body)}`,
      );
    }
  }
}

const gbk = '\xd6\xd0\xce\xc4';
const pages: [type: string, body: string][] = [
  ['text/html', `<meta charset="gb2312"><p>${gbk}`],
  ['text/html', `<meta charset=gb2312><p>${gbk}`],
  ['text/html; charset=gb2312', `<p>${gbk}`],
  ['text/html; charset=utf-8', '<meta charset="gb2312"><p>\xc3\xa9'],
  ['text/html; charset="iso-8859-1"', '<p>\xe9\x80'],
  [`text/html; charset='iso-8859-1'`, '<p>\xe9'],
  ['text/html;charset=nonsense', '<meta charset="iso-8859-1"><p>\xe9'],
  [
    'text/html',
    '<meta http-equiv="Content-Type" content="text/html; charset=windows-1252"><p>\x80',
  ],
  ['text/html', '<!-- <meta charset="gb2312"> --><meta charset="utf-8"><p>\xc3\xa9'],
  ['text/html', '<meta charset="utf-16"><p>\xc3\xa9'],
  ['text/html', '\xef\xbb\xbf<meta charset="gb2312"><p>\xc3\xa9'],
  ['text/html; charset=gb2312', '\xef\xbb\xbf<p>\xc3\xa9'],
  ['text/html', latin(Buffer.from('\ufeff<p>é', 'utf16le'))],
  ['text/html', latin(Buffer.from('\ufeff<p>é', 'utf16le').swap16())],
  ['text/html; charset=utf-8', '<p>\xc3\xa9\xff'],
  ['text/html', '<script>"<meta charset=gb2312>"</script><meta charset="utf-8"><p>\xc3\xa9'],
  ['text/html; charset=shift_jis', '<p>\x93\xfa\x96{'],
  ['text/html; charset=koi8-r', '<p>\xcd\xc9\xd2'],
  ['text/html; a=b; charset=koi8-r; c=d', '<p>\xcd\xc9\xd2'],
  ['text/html\r\nContent-Type: text/html; charset=koi8-r', '<p>\xcd\xc9\xd2'],
  ['text/html; charset=koi8-r\r\nContent-Type: text/html', '<p>\xcd\xc9\xd2'],
  ['application/xml', '<?xml version="1.0" encoding="ISO-8859-1"?><a>\xe9</a>'],
  ['application/xml; charset=utf-8', '<?xml version="1.0" encoding="ISO-8859-1"?><a>\xc3\xa9</a>'],
  ['application/xml', '<?xml version="1.0"?><a>\xc3\xa9</a>'],
  ['application/json', latin(Buffer.from('\ufeff{"a":"é"}', 'utf16le'))],
  ['application/json', '{"a":"\xc3\xa9"}'],
  ['text/html', '<title><meta charset=gb2312></title><meta charset="utf-8"><p>\xc3\xa9'],
  ['text/html', `<META CHARSET = 'GBK'><p>${gbk}`],
  ['text/html', `${' '.repeat(900)}<meta charset=gbk><p>${gbk}`],
  ['text/html;charset=utf-8;charset=gbk', '<p>\xc3\xa9'],
  ['text/html;charset=', '<meta charset=gbk><p>\xd6\xd0'],
  ['text/html;charset=utf8', '<p>\xc3\xa9'],
  ['text/html;charset=latin1', '<p>\xe9'],
  ['text/html;charset=x-user-defined', '<p>a'],
  ['text/html;charset=big5', '<p>\xa4\xa4'],
  ['text/html;charset=euc-kr', '<p>\xc7\xd1'],
  ['text/html;charset=euc-jp', '<p>\xc6\xfc'],
  ['text/html;charset=iso-8859-15', '<p>\xa4'],
  ['text/html;charset=us-ascii', '<p>\x80'],
  ['text/html;charset=gb18030', '<p>\x81\x30\x84\x36'],
  ['text/html; charset = gbk', `<p>${gbk}`],
  ['text/plain; charset=windows-1251', '\xcc\xe8\xf0'],
  ['text/html;charset=utf-16be', '\0<\0p\0>\0i'],
];
for (const [index, [type, body]] of pages.entries()) {
  const bytes = `${ok}Content-Type: ${type}\r\n${framings['length']?.(body) ?? ''}`;
  add(`charset: ${index}, ${type.replace(/\r\n.*?:/, ' and')}`, bytes, { isPage: true });
}

for (const size of [8_000, 60_000, 70_000, 200_000, 300_000]) {
  add(
    `large: header of ${size} bytes`,
    `${ok}X-D: ${'d'.repeat(size)}\r\nContent-Length: 2\r\n\r\nhi`,
  );
}
for (const count of [100, 2_100]) {
  const many = Array.from({ length: count }, (_, index) => `X-${index}: d\r\n`).join('');
  add(`large: ${count} headers`, `${ok}${many}Content-Length: 2\r\n\r\nhi`);
}
add(
  'large: chunks of a byte',
  `${ok}Transfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(500)}0\r\n\r\n`,
);
add('large: body', `${ok}Content-Length: 50000\r\n\r\n${'x'.repeat(50_000)}`);

export const wireAnswers: readonly WireAnswer[] = answers;
