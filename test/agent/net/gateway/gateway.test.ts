import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { suite, test, type TestContext } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { AssignedCertificate } from '@monitor/shared/contract/agent-protocol.ts';
import {
  createGateway,
  type ProxySession,
  type ProxySessionOptions,
} from '../../../../agent/net/gateway/gateway.ts';
import { makeAuthority } from '../../../support/certificates.ts';
import { mutualServer, type MutualServer } from '../../../support/mutual-server.ts';
import { proxyServer } from '../../../support/proxy-server.ts';
import { httpServer, tcpServer } from '../../../support/servers.ts';

const authority = await makeAuthority('Servers');
const clients = await makeAuthority('Clients');
const own = await authority.issue({
  ...{ host: 'localhost', others: ['shop.internal'], validForDays: 9 },
});
const person = await clients.issue({ host: 'agent', validForDays: 9 });
const gateway = createGateway({ now: () => Date.now() });
/** This process stands for the run. */
const self = { uid: null, pids: () => [process.pid] };

const stored = (host: string, further: Partial<AssignedCertificate> = {}): AssignedCertificate => ({
  ...{ host, ...person, passphrase: null, ca: authority.cert },
  ...further,
});

async function proxySessionFor(
  t: TestContext,
  options: Partial<ProxySessionOptions>,
  through = gateway,
): Promise<ProxySession & { said: string[] }> {
  const said: string[] = [];
  const proxySession = await through.open({
    ...{ clientCertificates: [], proxyUrl: null },
    onProblem: (sentence) => said.push(sentence),
    ...options,
  });
  proxySession.admit(self);
  t.after(() => proxySession[Symbol.asyncDispose]());
  return Object.assign(proxySession, { said });
}

/** Asks for a tunnel, as browsers do. */
async function tunnel(
  { server }: ProxySession,
  authorityName: string,
): Promise<{ status: number; socket: Socket }> {
  const asked = request(server, { method: 'CONNECT', path: authorityName });
  asked.end();
  const [response, socket, head] = (await once(asked, 'connect')) as [
    { statusCode: number },
    Socket,
    Buffer,
  ];
  socket.on('error', () => undefined);
  if (head.length > 0) socket.unshift(head);
  return { status: response.statusCode, socket };
}

/** Answers what it was sent when the client has ended. */
async function halfOpenServer(): Promise<AsyncDisposable & { port: number }> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    void socket.toArray().then((parts) => socket.end(`answer to ${parts.join('')}`));
  });
  await once(server.listen(0, 'localhost'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: async () => void (await once(server.close(), 'close')) };
}

interface Shown {
  socket: TLSSocket;
  issuer: string;
}

/** A handshake through a tunnel, of somebody who trusts the gateway and the servers. */
async function handshake(
  proxySession: ProxySession,
  port: number,
  protocols: string[] = ['http/1.1'],
): Promise<Shown> {
  const { socket: below } = await tunnel(proxySession, `localhost:${port}`);
  const socket = connectTls({
    ...{ socket: below, servername: 'localhost', ALPNProtocols: protocols },
    ca: [gateway.certificate, authority.cert],
    rejectUnauthorized: false,
  });
  await once(socket, 'secureConnect');
  return { socket, issuer: String(socket.getPeerCertificate().issuer.CN) };
}

/** The body of an answer over a socket. */
async function get(socket: TLSSocket): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  return Buffer.concat(await socket.toArray()).toString();
}

async function mutual(t: TestContext, tls: object = {}): Promise<MutualServer> {
  const server = await mutualServer({ own, accepts: clients, ...tls });
  t.after(() => server[Symbol.asyncDispose]());
  return server;
}

