/** Answers as servers send them: what browsers read is read, and said; the cut of the bytes decides nothing. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import test, { suite } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { runApi } from '../../../../agent/runners/api.ts';
import { verdictOn } from '../../../support/api-check.ts';
import { definitionOf, runnerContext } from '../../../support/runner-context.ts';
import { tcpServer } from '../../../support/servers.ts';

interface Row {
  name: string;
  answer: string;
  method?: string;
  /** The body of a success. */
  body?: string;
  failure?: RegExp;
  logged?: RegExp;
}

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
const hi = 'Content-Length: 2\r\n\r\nhi';
const rows: Row[] = [
  { name: 'a proper answer', answer: `${ok}${hi}`, body: 'hi' },
  { name: 'interim answers', answer: `HTTP/1.1 103 Hints\r\nX: y\r\n\r\n${ok}${hi}`, body: 'hi' },
  {
    name: 'bare line feeds',
    answer: 'HTTP/1.1 200 OK\nContent-Length: 2\n\nhi',
    body: 'hi',
    logged: /bare line feed/,
  },
  {
    name: 'chunks with bare line feeds',
    answer: 'HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n',
    body: 'hi',
    logged: /bare/,
  },
  {
    name: 'a control byte',
    answer: `${ok}A: b\r\nC: d\r\nSet-Cookie: incap=\x01abc\r\n${hi}`,
    body: 'hi',
    logged: /header 3, `Set-Cookie`, has the control byte 0x01/,
  },
  {
    name: 'a header of a name that objects have',
    answer: `${ok}__proto__: a\r\nconstructor: b\r\n${hi}`,
    body: 'hi',
  },
  {
    name: 'two different types',
    answer: `${ok}Content-Type: text/plain\r\nContent-Type: text/html\r\n${hi}`,
    body: 'hi',
    logged: /`Content-Type` is there with different values/,
  },
  {
    name: 'the same type twice',
    answer: `${ok}Content-Type: text/plain\r\nContent-Type: text/plain\r\n${hi}`,
    body: 'hi',
  },
  { name: 'a zero byte', answer: `${ok}A: b\0c\r\n${hi}`, failure: /line 1 .* has a zero byte/ },
  {
    name: 'a folded header',
    answer: `${ok}X-A: a\r\n b\r\n${hi}`,
    body: 'hi',
    logged: /header 1, `X-A`, is folded/,
  },
  {
    name: 'a space before the colon',
    answer: `${ok}Server : x\r\n${hi}`,
    body: 'hi',
    logged: /`Server`, has a space before the colon/,
  },
  {
    name: 'a space in a name',
    answer: `${ok}X-Powered By: php\r\n${hi}`,
    body: 'hi',
    logged: /the byte 0x20 in its name/,
  },
  {
    name: 'a header without a colon',
    answer: `${ok}nonsense\r\n${hi}`,
    body: 'hi',
    logged: /line 1 of the headers/,
  },
  {
    name: 'two equal lengths',
    answer: `${ok}Content-Length: 2\r\n${hi}`,
    body: 'hi',
    logged: /more than once/,
  },
  {
    name: 'two different lengths',
    answer: `${ok}Content-Length: 3\r\n${hi}`,
    failure: /`Content-Length` is 3 and 2/,
  },
  {
    name: 'two different lengths beside a coding that is no chunked',
    answer: `${ok}Transfer-Encoding: identity\r\nContent-Length: 3\r\n${hi}`,
    failure: /`Content-Length` is 3 and 2/,
  },
  {
    name: 'a length beside chunks',
    answer: `${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    body: 'hi',
    logged: /beside/,
  },
  {
    name: 'a space behind the size of a chunk',
    answer: `${chunked}2 \r\nhi\r\n0\r\n\r\n`,
    body: 'hi',
    logged: /space/,
  },
  { name: 'trailers', answer: `${chunked}2;x=y\r\nhi\r\n0\r\nX: y\r\n\r\n`, body: 'hi' },
  { name: 'a chunk without size', answer: `${chunked}zz\r\nhi`, failure: /HPE_INVALID_CHUNK_SIZE/ },
  {
    name: 'a chunk that is too long',
    answer: `${chunked}2\r\nhix\r\n0\r\n\r\n`,
    failure: /longer than its size/,
  },
  {
    name: '204 with a body',
    answer: 'HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nnull',
    body: '',
  },
  {
    name: '304 with a body',
    answer: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nnull',
    body: '',
  },
  { name: 'HEAD with a body', method: 'HEAD', answer: `${ok}${hi}`, body: '' },
  { name: 'bytes behind the length', answer: `${ok}${hi}extra`, body: 'hi' },
  {
    name: 'the same with a closed connection',
    answer: `${ok}Connection: close\r\n${hi}extra`,
    body: 'hi',
  },
  { name: 'another answer', answer: `${ok}${hi}HTTP/1.1 500 No\r\n\r\n`, body: 'hi' },
  { name: 'a second last chunk', answer: `${chunked}2\r\nhi\r\n0\r\n\r\n0\r\n\r\n`, body: 'hi' },
  { name: 'no length', answer: `${ok}\r\nhi`, body: 'hi' },
  {
    name: 'a length that is none',
    answer: `${ok}Content-Length: two\r\n\r\nhi`,
    body: 'hi',
    logged: /no number/,
  },
  { name: 'no phrase', answer: `HTTP/1.1 200\r\n${hi}`, body: 'hi' },
  { name: 'HTTP/1.0', answer: 'HTTP/1.0 200 OK\r\n\r\nhi', body: 'hi' },
  {
    name: 'less than the length',
    answer: `${ok}Content-Length: 1000\r\n\r\nhi`,
    failure: /the body ended after 2 of 1000 bytes/,
  },
  {
    name: 'no last chunk',
    answer: `${chunked}2\r\nhi\r\n`,
    failure: /the body ended after 2 bytes/,
  },
  { name: 'no answer', answer: '', failure: /closed early/ },
  { name: 'half a head', answer: 'HTTP/1.1 200 OK\r\nX', failure: /closed early/ },
  {
    name: 'HTTP/2',
    answer: '\0\0\x0c\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\x04\0\0\xff\xff',
    failure: /speaks HTTP\/2 only/,
  },
  {
    name: 'a short line that is not HTTP',
    answer: 'ab\ncdefghijkl',
    failure: /HPE_INVALID_CONSTANT/,
  },
  { name: 'a few bytes that are not HTTP', answer: 'ab', failure: /HPE_INVALID_CONSTANT/ },
  { name: 'another protocol', answer: 'SSH-2.0-OpenSSH_9.6\r\n', failure: /not HTTP, but SSH:/ },
  { name: 'mail', answer: '220 mx ESMTP\r\n', failure: /not HTTP, but SMTP or FTP:/ },
  { name: 'an alert of TLS', answer: '\x15\x03\x01\0\x02\x02\x0a', failure: /not HTTP, but TLS:/ },
  { name: 'a page alone', answer: '<html><p>a page</html>', failure: /the answer is not HTTP:/ },
  {
    name: 'an upgrade that nobody asked for',
    answer: 'HTTP/1.1 101 Go\r\nUpgrade: x\r\n\r\n',
    failure: /which nobody asked for/,
  },
  {
    name: 'bare carriage returns',
    answer: `${ok}A: b\rContent-Length: 2\r\nC: d\r\r\n\r\nhi`,
    body: 'hi',
    logged: /bare carriage return/,
  },
  { name: '205 with a body', answer: `HTTP/1.1 205 Reset\r\n${hi}`, body: '' },
  { name: 'a version of several digits', answer: `HTTP/1.10 200 OK\r\n${hi}`, body: 'hi' },
  { name: 'tabs in the status line', answer: `HTTP/1.1\t200\tOK\r\n${hi}`, body: 'hi' },
  {
    name: 'four bytes before it',
    answer: `\xef\xbb\xbf ${ok}${hi}`,
    body: 'hi',
    logged: /4 bytes stand before/,
  },
  { name: 'five bytes before it', answer: `abcde${ok}${hi}`, failure: /HPE_INVALID_CONSTANT/ },
  { name: 'no status code', answer: `HTTP/1.1 OK\r\n${hi}`, failure: /no status code of three/ },
  { name: 'a code of four digits', answer: `HTTP/1.1 2000 OK\r\n${hi}`, failure: /no status code/ },
  { name: 'a zero byte in the phrase', answer: `HTTP/1.1 200 \0\r\n${hi}`, failure: /status line/ },
  {
    name: 'two different places',
    answer: `HTTP/1.1 302 Found\r\nLocation: /a\r\nlocation: /b\r\n${hi}`,
    failure: /`Location` is "\/a" and "\/b"/,
  },
  {
    name: 'the same disposition twice',
    answer: `${ok}Content-Disposition: inline\r\nContent-Disposition:inline\r\n${hi}`,
    body: 'hi',
  },
  {
    name: 'chunks named before another coding',
    answer: `${ok}Transfer-Encoding: chunked, identity\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    body: 'hi',
  },
  {
    name: 'a coding that looks like chunks',
    answer: `${ok}Transfer-Encoding: \x0bchunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    body: '2\r\nhi\r\n0\r\n\r\n',
    logged: /0x0b/,
  },
  {
    name: 'a size of many zeros',
    answer: `${chunked}${'0'.repeat(40)}2\r\nhi\r\n0\r\n\r\n`,
    body: 'hi',
  },
  {
    name: 'a space before the size',
    answer: `${chunked} 2\r\nhi\r\n0\r\n\r\n`,
    failure: /CHUNK_SIZE/,
  },
  { name: '302 to nowhere', answer: `HTTP/1.1 302 Found\r\nLocation: \r\n${hi}`, body: 'hi' },
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

suite('an answer with', () => {
  for (const { name, answer, method = 'GET', body, failure, logged } of rows) {
    test(name, async () => {
      for (const cut of [whole, single, uneven]) {
        await using server = await tcpServer((socket) => {
          socket.setNoDelay(true);
          socket.once('data', () => {
            sendPieces(socket, cut(Buffer.from(answer, 'latin1')));
          });
        });
        const context = runnerContext();
        const url = `http://127.0.0.1:${server.port}/`;
        const seen = await runApi(definitionOf('API', { method, url }), context);
        if (failure === undefined) assert.equal(seen.failure, null, cut.name);
        else assert.match(seen.failure?.message ?? 'passed', failure, cut.name);
        if (failure === undefined) assert.equal(seen.response?.['body'], body, cut.name);
        if (logged === undefined) assert.deepEqual(context.logged, [], cut.name);
        else assert.match(context.logged.join('\n'), logged, cut.name);
      }
    });
  }
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
      await using server = await tcpServer((socket) => {
        socket.once('data', () => socket.end(Buffer.concat([Buffer.from(head), body])));
      });
      const url = `http://127.0.0.1:${server.port}/`;
      const seen = await runApi(definitionOf('API', { method: 'GET', url }), runnerContext());
      assert.match(String(seen.response?.['body']), expected);
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
  const frame = zstdCompressSync('one');
  for (const [rest, body] of [
    [zstdCompressSync(' two'), 'one two'],
    [Buffer.from('\0\0x'), null],
  ] as const) {
    for (const cut of [whole, single, uneven]) {
      await using server = await tcpServer((socket) => {
        socket.once('data', () => {
          const head = Buffer.from(`${ok}Content-Encoding: zstd\r\n\r\n`);
          sendPieces(socket, [head, ...cut(Buffer.concat([frame, rest]))]);
        });
      });
      const url = `http://127.0.0.1:${server.port}/`;
      const seen = await runApi(definitionOf('API', { method: 'GET', url }), runnerContext());
      assert.equal(seen.failure === null, body !== null, cut.name);
      if (body !== null) assert.equal(seen.response?.['body'], body);
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
    for (const [encoding, whole] of packed) {
      for (const [framing, framed] of framings) {
        for (const missing of [0, 1, 9, whole.length - 1]) {
          test(`${encoding} by ${framing} without ${missing} bytes`, async () => {
            const body = framed(whole.subarray(0, whole.length - missing));
            const answer = [`${ok}Content-Encoding: ${encoding}\r\n`, ...body];
            await using server = await tcpServer((socket) => {
              socket.once('data', () =>
                socket.end(Buffer.concat(answer.map((part) => Buffer.from(part)))),
              );
            });
            const assertion = (
              source: string,
              comparison: string,
              target: string,
              property = '',
            ) => ({
              ...{ source, comparison, target, property },
            });
            const wanted = [
              assertion('TEXT_BODY', 'NOT_CONTAINS', 'error'),
              assertion('JSON_BODY', 'IS_NULL', '', '$.error'),
            ];
            const url = `http://127.0.0.1:${server.port}/`;
            const definition = definitionOf('API', { method: 'GET', url, assertions: wanted });
            const context = runnerContext();
            const seen = await runApi(definition, context);
            assert.equal(seen.failure, null);
            const { assertions } = verdictOn(seen, wanted);
            const isCut = missing > 0;
            assert.deepEqual(
              assertions.map(({ error }) => /compressed data .* ends early/.test(error ?? '')),
              [isCut, isCut],
            );
            assert.equal(/compressed data ends early/.test(context.logged.join()), isCut);
          });
        }
      }
    }
  },
);

