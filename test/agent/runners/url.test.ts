import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import { judge } from '@monitor/shared/domain/verdict.ts';
import { urlMonitor } from '@monitor/shared/contract/checks/url.ts';
import type { RunnerContext } from '../../../agent/runners/runner.ts';
import { runUrl } from '../../../agent/runners/url.ts';
import type { Observation } from '../../../agent/runners/runner.ts';
import { selfSigned } from '../../support/certificates.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { scaledClock } from '../../support/scaled-clock.ts';
import {
  httpServer,
  httpsServer,
  rawServer,
  tcpServer,
  type TestServer,
} from '../../support/servers.ts';

function visit(
  url: string,
  request: Record<string, unknown> = {},
  timeoutMs = 5_000,
  further: Partial<RunnerContext> = {},
) {
  return runUrl(definitionOf('URL', { url, ...request }), runnerContext(timeoutMs, {}, further));
}

function phasesOf({ response }: Observation): Record<string, number> {
  return response?.['timingPhases'] as Record<string, number>;
}

function assertFails(url: string, observation: Observation): void {
  const { judging } = urlMonitor;
  assert.ok(judging !== null);
  const verdict = judge(judging, definitionOf('URL', { url }), { ...observation });
  assert.equal(verdict.hasFailures, true);
}

test('a success carries status, headers, body and phases that add up', async () => {
  await using server = await httpServer((_request, response) => {
    setTimeout(() => {
      response.writeHead(200, { 'content-type': 'text/plain', 'x-thing': 'a' }).end('hello');
    }, 60);
  });
  const seen = await visit(`${server.url}/path?q=1`);
  assert.equal(seen.failure, null);
  assert.equal(seen.response?.['status'], 200);
  assert.equal(seen.response['body'], 'hello');
  assert.equal((seen.response['headers'] as Record<string, string>)['x-thing'], 'a');
  const { wait, dns, tcp, firstByte, download, total } = phasesOf(seen) as Record<string, number> &
    Record<'wait' | 'dns' | 'tcp' | 'firstByte' | 'download' | 'total', number>;
  assert.ok(Math.abs(wait + dns + tcp + firstByte + download - total) < 0.001);
  assert.ok(firstByte >= 59, `first byte after ${firstByte} ms`);
  assert.equal(seen.responseTime, total);
});

test('redirects are followed, and earlier requests count as waiting', async () => {
  await using server = await httpServer((request, response) => {
    if (request.url === '/end') response.end('there');
    else setTimeout(() => response.writeHead(302, { location: '/end' }).end(), 40);
  });
  const seen = await visit(`${server.url}/start`);
  assert.equal(seen.response?.['href'], `${server.url}/end`);
  assert.equal(seen.response['redirects'], 1);
  assert.ok((phasesOf(seen)['wait'] ?? 0) >= 39);
});

test('a redirect is the answer when it is not to be followed', async () => {
  await using server = await httpServer((_request, response) => {
    response.writeHead(301, { location: '/elsewhere' }).end();
  });
  const seen = await visit(server.url, { followRedirects: false });
  assert.equal(seen.failure, null);
  assert.equal(seen.response?.['status'], 301);
});

const badTargets: [
  name: string,
  code: string,
  phase: string | RegExp,
  isNetworkError: boolean,
  open: () => Promise<TestServer>,
  timeoutMs?: number,
][] = [
  // Whether the connection counts as made depends on which packet comes first.
  [
    'resets the connection when it is made',
    'ECONNRESET',
    /connect|headers/,
    true,
    () => tcpServer((socket) => socket.resetAndDestroy()),
  ],
  [
    'closes the connection when it is made',
    'SOCKET_CLOSED',
    'headers',
    true,
    () => tcpServer((socket) => socket.end()),
  ],
  [
    'answers with the status 000',
    'HPE_INVALID_STATUS',
    'headers',
    false,
    () => rawServer('HTTP/1.1 000 Odd\r\n\r\n', 'stay'),
  ],
  ['resets after the request', 'ECONNRESET', 'headers', true, () => rawServer('', 'reset')],
  [
    'resets in the middle of the headers',
    'ECONNRESET',
    'headers',
    true,
    () => rawServer('HTTP/1.1 200 OK\r\ncontent-', 'reset'),
  ],
  [
    'resets in the middle of the body',
    'ECONNRESET',
    'body',
    true,
    () => rawServer('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', 'reset'),
  ],
  [
    'ends in the middle of the body',
    'BODY_INCOMPLETE',
    'body',
    true,
    () => rawServer('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', 'end'),
  ],
  ['accepts and says nothing', 'TIMEOUT', 'headers', true, () => tcpServer(() => undefined), 300],
  [
    'sends headers too slowly',
    'TIMEOUT',
    'headers',
    true,
    () =>
      tcpServer((socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        const drip = setInterval(() => socket.write('x: y\r\n'), 50);
        socket.on('close', () => {
          clearInterval(drip);
        });
      }),
    300,
  ],
  [
    'never ends its body',
    'TIMEOUT',
    'body',
    true,
    () =>
      httpServer((_request, response) => {
        const drip = setInterval(() => response.write('more '), 20);
        response.on('close', () => {
          clearInterval(drip);
        });
      }),
    300,
  ],
  [
    'redirects for ever',
    'TOO_MANY_REDIRECTS',
    'headers',
    false,
    () => httpServer((_request, response) => response.writeHead(302, { location: '/again' }).end()),
  ],
  [
    'redirects to something that is not HTTP',
    'INVALID_REDIRECT',
    'headers',
    false,
    () =>
      httpServer((_request, response) =>
        response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
      ),
  ],
  [
    'floods with headers',
    'HPE_HEADER_OVERFLOW',
    'headers',
    false,
    () => rawServer(`HTTP/1.1 200 OK\r\n${`x: ${'y'.repeat(1000)}\r\n`.repeat(200)}\r\n`, 'end'),
  ],
  [
    'speaks another protocol',
    'HPE_INVALID_CONSTANT',
    'headers',
    false,
    () => rawServer('SSH-2.0-OpenSSH_9.6\r\n', 'stay'),
  ],
  [
    'breaks its chunks',
    'HPE_INVALID_CHUNK_SIZE',
    'body',
    false,
    () => rawServer('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nnonsense', 'stay'),
  ],
];