suite('a host with a client certificate', () => {
  test('is shown it, and the run is shown a certificate of the gateway', async (t) => {
    const server = await mutual(t);
    const proxySession = await proxySessionFor(t, { clientCertificates: [stored('localhost')] });
    const { socket, issuer } = await handshake(proxySession, server.port);
    assert.deepEqual([issuer, socket.authorized], ['Monitoring agent', true]);
    assert.match(await get(socket), /200 OK[^]*<body>agent/);
    assert.deepEqual(
      [server.seen, proxySession.said, proxySession.agentError],
      [['agent'], [], null],
    );
  });

  test('is spoken to in the protocol that both ends know', async (t) => {
    const server = await mutual(t);
    const proxySession = await proxySessionFor(t, { clientCertificates: [stored('localhost')] });
    const { socket } = await handshake(proxySession, server.port, ['h2', 'http/1.1']);
    assert.equal(socket.alpnProtocol, 'h2');
    const session = connectHttp2('https://localhost', { createConnection: () => socket });
    const stream = session.request({ ':path': '/' });
    assert.match(Buffer.concat(await stream.toArray()).toString(), /<body>agent/);
    session.destroy();
    const old = await handshake(proxySession, server.port, ['http/1.1']);
    assert.equal(old.socket.alpnProtocol, 'http/1.1');
    old.socket.destroy();
  });

  test('that is not to be trusted is not trusted by the run either, and it is said why', async (t) => {
    const expired = await authority.issue({ host: 'localhost', validForDays: -1 });
    const wrong = await authority.issue({ host: 'other.internal', validForDays: 9 });
    const cases = [
      { tls: { own: expired }, ca: authority.cert, said: /has expired: localhost:\d+/ },
      { tls: { own: wrong }, ca: authority.cert, said: /is for another host: localhost/ },
      { tls: {}, ca: null, said: /unknown authority: localhost/ },
    ];
    for (const { tls, ca, said } of cases) {
      const server = await mutual(t, tls);
      const clientCertificates = [stored('localhost', { ca })];
      const proxySession = await proxySessionFor(t, { clientCertificates });
      const { socket, issuer } = await handshake(proxySession, server.port);
      assert.deepEqual([issuer, socket.authorized], ['Not trusted by the monitoring agent', false]);
      assert.match(proxySession.said.join(), said);
      socket.destroy();
    }
  });

  test('that rejects the certificate is quoted, in TLS 1.2 and 1.3', async (t) => {
    const strangers = await makeAuthority('Strangers');
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
      const server = await mutual(t, { accepts: strangers, rejectUnauthorized: true, maxVersion });
      const proxySession = await proxySessionFor(t, { clientCertificates: [stored('local*')] });
      await handshake(proxySession, server.port)
        .then(({ socket }) => get(socket))
        .catch(() => undefined);
      assert.match(
        proxySession.said.join(),
        /server .*client certificate \(the one stored for local\*\).*: localhost:\d+/,
        maxVersion,
      );
    }
  });

  test('is not connected to with a key that cannot be used, and the key is not shown', async (t) => {
    const server = await mutual(t);
    const other = await clients.issue({ host: 'other', validForDays: 9 });
    const clientCertificates = [stored('localhost', { key: other.key })];
    const proxySession = await proxySessionFor(t, { clientCertificates });
    await assert.rejects(handshake(proxySession, server.port), /alert internal error/i);
    assert.deepEqual(proxySession.said, [
      'the client certificate for localhost cannot be used: its key belongs to another certificate; store it again',
    ]);
  });

  test('may be spoken to without TLS', async (t) => {
    await using server = await tcpServer((socket) => socket.pipe(socket));
    const proxySession = await proxySessionFor(t, { clientCertificates: [stored('localhost')] });
    const { socket } = await tunnel(proxySession, `localhost:${server.port}`);
    socket.write('plain words');
    assert.equal(String((await once(socket, 'data'))[0]), 'plain words');
    socket.destroy();
  });
});

