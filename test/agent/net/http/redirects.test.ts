/** Redirects as browsers follow them. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import test, { suite } from 'node:test';
import { runCheck } from '../../../support/api-check.ts';
import { httpServer, tcpServer } from '../../../support/servers.ts';

const redirect = 'HTTP/1.1 302 Found\r\nLocation: /y\r\n';
const ends: [string, string, (socket: Socket) => void][] = [
  ['silence', 'Content-Length: 1000\r\n\r\nfoo', () => undefined],
  ['a reset', 'Content-Length: 1000\r\n\r\nfoo', (socket) => socket.resetAndDestroy()],
  ['a clean end', 'Content-Length: 1000\r\n\r\nfoo', (socket) => socket.end()],
  ['silence in chunks', 'Transfer-Encoding: chunked\r\n\r\n3\r\nfoo\r\n', () => undefined],
];

suite('the head of a redirect decides, whose body ends with', () => {
  for (const [name, rest, end] of ends) {
    test(name, async () => {
      await using server = await tcpServer((socket) => {
        socket.once('data', (asked) => {
          if (/^GET \/y /.test(String(asked))) socket.end('HTTP/1.1 200 OK\r\n\r\nthere');
          else
            socket.write(redirect + rest, () => {
              end(socket);
            });
        });
      });
      const seen = await runCheck({ url: `http://127.0.0.1:${server.port}/` });
      assert.equal(seen.failure, null);
      assert.equal(seen.response?.['body'], 'there');
    });
  }
});

test('the bytes of a Location stay what they are', async () => {
  const asked: string[] = [];
  await using server = await tcpServer((socket) => {
    socket.once('data', (bytes) => {
      asked.push(/^GET (\S+)/.exec(String(bytes))?.[1] ?? '');
      const isFirst = asked.length % 2 === 1;
      const location =
        asked.length === 1 ? Buffer.from('/straße') : Buffer.from('/stra\xdfe', 'latin1');
      if (!isFirst) socket.end('HTTP/1.1 200 OK\r\n\r\n');
      else
        socket.end(
          Buffer.concat([
            Buffer.from('HTTP/1.1 302 F\r\nLocation: '),
            location,
            Buffer.from('\r\n\r\n'),
          ]),
        );
    });
  });
  await runCheck({ url: `http://127.0.0.1:${server.port}/` });
  await runCheck({ url: `http://127.0.0.1:${server.port}/` });
  assert.deepEqual(asked, ['/', '/stra%C3%9Fe', '/', '/stra%DFe']);
});

const cookies: [set: string, next: string, expected: string | undefined][] = [
  ['sid=abc', '/home', 'sid=abc'],
  ['sid=abc; Path=/', '/home', 'sid=abc'],
  ['sid=abc; Path=/other', '/home', undefined],
  ['sid=abc; Path=/ho', '/home', undefined],
  ['sid=abc; Path=/home', '/home/below', 'sid=abc'],
  ['sid=abc; Max-Age=0', '/home', undefined],
  ['sid=abc; Expires=Thu, 01 Jan 1970 00:00:00 GMT', '/home', undefined],
  ['sid=abc; Secure', '/home', undefined],
  ['own=new', '/home', 'own=new'],
];

suite('a cookie of a redirect', () => {
  for (const [set, next, expected] of cookies) {
    test(`${set} for ${next} is ${expected === undefined ? 'not sent' : 'sent'}`, async () => {
      await using server = await httpServer((request, response) => {
        if (request.url === '/') response.writeHead(302, { 'set-cookie': set, location: next });
        else response.setHeader('x-seen', request.headers.cookie ?? '');
        response.end();
      });
      const headers = [{ key: 'Cookie', value: 'own=1' }];
      const seen = await runCheck({ url: server.url, headers });
      const { 'x-seen': sent } = seen.response?.['headers'] as Record<string, string>;
      const all =
        expected?.startsWith('own') === true
          ? expected
          : ['own=1', expected].filter(Boolean).join('; ');
      assert.equal(sent, all);
    });
  }

  test('goes to no other host, and not into the next run', async () => {
    const seen: (string | undefined)[] = [];
    await using server = await httpServer((request, response) => {
      seen.push(request.headers.cookie);
      const { port = 0 } = request.socket.address() as { port?: number };
      const location = `http://localhost:${port}/there`;
      if (request.url === '/')
        response.writeHead(302, { 'set-cookie': 'sid=abc; Domain=localhost', location });
      response.end();
    });
    await runCheck({ url: server.url });
    await runCheck({ url: server.url });
    assert.deepEqual(seen, [undefined, undefined, undefined, undefined]);
  });

  test('ends a loop that waits for it', async () => {
    await using server = await httpServer((request, response) => {
      const hasIt = request.headers.cookie === 'sid=abc';
      if (request.url === '/')
        response.writeHead(302, { 'set-cookie': 'sid=abc', location: '/home' });
      else if (!hasIt) response.writeHead(302, { location: '/' });
      response.end();
    });
    assert.equal((await runCheck({ url: server.url })).failure, null);
  });
});

test('credentials of a URL belong to its origin alone', async () => {
  const seen: string[] = [];
  await using other = await httpServer((request, response) => {
    seen.push(`other ${request.headers.authorization ?? 'none'}`);
    response.writeHead(302, { location: home.url.replace('//', '//a:b@') + '/end' }).end();
  });
  await using home = await httpServer((request, response) => {
    seen.push(`${request.url} ${request.headers.authorization ?? 'none'}`);
    const to: Record<string, string> = {
      '/a': `${home.url}/y`,
      '/y': other.url.replace('//', '//x:y@'),
    };
    const location = to[request.url ?? ''];
    if (location !== undefined) response.writeHead(302, { location });
    response.end();
  });
  await runCheck({ url: `${home.url.replace('//', '//u:p@')}/a` });
  const basic = `Basic ${Buffer.from('u:p').toString('base64')}`;
  assert.deepEqual(seen, [`/a ${basic}`, `/y ${basic}`, 'other none', `/end ${basic}`]);
});

test('headers go out with the usual letters, those of the check with theirs', async () => {
  let head = '';
  await using server = await tcpServer((socket) => {
    socket.once('data', (bytes) => {
      head = String(bytes);
      socket.end('HTTP/1.1 200 OK\r\n\r\n');
    });
  });
  const headers = [
    { key: 'accept', value: 'x/y' },
    { key: 'x-Mine', value: 'z' },
  ];
  const basicAuth = { username: 'a', password: 'b' };
  const url = `http://127.0.0.1:${server.port}/`;
  await runCheck({ method: 'POST', bodyType: 'JSON', body: '{}', url, headers, basicAuth });
  const names = head
    .split('\r\n')
    .slice(1, -2)
    .map((line) => line.split(':')[0]);
  assert.deepEqual(
    names.sort(),
    [
      ...[
        'Accept-Encoding',
        'Authorization',
        'Connection',
        'Content-Length',
        'Content-Type',
        'Host',
      ],
      ...['User-Agent', 'accept', 'traceparent', 'tracestate', 'x-Mine'],
    ].sort(),
  );
});
