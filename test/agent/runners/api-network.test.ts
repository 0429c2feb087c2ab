import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import test, { suite } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { AgentError } from '../../../agent/errors.ts';
import { assertProxyStillReachable, parseHttpProxy } from '../../../agent/net/http/proxy.ts';
import { runUrl } from '../../../agent/runners/url.ts';
import { echoOf, echoServer, runCheck, verdictOn } from '../../support/api-check.ts';
import { makeAuthority, selfSigned } from '../../support/certificates.ts';
import { proxyServer } from '../../support/proxy-server.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { scaledClock } from '../../support/scaled-clock.ts';
import { httpServer, httpsServer, tcpServer } from '../../support/servers.ts';
import { TestClock } from '../../support/test-clock.ts';
import { mutualServer } from '../../support/mutual-server.ts';

const text = 'compressed and read again';

suite('a body is read though it is encoded with', () => {
  const encoded: [string, Buffer][] = [
    ['gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['Deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)],
    ['zstd', zstdCompressSync(text)],
    ['gzip, br', brotliCompressSync(gzipSync(text))],
    ['deflate, gzip', gzipSync(deflateSync(text))],
    ['deflate, gzip', gzipSync(deflateRawSync(text))],
    ['gzip, deflate', deflateRawSync(gzipSync(text))],
    ['identity', Buffer.from(text)],
    ['unheard-of', Buffer.from(text)],
  ];
  for (const [index, [encoding, body]] of encoded.entries()) {
    test(`${index}: ${encoding}`, async () => {
      await using server = await httpServer((_request, response) =>
        response.setHeader('content-encoding', encoding).end(body),
      );
      const seen = await runCheck({ url: server.url });
      assert.equal(seen.failure, null);
      assert.equal(seen.response?.['body'], text);
    });
  }
});

test('an empty body may be called compressed', async () => {
  await using server = await httpServer((_request, response) =>
    response.setHeader('content-encoding', 'gzip').end(),
  );
  const seen = await runCheck({ url: server.url });
  assert.equal(seen.failure, null);
  assert.equal(seen.response?.['body'], '');
});