test('headers are read as UTF-8 where they are valid UTF-8, and as Latin-1 otherwise', async () => {
  const head = `${ok}A: ${Buffer.from('Zürich').toString('latin1')}\r\nB: Z\xfcrich\r\n${hi}`;
  await using server = await tcpServer((socket) => {
    socket.once('data', () => socket.end(Buffer.from(head, 'latin1')));
  });
  const url = `http://127.0.0.1:${server.port}/`;
  const seen = await runApi(definitionOf('API', { method: 'GET', url }), runnerContext());
  const headers = seen.response?.['headers'] as Record<string, string>;
  assert.deepEqual([headers['a'], headers['b']], ['Zürich', 'Zürich']);
});

test('what came of compressed data that ends early is all there', async () => {
  const text = `${Array.from({ length: 4_000 }, (_, index) => (index * 7_919) % 10_007).join(' ')}END`;
  const packed = gzipSync(text).subarray(0, -8);
  const pieces = [0, 1, 2].map((index) => {
    const size = Math.ceil(packed.length / 3);
    return packed.subarray(index * size, (index + 1) * size);
  });
  const chunks = pieces.flatMap((piece) => [
    Buffer.from(`${piece.length.toString(16)}\r\n`),
    piece,
    Buffer.from('\r\n'),
  ]);
  const head = Buffer.from(`${chunked.slice(0, -2)}Content-Encoding: gzip\r\n\r\n`);
  await using server = await tcpServer((socket) => {
    socket.once('data', () =>
      socket.end(Buffer.concat([head, ...chunks, Buffer.from('0\r\n\r\n')])),
    );
  });
  const url = `http://127.0.0.1:${server.port}/`;
  const seen = await runApi(definitionOf('API', { method: 'GET', url }), runnerContext());
  assert.equal(seen.response?.['body'], text);
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