suite('every other host', () => {
  test('is passed through: the run sees its own certificate', async (t) => {
    const server = await mutual(t);
    const proxySession = await proxySessionFor(t, {
      clientCertificates: [stored('else.internal')],
    });
    const { socket, issuer } = await handshake(proxySession, server.port);
    assert.equal(issuer, 'Servers');
    assert.match(await get(socket), /403/);
    assert.deepEqual(server.seen, ['-']);
  });

  test('may speak first, and end when it likes', async (t) => {
    await using server = await tcpServer((socket) => socket.end('welcome'));
    const proxySession = await proxySessionFor(t, {
      clientCertificates: [stored('else.internal')],
    });
    const { socket } = await tunnel(proxySession, `localhost:${server.port}`);
    assert.equal(Buffer.concat(await socket.toArray()).toString(), 'welcome');
  });

  test('answers those who have ended what they send', async (t) => {
    await using server = await halfOpenServer();
    const proxySession = await proxySessionFor(t, {
      clientCertificates: [stored('else.internal')],
    });
    const { socket } = await tunnel(proxySession, `localhost:${server.port}`);
    socket.end('question');
    assert.equal(Buffer.concat(await socket.toArray()).toString(), 'answer to question');
  });

  test('that cannot be reached is named, once', async (t) => {
    const proxySession = await proxySessionFor(t, {});
    for (const target of ['localhost:1', 'localhost:1', 'no-such-host.invalid:443']) {
      assert.equal((await tunnel(proxySession, target)).status, 502);
    }
    assert.equal(proxySession.said.length, 2);
    assert.match(proxySession.said[0] ?? '', /refused: localhost:1 \(ECONNREFUSED\)/);
    assert.match(proxySession.said[1] ?? '', /no-such-host\.invalid:443 \((ENOTFOUND|EAI_AGAIN)\)/);
    assert.equal(proxySession.agentError, null);
    assert.equal((await tunnel(proxySession, 'nonsense')).status, 400);
  });

  test('is not connected to when it is forbidden, by name and by what the name leads to', async (t) => {
    await using server = await httpServer((_request, response) => response.end('secret'));
    for (const forbidden of ['localhost', '127.0.0.1']) {
      const proxySession = await proxySessionFor(t, { isForbidden: (host) => host === forbidden });
      const { status } = await tunnel(proxySession, `localhost:${server.port}`);
      assert.deepEqual([status, proxySession.said.length], [502, 1], forbidden);
    }
  });
});

suite('http', () => {
  const ask = async (
    proxySession: ProxySession,
    url: string,
    headers: Record<string, string> = {},
  ) => {
    const sent = request(proxySession.server, { path: url, method: 'POST', headers });
    sent.end('body');
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const body = Buffer.concat(await response.toArray()).toString();
    return { response, body };
  };

  test('is passed on as it is, without what was for the gateway', async (t) => {
    await using server = await httpServer((asked, response) => {
      response.setHeader('set-cookie', ['a=1', 'b=2']);
      response.statusCode = 418;
      void asked.toArray().then((parts) => {
        response.end(
          `${asked.method} ${asked.url} ${asked.headers.host} ${Object.keys(asked.headers).join()} ${Buffer.concat(parts).toString()}`,
        );
      });
    });
    const proxySession = await proxySessionFor(t, {});
    const { response, body } = await ask(proxySession, `http://localhost:${server.port}/a?b=c`, {
      ...{ host: `localhost:${server.port}`, 'proxy-connection': 'keep-alive', 'x-mine': '1' },
    });
    assert.equal(response.statusCode, 418);
    assert.deepEqual(response.headers['set-cookie'], ['a=1', 'b=2']);
    assert.match(body, new RegExp(`^POST /a\\?b=c localhost:${server.port} host,x-mine,.* body$`));
    assert.doesNotMatch(body, /proxy-connection/);
  });

  test('a connection to a closed port ends without an answer, which could be taken for one of the target', async (t) => {
    const proxySession = await proxySessionFor(t, {});
    await assert.rejects(ask(proxySession, 'http://localhost:1/'), /socket hang up/);
    assert.match(proxySession.said[0] ?? '', /ECONNREFUSED/);
  });

  const hostileAnswers = [
    'HTTP/1.1 000 OK',
    'HTTP/1.1 099 OK',
    'HTTP/1.1 200 O\x01K',
    'HTTP/1.1 101 Changed\r\nUpgrade: none\r\nConnection: upgrade',
  ];
  for (const answer of hostileAnswers) {
    test(`that is answered ${JSON.stringify(answer)} ends, and the agent goes on`, async (t) => {
      const server = await tcpServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => socket.end(`${answer}\r\n\r\n`));
      });
      t.after(() => server[Symbol.asyncDispose]());
      const proxySession = await proxySessionFor(t, {});
      const path = `http://127.0.0.1:${server.port}/`;
      const asked = request(proxySession.server, { path, signal: AbortSignal.timeout(60_000) });
      asked.end();
      await assert.rejects(once(asked, 'response'), { code: 'ECONNRESET' });
    });
  }

  test('of clients that send https as a request rather than a tunnel shows the certificate too', async (t) => {
    const server = await mutual(t);
    const proxySession = await proxySessionFor(t, { clientCertificates: [stored('localhost')] });
    const { body } = await ask(proxySession, `https://localhost:${server.port}/`, {
      host: 'localhost',
    });
    assert.match(body, /<body>agent/);
  });
});