const oddStatuses: [status: string, error: string | null, assertion?: string][] = [
  ['100 Continue\r\n\r\nHTTP/1.1 299', null],
  ['099', 'HTTP 99, which is no status of HTTP: those are 100 to 599'],
  ['599', 'HTTP 599'],
  ['600', 'HTTP 600, which is no status of HTTP: those are 100 to 599'],
  ['999', 'HTTP 999, which is no status of HTTP: those are 100 to 599'],
  ['999', null, '999'],
];

for (const [status, error, target] of oddStatuses) {
  const judged = target === undefined ? 'by itself' : 'by an assertion';
  test(`a status ${status.slice(-3)} that is judged ${judged} is ${error ?? 'fine'}`, async () => {
    const answer = `HTTP/1.1 ${status} Odd\r\ncontent-length: 0\r\n\r\n`;
    await using server = await rawServer(answer, 'stay');
    const url = server.url.replace('tcp:', 'http:');
    const assertions =
      target === undefined ? [] : [{ source: 'STATUS_CODE', comparison: 'EQUALS', target }];
    const definition = definitionOf('URL', { url, assertions });
    const seen = await visit(url);
    assert.equal(seen.failure, null);
    const verdict = judge(urlMonitor.judging, definition, { ...seen });
    assert.equal(verdict.hasFailures, error !== null);
    assert.equal(verdict.reason ?? null, error);
  });
}

suite('a target that', () => {
  for (const [name, code, phase, isNetworkError, open, timeoutMs] of badTargets) {
    test(`${name} is a failure of the target: ${code}`, async () => {
      await using server = await open();
      const url = server.url.replace('tcp:', 'http:');
      // A machine that is stuck for a moment is not what takes too long here.
      const seen = await visit(url, {}, timeoutMs, { clock: scaledClock(1) });
      assert.equal(seen.failure?.code, code);
      assert.match(seen.failure.phase, new RegExp(phase));
      assert.equal(seen.failure.isNetworkError, isNetworkError);
      assertFails(url, seen);
    });
  }
});

test('a refused connection is a network error', async () => {
  const { port } = await httpServer(() => undefined).then(async (server) => {
    await server[Symbol.asyncDispose]();
    return server;
  });
  const seen = await visit(`http://127.0.0.1:${port}/`);
  assert.equal(seen.failure?.code, 'ECONNREFUSED');
  assert.equal(seen.failure.phase, 'connect');
  assert.equal(seen.failure.isNetworkError, true);
  assert.equal(seen.response, null);
});

test('an address of the other family is a failure that names it', async () => {
  const seen = await visit('http://[::1]:1/', { ipFamily: 'IPv4' });
  assert.equal(seen.failure?.code, 'ERR_INVALID_IP_ADDRESS');
});

test('a body past the limit is cut, not refused', async () => {
  const chunk = 'x'.repeat(1_000_000);
  await using server = await httpServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    const pour = (): void => {
      while (response.write(chunk));
      response.once('drain', pour);
    };
    pour();
  });
  const seen = await visit(server.url, {}, 20_000);
  assert.equal(seen.failure, null);
  assert.equal(seen.response?.['truncated'], true);
  assert.equal(String(seen.response['body']).length, 8_192);
});

suite('certificates', () => {
  test('an expired one is a failure in the TLS phase', async () => {
    const { key, cert } = await selfSigned({ host: '127.0.0.1', validForDays: -1 });
    await using server = await httpsServer(key, cert);
    const seen = await visit(server.url);
    assert.equal(seen.failure?.phase, 'tls');
    assert.match(seen.failure.code, /CERT_HAS_EXPIRED|DEPTH_ZERO_SELF_SIGNED_CERT/);
    assert.equal(seen.failure.isNetworkError, false);
  });

  test('a self-signed one is a failure, unless skipSSL says otherwise', async () => {
    const { key, cert } = await selfSigned({ host: '127.0.0.1', validForDays: 30 });
    await using server = await httpsServer(key, cert);
    const refused = await visit(server.url);
    assert.equal(refused.failure?.code, 'DEPTH_ZERO_SELF_SIGNED_CERT');
    const skipped = await visit(server.url, { skipSSL: true });
    assert.equal(skipped.failure, null);
    const certificate = skipped.response?.['certificate'] as { daysRemaining: number };
    assert.equal(certificate.daysRemaining, 29);
    assert.ok((phasesOf(skipped)['tls'] ?? 0) > 0);
  });
});
