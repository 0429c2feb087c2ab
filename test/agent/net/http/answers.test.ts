/** Answers as servers send them: what browsers read is read, and said; the cut of the bytes decides nothing. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import test, { suite } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { runApi } from '../../../../agent/runners/api.ts';
import { verdictOn } from '../../../support/api-check.ts';
import { definitionOf, runnerContext } from '../../../support/runner-context.ts';
import { tcpServer } from '../../../support/servers.ts';

type Row = [
  name: string,
  answer: string,
  /** The body of a success, or the message of a failure. */
  outcome: string | RegExp,
  logged?: RegExp | null,
  method?: string,
];

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
const hi = 'Content-Length: 2\r\n\r\nhi';
const rows: Row[] = [
  ['a proper answer', `${ok}${hi}`, 'hi'],
  ['interim answers', `HTTP/1.1 103 Hints\r\nX: y\r\n\r\n${ok}${hi}`, 'hi'],
  ['bare line feeds', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nhi', 'hi', /bare line feed/],
  [
    'chunks with bare line feeds',
    'HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n',
    'hi',
    /bare/,
  ],
  [
    'a control byte',
    `${ok}A: b\r\nC: d\r\nSet-Cookie: incap=\x01abc\r\n${hi}`,
    'hi',
    /header 3, `Set-Cookie`, has the control byte 0x01/,
  ],
  ['a header of a name that objects have', `${ok}__proto__: a\r\nconstructor: b\r\n${hi}`, 'hi'],
  [
    'two different types',
    `${ok}Content-Type: text/plain\r\nContent-Type: text/html\r\n${hi}`,
    'hi',
    /`Content-Type` is there with different values/,
  ],
  [
    'the same type twice',
    `${ok}Content-Type: text/plain\r\nContent-Type: text/plain\r\n${hi}`,
    'hi',
  ],
  ['a zero byte', `${ok}A: b\0c\r\n${hi}`, /line 1 .* has a zero byte/],
  ['a folded header', `${ok}X-A: a\r\n b\r\n${hi}`, 'hi', /header 1, `X-A`, is folded/],
  [
    'a space before the colon',
    `${ok}Server : x\r\n${hi}`,
    'hi',
    /`Server`, has a space before the colon/,
  ],
  ['a space in a name', `${ok}X-Powered By: php\r\n${hi}`, 'hi', /the byte 0x20 in its name/],
  ['a header without a colon', `${ok}nonsense\r\n${hi}`, 'hi', /line 1 of the headers/],
  ['two equal lengths', `${ok}Content-Length: 2\r\n${hi}`, 'hi', /more than once/],
  ['two different lengths', `${ok}Content-Length: 3\r\n${hi}`, /`Content-Length` is 3 and 2/],
  [
    'two different lengths beside a coding that is no chunked',
    `${ok}Transfer-Encoding: identity\r\nContent-Length: 3\r\n${hi}`,
    /`Content-Length` is 3 and 2/,
  ],
  [
    'a length beside chunks',
    `${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    'hi',
    /beside/,
  ],
  ['a space behind the size of a chunk', `${chunked}2 \r\nhi\r\n0\r\n\r\n`, 'hi', /space/],
  ['trailers', `${chunked}2;x=y\r\nhi\r\n0\r\nX: y\r\n\r\n`, 'hi'],
  ['a chunk without size', `${chunked}zz\r\nhi`, /HPE_INVALID_CHUNK_SIZE/],
  ['a chunk that is too long', `${chunked}2\r\nhix\r\n0\r\n\r\n`, /longer than its size/],
  ['204 with a body', 'HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nnull', ''],
  ['304 with a body', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nnull', ''],
  ['HEAD with a body', `${ok}${hi}`, '', null, 'HEAD'],
  ['bytes behind the length', `${ok}${hi}extra`, 'hi'],
  ['the same with a closed connection', `${ok}Connection: close\r\n${hi}extra`, 'hi'],
  ['another answer', `${ok}${hi}HTTP/1.1 500 No\r\n\r\n`, 'hi'],
  ['a second last chunk', `${chunked}2\r\nhi\r\n0\r\n\r\n0\r\n\r\n`, 'hi'],
  ['no length', `${ok}\r\nhi`, 'hi'],
  ['a length that is none', `${ok}Content-Length: two\r\n\r\nhi`, 'hi', /no number/],
  ['no phrase', `HTTP/1.1 200\r\n${hi}`, 'hi'],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nhi', 'hi'],
  [
    'less than the length',
    `${ok}Content-Length: 1000\r\n\r\nhi`,
    /the body ended after 2 of 1000 bytes/,
  ],
  ['no last chunk', `${chunked}2\r\nhi\r\n`, /the body ended after 2 bytes/],
  ['no answer', '', /closed early/],
  ['half a head', 'HTTP/1.1 200 OK\r\nX', /closed early/],
  ['HTTP/2', '\0\0\x0c\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\x04\0\0\xff\xff', /speaks HTTP\/2 only/],
  ['a short line that is not HTTP', 'ab\ncdefghijkl', /HPE_INVALID_CONSTANT/],
  ['a few bytes that are not HTTP', 'ab', /HPE_INVALID_CONSTANT/],
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n', /not HTTP, but SSH:/],
  ['mail', '220 mx ESMTP\r\n', /not HTTP, but SMTP or FTP:/],
  ['an alert of TLS', '\x15\x03\x01\0\x02\x02\x0a', /not HTTP, but TLS:/],
  ['a page alone', '<html><p>a page</html>', /the answer is not HTTP:/],
  [
    'an upgrade that nobody asked for',
    'HTTP/1.1 101 Go\r\nUpgrade: x\r\n\r\n',
    /which nobody asked for/,
  ],
  [
    'bare carriage returns',
    `${ok}A: b\rContent-Length: 2\r\nC: d\r\r\n\r\nhi`,
    'hi',
    /bare carriage return/,
  ],
  ['205 with a body', `HTTP/1.1 205 Reset\r\n${hi}`, ''],
  ['a version of several digits', `HTTP/1.10 200 OK\r\n${hi}`, 'hi'],
  ['tabs in the status line', `HTTP/1.1\t200\tOK\r\n${hi}`, 'hi'],
  ['four bytes before it', `\xef\xbb\xbf ${ok}${hi}`, 'hi', /4 bytes stand before/],
  ['five bytes before it', `abcde${ok}${hi}`, /HPE_INVALID_CONSTANT/],
  ['no status code', `HTTP/1.1 OK\r\n${hi}`, /no status code of three/],
  ['a code of four digits', `HTTP/1.1 2000 OK\r\n${hi}`, /no status code/],
  ['a zero byte in the phrase', `HTTP/1.1 200 \0\r\n${hi}`, /status line/],
  [
    'two different places',
    `HTTP/1.1 302 Found\r\nLocation: /a\r\nlocation: /b\r\n${hi}`,
    /`Location` is "\/a" and "\/b"/,
  ],
  [
    'the same disposition twice',
    `${ok}Content-Disposition: inline\r\nContent-Disposition:inline\r\n${hi}`,
    'hi',
  ],
  [
    'chunks named before another coding',
    `${ok}Transfer-Encoding: chunked, identity\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    'hi',
  ],
  [
    'a coding that looks like chunks',
    `${ok}Transfer-Encoding: \x0bchunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    '2\r\nhi\r\n0\r\n\r\n',
    /0x0b/,
  ],
  ['a size of many zeros', `${chunked}${'0'.repeat(40)}2\r\nhi\r\n0\r\n\r\n`, 'hi'],
  ['a space before the size', `${chunked} 2\r\nhi\r\n0\r\n\r\n`, /CHUNK_SIZE/],
  ['302 to nowhere', `HTTP/1.1 302 Found\r\nLocation: \r\n${hi}`, 'hi'],
];

const whole = (bytes: Buffer): Buffer[] => [bytes];
const single = (bytes: Buffer): Buffer[] => [...bytes].map((byte) => Buffer.from([byte]));
/** The same cuts in each run. */
const uneven = (bytes: Buffer): Buffer[] => {
  const pieces: Buffer[] = [];
  for (let at = 0, size = 1; at < bytes.length; at += size, size = ((size * 7) % 11) + 1) {
    pieces.push(bytes.subarray(at, at + size));
  }
  return pieces;
};

/** Each piece goes out on its own, after the one before. */
function sendPieces(socket: Socket, [first, ...rest]: Buffer[]): void {
  if (first === undefined) socket.end();
  else socket.write(first, () => setImmediate(sendPieces, socket, rest));
}

/** What a check makes of bytes that are sent as they are, in these pieces. */
async function seenOf(
  sent: string | Buffer,
  cut: (bytes: Buffer) => Buffer[] = whole,
  request: object = {},
) {
  await using server = await tcpServer((socket) => {
    socket.setNoDelay(true);
    socket.once('data', () => {
      sendPieces(socket, cut(typeof sent === 'string' ? Buffer.from(sent, 'latin1') : sent));
    });
  });
  const context = runnerContext();
  const url = `http://127.0.0.1:${server.port}/`;
  const seen = await runApi(definitionOf('API', { method: 'GET', url, ...request }), context);
  return { seen, logged: context.logged, body: seen.response?.['body'] };
}

suite('an answer with', () => {
  for (const [name, answer, outcome, wanted, method = 'GET'] of rows) {
    test(name, async () => {
      for (const cut of [whole, single, uneven]) {
        const { seen, body, logged } = await seenOf(answer, cut, { method });
        if (typeof outcome === 'string') {
          assert.deepEqual([seen.failure, body], [null, outcome], cut.name);
        } else assert.match(seen.failure?.message ?? 'passed', outcome, cut.name);
        if (wanted === undefined || wanted === null) assert.deepEqual(logged, [], cut.name);
        else assert.match(logged.join('\n'), wanted, cut.name);
      }
    });
  }
});

test('a header that is written oddly is a header all the same', async () => {
  const head = `${ok}Server : x\r\nX-Powered By: php\r\n${hi}`;
  const { response } = (await seenOf(head)).seen;
  const headers = { server: 'x', 'x-powered by': 'php', 'content-length': '2' };
  assert.deepEqual(response?.['headers'], headers);
});

const gbk = Buffer.from([0xd6, 0xd0, 0xce, 0xc4]);
const utf16 = Buffer.from('\ufeff{"a":"é"}', 'utf16le');
const pages: [type: string | null, body: Buffer, expected: RegExp][] = [
  ['text/html', Buffer.concat([Buffer.from('<meta charset="gb2312">'), gbk]), /中文/],
  ['text/html;charset=utf-8', Buffer.from('<meta charset="gb2312">é'), /é/],
  [
    'text/html',
    Buffer.from(
      '<meta http-equiv="Content-Type" content="text/html; charset=windows-1252">\x80',
      'latin1',
    ),
    /€/,
  ],
  [
    'application/xml',
    Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?>\xe9', 'latin1'),
    /é/,
  ],
  ['application/json', utf16, /^\{"a":"é"\}$/],
  [`text/plain; charset='iso-8859-1'`, Buffer.from('\xe9', 'latin1'), /^é$/],
  ['text/plain', Buffer.from('<meta charset="gb2312">é'), /é/],
  ['text/html; charset=nonsense', Buffer.from('<meta charset="latin1">\xe9', 'latin1'), /é/],
  ['text/html', Buffer.from('<script>"<meta charset=gbk>"</script>é'), /é/],
  ['text/html\r\nContent-Type: text/html; charset=gbk', gbk, /中文/],
  ['text/html; charset=gbk\r\nContent-Type: text/html', gbk, /中文/],
  ['text/html', Buffer.from('<!-- <meta charset="gb2312"> -->é'), /é/],
  [null, Buffer.from('é'), /é/],
];

suite('the charset of a body', () => {
  for (const [type, body, expected] of pages) {
    test(`of ${type}: ${body.toString('latin1').slice(0, 60)}`, async () => {
      const head = `${ok}${type === null ? '' : `Content-Type: ${type}\r\n`}\r\n`;
      const seen = await seenOf(Buffer.concat([Buffer.from(head), body]));
      assert.match(String(seen.body), expected);
    });
  }
});

const page = Buffer.from(`{"a":1,"text":"${'lorem ipsum '.repeat(50)}"}`);
const packed: [string, Buffer][] = [
  ['gzip', gzipSync(page)],
  ['deflate', deflateSync(page)],
  ['br', brotliCompressSync(page)],
  ['zstd', zstdCompressSync(page)],
  ['gzip, gzip', gzipSync(gzipSync(page))],
];

test('frames of zstd may follow each other, and nothing else may follow them, however they are cut', async () => {
  const head = Buffer.from(`${ok}Content-Encoding: zstd\r\n\r\n`);
  const frame = zstdCompressSync('one');
  for (const [rest, expected] of [
    [zstdCompressSync(' two'), 'one two'],
    [Buffer.from('\0\0x'), null],
  ] as const) {
    for (const cut of [whole, single, uneven]) {
      const { seen, body } = await seenOf(Buffer.concat([frame, rest]), (bytes) => [
        ...[head, ...cut(bytes)],
      ]);
      assert.equal(seen.failure === null, expected !== null, cut.name);
      if (expected !== null) assert.equal(body, expected);
    }
  }
});

const framings: [string, (body: Buffer) => (string | Buffer)[]][] = [
  ['a length', (body) => [`Content-Length: ${body.length}\r\n\r\n`, body]],
  [
    'chunks',
    (body) => [
      `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`,
      ...[body, '\r\n0\r\n\r\n'],
    ],
  ],
  ['the end of the connection', (body) => ['\r\n', body]],
];

suite(
  'compressed data that ends early is named, and no assertion holds for what is missing:',
  () => {
    const assertion = {
      ...{ source: 'TEXT_BODY', comparison: 'NOT_CONTAINS', target: 'error', property: '' },
    };
    const json = { source: 'JSON_BODY', comparison: 'IS_NULL', target: '', property: '$.error' };
    const assertions = [assertion, json];
    for (const [encoding, all] of packed) {
      for (const [framing, framed] of framings) {
        for (const missing of [0, 1, 9, all.length - 1]) {
          test(`${encoding} by ${framing} without ${missing} bytes`, async () => {
            const body = framed(all.subarray(0, all.length - missing));
            const parts = [`${ok}Content-Encoding: ${encoding}\r\n`, ...body];
            const bytes = Buffer.concat(parts.map((part) => Buffer.from(part)));
            const { seen, logged } = await seenOf(bytes, whole, { assertions });
            assert.equal(seen.failure, null);
            const isCut = missing > 0;
            const isSaid = verdictOn(seen, assertions).assertions.map(({ error }) =>
              /compressed data .* ends early/.test(error ?? ''),
            );
            assert.deepEqual(isSaid, [isCut, isCut]);
            assert.equal(/compressed data ends early/.test(logged.join()), isCut);
          });
        }
      }
    }
  },
);

test('headers are read as UTF-8 where they are valid UTF-8, and as Latin-1 otherwise', async () => {
  const head = `${ok}A: ${Buffer.from('Zürich').toString('latin1')}\r\nB: Z\xfcrich\r\n${hi}`;
  const { seen } = await seenOf(head);
  const headers = seen.response?.['headers'] as Record<string, string>;
  assert.deepEqual([headers['a'], headers['b']], ['Zürich', 'Zürich']);
});

test('what came of compressed data that ends early is all there', async () => {
  const text = `${Array.from({ length: 4_000 }, (_, index) => (index * 7_919) % 10_007).join(' ')}END`;
  const packed = gzipSync(text).subarray(0, -8);
  const size = Math.ceil(packed.length / 3);
  const chunks = [0, 1, 2].flatMap((index) => {
    const piece = packed.subarray(index * size, (index + 1) * size);
    return [Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')];
  });
  const head = Buffer.from(`${chunked.slice(0, -2)}Content-Encoding: gzip\r\n\r\n`);
  const { body } = await seenOf(Buffer.concat([head, ...chunks, Buffer.from('0\r\n\r\n')]));
  assert.equal(body, text);
});

test('a reset behind a whole body changes nothing while it is decoded, and one within it fails', async () => {
  const body = gzipSync(Buffer.alloc(20_000_000, 'a'));
  const head = `${ok}Content-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
  for (const [left, failure] of [
    [0, null],
    [10, 'ECONNRESET'],
  ] as const) {
    await using server = await tcpServer((socket) => {
      socket.once('data', () => {
        socket.write(Buffer.concat([Buffer.from(head), body.subarray(0, body.length - left)]));
        socket.resetAndDestroy();
      });
    });
    const url = `http://127.0.0.1:${server.port}/`;
    const seen = await runApi(definitionOf('API', { method: 'GET', url }), runnerContext());
    assert.equal(seen.failure?.code ?? null, failure);
  }
});