suite('the proxy of the location', () => {
  test('is used for everything but this machine itself, with its login', async (t) => {
    await using proxy = await proxyServer({ credentials: 'agent:secret' });
    await using web = await httpServer((_request, response) => response.end('web'));
    const server = await mutual(t);
    const proxySession = await proxySessionFor(t, {
      clientCertificates: [stored('*.internal')],
      proxyUrl: proxy.url,
    });
    const { socket: below } = await tunnel(proxySession, `shop.internal:${server.port}`);
    const socket = connectTls({
      ...{ socket: below, servername: 'shop.internal', ca: gateway.certificate },
    });
    assert.match(await get(socket), /<body>agent/);
    const direct = await tunnel(proxySession, `localhost:${web.port}`);
    assert.equal(direct.status, 200);
    direct.socket.destroy();
    assert.deepEqual(proxy.asked, [`CONNECT shop.internal:${server.port}`]);
  });

  test('a proxy that cannot be reached or refuses is an agent error', async (t) => {
    await using strict = await proxyServer({ credentials: 'a:b' });
    const gone = await proxyServer();
    await gone[Symbol.asyncDispose]();
    for (const [proxyUrl, message] of [
      [`http://127.0.0.1:${strict.port}`, /refuses a tunnel to shop\.internal:443 with status 407/],
      [gone.url, /cannot be reached \(ECONNREFUSED\)/],
    ] as const) {
      const proxySession = await proxySessionFor(t, { proxyUrl });
      assert.equal((await tunnel(proxySession, 'shop.internal:443')).status, 502);
      assert.equal(proxySession.agentError?.code, 'NETWORK_UNAVAILABLE');
      assert.match(proxySession.agentError.message, message);
      const plain = request(proxySession.server, { path: 'http://shop.internal/' }).end();
      await assert.rejects(once(plain, 'response'));
    }
    await assert.rejects(
      proxySessionFor(t, { proxyUrl: 'socks5://x' }),
      /not an http or https URL/,
    );
  });

  test('that cannot reach the target says so about the target', async (t) => {
    await using proxy = await proxyServer({ refusesWith: 504 });
    const proxySession = await proxySessionFor(t, { proxyUrl: proxy.url });
    assert.equal((await tunnel(proxySession, 'shop.internal:443')).status, 502);
    assert.equal(proxySession.agentError, null);
    assert.match(
      proxySession.said[0] ?? '',
      /could not connect \(status 504\): shop\.internal:443/,
    );
  });
});

