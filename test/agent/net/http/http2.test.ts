/** Requests over HTTP/2: answers and failures are those of HTTP/1.1, with the same phases. */
import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { createServer as createTlsServer } from 'node:tls';
import { createSecureServer, type ServerHttp2Stream, type IncomingHttpHeaders } from 'node:http2';
import test, { before, suite } from 'node:test';
import { gzipSync } from 'node:zlib';
import { http2CodeName } from '../../../../agent/net/http2-codes.ts';
import { runApi } from '../../../../agent/runners/api.ts';
import { runUrl } from '../../../../agent/runners/url.ts';
import { selfSigned, type KeyAndCertificate } from '../../../support/certificates.ts';
import { definitionOf, runnerContext } from '../../../support/runner-context.ts';
import { listening } from '../../../support/servers.ts';

let own: KeyAndCertificate;
before(async () => {
  own = await selfSigned({ host: 'localhost', validForDays: 30 });
});

type Answer = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/** Servers without HTTP/2, as they say so. */
const others = {
  'is silent about protocols': () => createTlsServer(own),
  'refuses the protocol': () => createServer(own),
};

async function http2Server(answer: Answer | keyof typeof others) {
  const server = typeof answer === 'string' ? others[answer]() : createSecureServer(own);
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => undefined);
    if (typeof answer !== 'string') answer(stream, headers);
  });
  server.on('sessionError', () => undefined);
  server.on('tlsClientError', () => undefined);
  const opened = await listening(server);
  return { ...opened, url: `https://localhost:${opened.port}/a?b=c` };
}

async function ask(answer: Row['answer'], request: object = {}, timeoutMs = 20_000) {
  await using server = await http2Server(answer);
  const wish = { method: 'GET', url: server.url, httpVersion: 'HTTP/2', skipSSL: true, ...request };
  const context = runnerContext(timeoutMs);
  return { seen: await runApi(definitionOf('API', wish), context), context };
}

const headOf = (answer: object = {}) => ({
  ':status': 200,
  'content-type': 'text/plain',
  ...answer,
});

interface Row {
  name: string;
  answer: Answer | keyof typeof others;
  request?: object;
  timeoutMs?: number;
  status?: number;
  body?: string | RegExp;
  failure?: [code: string, phase: string];
}

/** Answers with a head and these pieces of a body. */
const saying =
  (head: object, ...parts: (string | Buffer)[]): Answer =>
  (stream) => {
    stream.respond(headOf(head));
    for (const part of parts) stream.write(part);
    stream.end();
  };

const large = 'x'.repeat(200_000);
const packed = gzipSync('hello '.repeat(1_000));
const refused = new Error('no');
const rows: Row[] = [
  { name: 'an answer with a body', answer: saying({}, 'hi'), body: 'hi' },
  {
    name: 'what was asked',
    request: {
      ...{ method: 'POST', body: '{"a":1}', bodyType: 'JSON' },
      headers: [
        { key: 'Connection', value: 'keep-alive' },
        { key: 'X-Own', value: 'v' },
      ],
    },
    answer(stream, headers) {
      const shown = [':method', ':path', 'x-own', 'connection'].map((name) => headers[name]);
      void stream.toArray().then((parts: Buffer[]) => {
        saying({}, `${shown.join()} ${Buffer.concat(parts).toString()}`)(stream, headers);
      });
    },
    body: 'POST,/a?b=c,v, {"a":1}',
  },
  {
    name: 'no body',
    request: { method: 'HEAD' },
    answer: (stream) => {
      stream.respond(headOf(), { endStream: true });
    },
    body: '',
  },
  {
    name: 'a compressed body in pieces',
    answer: saying({ 'content-encoding': 'gzip' }, ...[...packed].map((byte) => Buffer.of(byte))),
    body: /^(hello ){1000}$/,
  },
  {
    name: 'a body that is larger than a window',
    answer: saying({}, ...Array<string>(20).fill(large), 'END'),
    body: /^x{1000}/,
  },
  { name: 'an error status', answer: saying({ ':status': 503 }), status: 503, body: '' },
  {
    name: 'interim answers',
    answer(stream, headers) {
      stream.additionalHeaders({ ':status': 103, link: '</a>; rel=preload' });
      saying({}, 'hi')(stream, headers);
    },
    body: 'hi',
  },
  {
    name: 'a server without HTTP/2',
    answer: 'is silent about protocols',
    failure: ['NO_HTTP2', 'tls'],
  },
  {
    name: 'a server that refuses HTTP/2',
    answer: 'refuses the protocol',
    failure: ['ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL', 'tls'],
  },
  {
    name: 'a request that is refused',
    answer: (stream) => void stream.destroy(refused),
    failure: ['HTTP2_RESET', 'headers'],
  },
  {
    name: 'a body that is cut',
    answer(stream) {
      stream.respond(headOf());
      stream.write('half', () => void stream.destroy(refused));
    },
    failure: ['BODY_INCOMPLETE', 'body'],
  },
  {
    name: 'a connection that ends before the answer',
    answer: (stream) => stream.session?.destroy(),
    failure: ['SOCKET_CLOSED', 'headers'],
  },
  {
    ...{ name: 'a server that says nothing', answer: () => undefined, timeoutMs: 500 },
    failure: ['TIMEOUT', 'headers'],
  },
  {
    name: 'a body that does not end',
    answer(stream) {
      stream.respond(headOf());
      stream.write('half');
    },
    ...{ timeoutMs: 500, failure: ['TIMEOUT', 'body'] },
  },
];