test('a body that is not what its encoding says is a failure of the target', async () => {
  await using server = await httpServer((request, response) =>
    response.setHeader('content-encoding', request.url?.slice(1) ?? '').end('this is no gzip'),
  );
  for (const encoding of ['gzip', 'br', 'zstd', 'deflate']) {
    const seen = await runCheck({ url: `${server.url}/${encoding}` });
    assert.match(seen.failure?.message ?? '', /^the body is not as its `Content-Encoding` says \(/);
    assert.equal(seen.failure?.phase, 'body');
    assert.equal(verdictOn(seen).hasFailures, true);
  }
});

test('a small body that unpacks to 300 MB is read up to the limit', async () => {
  const inner = gzipSync(Buffer.alloc(300_000_000), { level: 1 });
  await using server = await httpServer((_request, response) =>
    response.setHeader('content-encoding', 'gzip, gzip').end(gzipSync(inner)),
  );
  const before = process.memoryUsage().arrayBuffers;
  const seen = await runCheck({ url: server.url, assertions: [] });
  assert.equal(seen.failure, null);
  assert.equal(seen.response?.['truncated'], true);
  assert.equal(seen.wholeBody?.length, 25_000_000);
  assert.ok(process.memoryUsage().arrayBuffers - before < 200_000_000);
});

test('reading stops at 25 MB, and what came is judged', async () => {
  const chunk = 'x'.repeat(1_000_000);
  await using server = await httpServer((_request, response) => {
    const pour = (): void => {
      while (response.write(chunk));
      response.once('drain', pour);
    };
    pour();
  });
  const seen = await runCheck({ url: server.url });
  assert.equal(seen.failure, null);
  assert.equal(seen.wholeBody?.length, 25_000_000);
  assert.equal(verdictOn(seen).hasFailures, false);
});

suite('client certificates', () => {
  test('the one for the host is shown, and its authority trusted', async () => {
    const authority = await makeAuthority();
    const own = await authority.issue({ host: 'localhost', validForDays: 9 });
    await using server = await mutualServer({ own, accepts: authority, isOpen: true });
    const issue = async (host: string, name: string) => ({
      host,
      ...(await authority.issue({ host: name, validForDays: 9 })),
      passphrase: null,
      ca: authority.cert,
    });
    const clientCertificates = [
      await issue('*', 'anybody'),
      await issue('localhost', 'newer'),
      await issue('localhost', 'older'),
    ];
    const seen = await runCheck({ url: server.url }, { clientCertificates });
    assert.equal(seen.failure, null);
    assert.match(String(seen.response?.['body']), /<body>newer/);
    const context = runnerContext(5_000, {}, { clientCertificates });
    const url = await runUrl(definitionOf('URL', { url: server.url }), context);
    assert.equal(url.failure, null);
    const untrusted = await runCheck({ url: server.url });
    assert.equal(untrusted.failure?.phase, 'tls');
    const none = await runCheck({ url: server.url, skipSSL: true });
    assert.match(String(none.response?.['body']), /<body>-/);
  });
});

test('a certificate for another host says for which', async () => {
  const authority = await makeAuthority();
  const ca = { host: '*', passphrase: null, ca: authority.cert };
  const issue = (...[host, ...others]: [string, ...string[]]) =>
    authority.issue({ host, others, validForDays: 9 });
  const old = { host: 'localhost', validForDays: 9, hasCommonNameOnly: true } as const;
  for (const [pair, said] of [
    [await issue('a.example', 'b.example'), /another host \(a\.example, b\.example\): localhost:/],
    [
      await issue('127.0.0.1'),
      /another host \(.*127\.0\.0\.1\): localhost:|another host: localhost:/,
    ],
    [await authority.issue(old), /its common name only, which browsers do not accept: localhost:/],
    [await issue('localhost'), null],
  ] as const) {
    await using server = await httpsServer(pair.key, pair.cert);
    const seen = await runCheck(
      { url: `https://localhost:${server.port}/` },
      { clientCertificates: [{ ...pair, ...ca }] },
    );
    if (said === null) assert.equal(seen.failure, null);
    else assert.match(seen.failure?.message ?? '', said);
  }
});

suite('the proxy of a location', () => {
  test('forwards http and tunnels https, with its own credentials only', async () => {
    await using target = await echoServer();
    const { key, cert } = await selfSigned({ host: 'localhost', validForDays: 9 });
    await using secure = await httpsServer(key, cert);
    await using proxy = await proxyServer({ credentials: 'me:p%40ss' });
    const proxyUrl = proxy.url;
    await using open = await proxyServer({ credentials: 'me:pass' });
    const plain = await runCheck({ url: `${target.url}/a?b` }, { proxyUrl: open.url });
    assert.equal(echoOf(plain).url, '/a?b');
    assert.equal(echoOf(plain).headers['proxy-authorization'], undefined);
    assert.equal(plain.response?.['remoteAddress'], null);
    const tunnelled = await runCheck(
      { url: `https://localhost:${secure.port}/`, skipSSL: true },
      { proxyUrl: open.url },
    );
    assert.equal(tunnelled.response?.['body'], 'secure');
    assert.deepEqual(open.asked, [`GET ${target.url}/a?b`, `CONNECT localhost:${secure.port}`]);
    const context = runnerContext(5_000, {}, { proxyUrl: open.url });
    const url = await runUrl(definitionOf('URL', { url: target.url }), context);
    assert.equal(url.failure, null);
    assert.equal(open.asked.length, 3);
    // Credentials in the URL are percent-encoded; this proxy wants them as they stand there.
    await assert.rejects(runCheck({ url: target.url }, { proxyUrl }), /407/);
  });

  test('a proxy that cannot be reached or refuses is an agent error', async () => {
    await using target = await echoServer();
    await using strict = await proxyServer({ credentials: 'a:b' });
    const gone = await proxyServer();
    await gone[Symbol.asyncDispose]();
    const anonymous = `http://127.0.0.1:${strict.port}`;
    const rows: [string, string, RegExp][] = [
      [gone.url, target.url, /cannot be reached \(ECONNREFUSED\)/],
      [gone.url, 'https://localhost:1', /cannot be reached \(ECONNREFUSED\)/],
      [anonymous, target.url, /credentials \(status 407\)/],
      [anonymous, 'https://localhost:1', /refuses a tunnel to localhost:1 with status 407/],
      ['socks5://127.0.0.1:1', target.url, /not an http or https URL/],
    ];
    for (const [proxyUrl, url, message] of rows) {
      await assert.rejects(
        runCheck({ url }, { proxyUrl }),
        (error) =>
          error instanceof AgentError &&
          error.code === 'NETWORK_UNAVAILABLE' &&
          message.test(error.message),
        `${proxyUrl} to ${url}`,
      );
    }
  });

  test('a proxy that goes away in the middle of a request is an agent error, and a target that does is not', async () => {
    const proxy = await proxyServer();
    await using target = await httpServer((request, response) => {
      if (request.url === '/cut') response.destroy();
      // Nobody answers any more.
      else void proxy[Symbol.asyncDispose]();
    });
    const proxyUrl = proxy.url;
    const cut = await runCheck({ url: `${target.url}/cut` }, { proxyUrl });
    assert.equal(cut.failure, null);
    assert.equal(cut.response?.['status'], 502);
    await assert.rejects(
      runCheck({ url: target.url }, { proxyUrl }),
      (error) =>
        error instanceof AgentError &&
        error.code === 'NETWORK_UNAVAILABLE' &&
        /went away during the request \(ECONNREFUSED\)/.test(error.message),
    );
  });

  test('is asked for a few seconds whether it still answers, and no longer than the run goes on', async () => {
    // It takes connections, and never ends a handshake.
    const connected = new EventEmitter();
    await using silent = await tcpServer(() => connected.emit('connection'));
    const proxy = parseHttpProxy(silent.url.replace('tcp:', 'https:'));
    const address = { address: '127.0.0.1', family: 'IPv4' } as const;
    const ask = (clock: TestClock, signal: AbortSignal): Promise<void> =>
      assertProxyStillReachable(proxy, address, { clock, signal });
    const clock = new TestClock(0);
    let isDecided = false;
    const asked = ask(clock, new AbortController().signal).finally(() => (isDecided = true));
    await once(connected, 'connection');
    // Two round trips over a satellite take longer than a second.
    clock.advance(2_000);
    await setImmediate();
    assert.equal(isDecided, false);
    clock.advance(10_000);
    await assert.rejects(asked, /went away during the request \(no answer in 3500 ms\)/);
    const controller = new AbortController();
    const ended = ask(clock, controller.signal);
    controller.abort();
    await ended;
    assert.equal(clock.pending, 0);
  });

  test('that cannot reach the target says so about the target', async () => {
    await using proxy = await proxyServer({ refusesWith: 502 });
    const seen = await runCheck({ url: 'https://localhost:1' }, { proxyUrl: proxy.url });
    assert.equal(seen.failure?.code, 'PROXY_CONNECT_FAILED');
    assert.equal(seen.failure.isNetworkError, true);
  });

  const squid = (name: string) => `503 Service Unavailable\r\nX-Squid-Error: ${name} 0`;
  const wants = (...schemes: string[]) =>
    `407 Wanted${schemes.map((scheme) => `\r\nProxy-Authenticate: ${scheme}`).join('')}`;
  const status = (error: string) => `502 Bad\r\nProxy-Status: p; error=${error}`;
  /** What a proxy answers; what it says about itself, by https and http; or null where it is about the target. */
  const answers: [string, RegExp | null, RegExp | null][] = [
    ['', /without an answer to CONNECT/, null],
    [squid('ERR_CANNOT_FORWARD'), /503: ERR_CANNOT_FORWARD/, /ERR_CANNOT_FORWARD/],
    [squid('ERR_SOCKET_FAILURE'), /ERR_SOCKET_FAILURE/, /ERR_SOCKET_FAILURE/],
    [squid('ERR_CONNECT_FAIL'), null, null],
    [squid('ERR_DNS_FAIL'), null, null],
    // Of a proxy in front of the target.
    [`${squid('ERR_CANNOT_FORWARD')}\r\nVia: 1.1 b, 1.1 a`, /503/, null],
    [status('connection_refused'), null, null],
    [status('dns_error'), null, null],
    [status('proxy_internal_error'), /proxy_internal_error/, null],
    ['404 No such domain', null, null],
    ['404 Not Found', /status 404/, null],
    ['405 Method Not Allowed', /status 405/, null],
    ['503 Busy', null, null],
    [wants('NTLM', 'Negotiate'), /by NTLM or Negotiate alone/, /by NTLM or Negotiate alone/],
    [wants('NTLM', 'Basic realm="a, b"'), /status 407;/, /status 407\);/],
  ];
  for (const [answer, tunnelled, plain] of answers) {
    const title = answer.split('\r\n').join(', ');
    test(`that answers "${title}" is blamed for what is its own`, async () => {
      await using proxy = await tcpServer((socket) => {
        socket.once('data', () =>
          socket.end(answer === '' ? '' : `HTTP/1.1 ${answer}\r\nContent-Length: 0\r\n\r\n`),
        );
      });
      const proxyUrl = `http://127.0.0.1:${proxy.port}`;
      for (const [url, about] of [
        ['https://shop.test/', tunnelled],
        ['http://shop.test/', plain],
      ] as const) {
        const asked = runCheck({ url }, { proxyUrl });
        if (about !== null) {
          await assert.rejects(asked, (error: AgentError) => about.test(error.message));
          continue;
        }
        assert.equal(verdictOn(await asked).hasFailures, true, url);
      }
    });
  }
});

test('the time runs out while a body is still coming', async () => {
  await using server = await httpServer((_request, response) => {
    response.write('beginning');
  });
  const seen = await runCheck({ url: server.url }, { timeoutMs: 300, clock: scaledClock(1) });
  assert.equal(seen.failure?.code, 'TIMEOUT');
  assert.equal(seen.failure.phase, 'body');
  assert.equal(seen.response?.['body'], 'beginning');
});

test('a cancelled run ends at once', async () => {
  await using server = await httpServer(() => undefined);
  const cancelling = new AbortController();
  const running = runCheck({ url: server.url }, { signal: cancelling.signal });
  cancelling.abort();
  assert.equal((await running).failure?.code, 'CANCELLED');
});