suite('somebody who accepts and never answers', () => {
  const quick = createGateway({ now: () => Date.now(), withinMs: 60 });

  interface Silent {
    port: number;
    /** Somebody is connected. */
    arrived: Promise<unknown>;
    closed: Promise<unknown>;
  }

  async function silent(t: TestContext): Promise<Silent> {
    const arrived = Promise.withResolvers<undefined>();
    const closed = Promise.withResolvers<undefined>();
    const server = await tcpServer((socket) => {
      arrived.resolve(undefined);
      socket.on('error', () => undefined);
      socket.resume().once('close', () => {
        closed.resolve(undefined);
      });
    });
    t.after(() => server[Symbol.asyncDispose]());
    return { port: server.port, arrived: arrived.promise, closed: closed.promise };
  }

  test('as the proxy of the location is given up, and the target named', async (t) => {
    const proxy = await silent(t);
    const proxySession = await proxySessionFor(
      t,
      { proxyUrl: `http://127.0.0.1:${proxy.port}` },
      quick,
    );
    assert.equal((await tunnel(proxySession, 'shop.internal:443')).status, 502);
    assert.deepEqual(proxySession.said, [
      'the proxy of the location opened no way to shop.internal:443 within 0.06 s',
    ]);
    // As far as anyone can tell it tries in vain to reach the target.
    assert.equal(proxySession.agentError, null);
    await proxy.closed;
  });

  test('a proxy that speaks TLS is an agent error', async (t) => {
    const proxy = await silent(t);
    const proxySession = await proxySessionFor(
      t,
      { proxyUrl: `https://127.0.0.1:${proxy.port}` },
      quick,
    );
    assert.equal((await tunnel(proxySession, 'shop.internal:443')).status, 502);
    assert.match(proxySession.agentError?.message ?? '', /cannot be reached \(CONNECT_TIMEOUT\)/);
    await proxy.closed;
  });

  test('as a server in TLS ends a request that came whole', async (t) => {
    const server = await silent(t);
    const proxySession = await proxySessionFor(t, {}, quick);
    const plain = request(proxySession.server, { path: `https://127.0.0.1:${server.port}/` }).end();
    await assert.rejects(once(plain, 'response'), /socket hang up/);
    assert.match(proxySession.said[0] ?? '', /no answer within 0\.06 s/);
    await server.closed;
  });

  test('is let go of when the client is gone, and nothing is said of it', async (t) => {
    for (const { method, path } of [
      { method: 'CONNECT', path: 'shop.internal:443' },
      { method: 'GET', path: 'https://shop.internal/' },
    ]) {
      const proxy = await silent(t);
      const proxySession = await proxySessionFor(t, { proxyUrl: `http://127.0.0.1:${proxy.port}` });
      const asked = request(proxySession.server, { method, path });
      asked.on('error', () => undefined).end();
      await proxy.arrived;
      asked.destroy();
      await proxy.closed;
      assert.deepEqual([proxySession.said, proxySession.agentError], [[], null]);
    }
  });
});

test('what a server says first is not lost on the way through the proxy', async (t) => {
  const proxy = await tcpServer((socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\n220 ready\r\n'));
  });
  t.after(() => proxy[Symbol.asyncDispose]());
  const proxySession = await proxySessionFor(t, { proxyUrl: `http://127.0.0.1:${proxy.port}` });
  const { socket } = await tunnel(proxySession, 'mail.internal:25');
  const [first] = (await once(socket, 'data')) as [Buffer];
  assert.equal(first.toString(), '220 ready\r\n');
  socket.destroy();
});

test('when a run ends its connections end, and no client is admitted any more', async (t) => {
  const left = Promise.withResolvers<undefined>();
  await using server = await tcpServer((socket) => {
    socket.resume().once('close', () => {
      left.resolve(undefined);
    });
  });
  const proxySession = await proxySessionFor(t, { clientCertificates: [stored('localhost')] });
  const { socket } = await tunnel(proxySession, `localhost:${server.port}`);
  const ended = once(socket.resume(), 'close');
  await proxySession[Symbol.asyncDispose]();
  await Promise.all([ended, left.promise]);
  await assert.rejects(tunnel(proxySession, `localhost:${server.port}`), /ECONNREFUSED/);
});

test('when the client cannot be identified, it is refused with an agent error', async (t) => {
  const proxySession = await proxySessionFor(t, {});
  proxySession.admit({
    uid: null,
    pids() {
      throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    },
  });
  await assert.rejects(tunnel(proxySession, 'localhost:1'), { code: 'ECONNRESET' });
  assert.equal(proxySession.agentError?.code, 'NETWORK_UNAVAILABLE');
  assert.match(proxySession.said.join('\n'), /EMFILE/);
});