suite('over HTTP/2', () => {
  for (const { name, answer, request, timeoutMs, status = 200, body, failure } of rows) {
    test(name, async () => {
      const { seen } = await ask(answer, request, timeoutMs);
      if (failure !== undefined) {
        assert.deepEqual([seen.failure?.code, seen.failure?.phase], failure);
        return;
      }
      assert.equal(seen.failure, null);
      assert.equal(seen.response?.['status'], status);
      assert.equal(seen.response['httpVersion'], '2.0');
      if (body instanceof RegExp) assert.match(String(seen.response['body']), body);
      else assert.equal(seen.response['body'], body);
    });
  }
});

test('codes have the names of the protocol', () => {
  for (const [code, name] of Object.entries({ 1: 'PROTOCOL', 2: 'INTERNAL', 3: 'FLOW_CONTROL' })) {
    assert.equal(http2CodeName(Number(code)), `${name}_ERROR`);
  }
  assert.deepEqual([7, 8, 11, 99].map(http2CodeName), [
    ...['REFUSED_STREAM', 'CANCEL', 'ENHANCE_YOUR_CALM', 'an unknown code'],
  ]);
});

test('its phases are those of HTTP/1.1, and what the target takes is in the first byte', async () => {
  const { seen } = await ask((stream) => {
    setTimeout(() => {
      stream.respond(headOf());
      stream.end('late');
    }, 300);
  });
  const phases = seen.response?.['timingPhases'] as Record<string, number>;
  assert.deepEqual(Object.keys(phases).sort(), [
    ...['dns', 'download', 'firstByte', 'tcp', 'tls', 'total', 'wait'].sort(),
  ]);
  assert.ok((phases['firstByte'] ?? 0) >= 300, JSON.stringify(phases));
});

test('a URL monitor speaks it too; `http:` is refused, a redirect to it is followed', async () => {
  await using plain = await http2Server(saying({}));
  const monitor = { url: plain.url, httpVersion: 'HTTP/2', skipSSL: true };
  const seen = await runUrl(definitionOf('URL', monitor), runnerContext());
  assert.deepEqual([seen.failure, seen.response?.['httpVersion']], [null, '2.0']);
  const insecure = { url: 'http://localhost:1/', httpVersion: 'HTTP/2' };
  const refused = await runUrl(definitionOf('URL', insecure), runnerContext());
  assert.equal(refused.failure?.code, 'INVALID_REQUEST');
});

test('a server of HTTP/2 alone is named to who asks by HTTP/1.1', async () => {
  const { seen } = await ask(saying({}), { httpVersion: 'HTTP/1.1' });
  assert.notEqual(seen.failure, null);
});
